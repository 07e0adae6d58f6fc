// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"slices"
)

// Compat says how the wire schema of the other end relates to ours.
type Compat uint8

// The relations of two wire schemas.
const (
	// Incompatible: neither end can read the other, or nobody can tell.
	Incompatible Compat = iota
	// Exact: the counts are the same.
	Exact
	// Older: the other schema is ours with fields cut off. We can read it, and
	// write it with Keep.
	Older
	// Newer: the other schema may be ours with fields appended. We cannot read
	// it; a peer that has it can read what we write. Whether it really extends
	// ours cannot be told from counts: types we do not know stand among those
	// we know.
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

// Compare says how other, the wire schema of a peer or of a stream, relates to
// root. It looks at each entry: totals alone would call two schemas equal in
// which one struct grew and another shrank.
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
	errUnknownFields = errors.New("fields of unknown type follow")
	errCut           = errors.New("fields were cut off")
)

// mayExtend walks root and other side by side for as long as it is certain
// which entry belongs to which struct: until it has walked the known fields of
// a struct that has more fields in other. From there on entries of types that
// root does not have may stand anywhere, and covers must do.
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

// covers says whether each entry of own can be given an entry of other of its
// own that is at least as large, in whatever place.
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
