// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
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
	case mayExtend(root, own, other):
		return Newer
	default:
		return Incompatible
	}
}

func fits(root *Struct, w WireSchema) bool {
	_, err := Keep(root, w)
	return err == nil
}

var (
	errUnknownFields = errors.New("the other schema has fields of unknown type")
	errCut           = errors.New("fields were cut off")
)

// mayExtend walks root and other in parallel as long as each entry of other belongs to
// a known struct. The walk ends after the known fields of a struct that has more fields
// in other: the types of these fields may add entries that root does not have. covers
// checks the remaining entries.
func mayExtend(root *Struct, own, other WireSchema) bool {
	next := 0
	extended := map[*Struct]bool{}
	walk := newWireWalk(func(s *Struct) (int, error) {
		if next == len(other) || other[next] < own[next] {
			return 0, errCut
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
	return errors.Is(walk.enter(root), errUnknownFields) && covers(other[next:], own[next:])
}

// covers reports whether every entry of own can be paired with a different entry of
// other that is at least as large, in any order.
func covers(other, own WireSchema) bool {
	if len(other) < len(own) {
		return false
	}
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
