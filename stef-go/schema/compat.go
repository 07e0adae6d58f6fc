// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"slices"
)

// Compat is the relation of the wire schema of the other end to our wire schema.
type Compat uint8

// The relations of two wire schemas.
const (
	// Incompatible: neither end can read the other, or the relation is unknown.
	Incompatible Compat = iota
	// Exact: the counts are the same.
	Exact
	// Older: the other schema is ours with fields removed from the end. We can read
	// it, and write it with Keep.
	Older
	// Newer: the other schema may be ours with fields appended. We cannot read it, but
	// a peer with that schema can read what we write. The counts do not prove that the
	// other schema extends ours: entries of types that we do not know are mixed with
	// entries of types that we know.
	Newer
)

// String returns the name of c in lower case.
func (c Compat) String() string {
	switch c {
	case Exact:
		return "exact"
	case Older:
		return "older"
	case Newer:
		return "newer"
	default:
		return "incompatible"
	}
}

// Compare reports how other, the wire schema of a peer or of a stream, relates to
// root. It compares each entry: by totals alone, two schemas would seem equal if one
// struct grew and another shrank.
//
// spec: #compatibility
func Compare(root *Struct, other WireSchema) Compat {
	own := WireOf(root)
	switch {
	case slices.Equal(own, other):
		return Exact
	case fits(root, other):
		return Older
	case Extends(root, other) == nil:
		return Newer
	default:
		return Incompatible
	}
}

func fits(root *Struct, w WireSchema) bool {
	_, err := Keep(root, w)
	return err == nil
}

// errUnknownFields ends a walk at fields whose types are unknown.
var errUnknownFields = errors.New("the other schema has fields of unknown type")

// Extends returns nil if other is the wire schema of root, or may be that of root with fields
// appended. A peer with such a schema can read what a writer of root writes. If not, Extends
// returns a *WireError, which names a struct or oneof that has fewer fields in other, if this is
// known.
//
// Extends walks root and other in parallel as long as each entry of other belongs to
// a known struct. The walk ends after the known fields of a struct that has more fields
// in other: the types of these fields may add entries that root does not have. covers
// checks the remaining entries.
func Extends(root *Struct, other WireSchema) error {
	own := WireOf(root)
	next := 0
	extended := map[*Struct]bool{}
	walk := newWireWalk(func(s *Struct) (int, error) {
		switch {
		case next == len(other):
			return 0, &WireError{Entry: next, Struct: s.Name, Reason: "is missing"}
		case other[next] < own[next]:
			return 0, &WireError{Entry: next, Struct: s.Name,
				Reason: fmt.Sprintf("has %d fields, this schema has %d", other[next], own[next])}
		}
		extended[s] = other[next] > own[next]
		next++
		return len(s.Fields), nil
	})
	walk.leave = func(s *Struct) error {
		if extended[s] {
			return errUnknownFields
		}
		return nil
	}
	err := walk.enter(root)
	switch {
	case err == nil && next < len(other):
		return &WireError{Entry: next, Reason: "is left over"}
	case errors.Is(err, errUnknownFields) && len(other) < len(own):
		return &WireError{Entry: -1, Reason: fmt.Sprintf("it has %d entries, this schema has %d", len(other), len(own))}
	case errors.Is(err, errUnknownFields) && !covers(other[next:], own[next:]):
		return &WireError{Entry: next, Reason: "this entry and those after it do not have all fields of this schema"}
	case errors.Is(err, errUnknownFields):
		return nil
	}
	return err
}

// covers reports whether every entry of own can be paired with a different entry of
// other that is at least as large, in any order. other has at least as many entries as own.
func covers(other, own WireSchema) bool {
	other, own = slices.Clone(other), slices.Clone(own)
	slices.Sort(other)
	slices.Sort(own)
	other = other[len(other)-len(own):]
	for i := range own {
		if other[i] < own[i] {
			return false
		}
	}
	return true
}
