// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// IDRange is a range of record ids, including From and To.
type IDRange struct{ From, To uint64 }

// Len returns the number of ids in r.
func (r IDRange) Len() uint64 {
	if r.From > r.To {
		return 0
	}
	return r.To - r.From + 1
}

// Ranges is a set of ids as ranges in ascending order. The ranges neither overlap
// nor touch, so each set has exactly one representation.
type Ranges []IDRange

// touches reports whether b begins at most one id behind the end of a. If b does not begin before a,
// this means that there is no gap between a and b.
func touches(a, b IDRange) bool { return a.To == math.MaxUint64 || b.From <= a.To+1 }

// Normalize turns any list of ranges into a set, in place.
func Normalize(list []IDRange) Ranges {
	list = slices.DeleteFunc(list, func(r IDRange) bool { return r.From > r.To })
	slices.SortFunc(list, func(a, b IDRange) int { return cmp.Compare(a.From, b.From) })
	set := list[:0]
	for _, r := range list {
		if n := len(set); n > 0 && touches(set[n-1], r) {
			set[n-1].To = max(set[n-1].To, r.To)
		} else {
			set = append(set, r)
		}
	}
	return set
}

// Add adds a range.
func (s *Ranges) Add(r IDRange) {
	if r.From > r.To {
		return
	}
	// The ranges before set[at] end too early to touch r. The ranges from set[end] on
	// begin too late.
	set := *s
	at := sort.Search(len(set), func(i int) bool { return touches(set[i], r) })
	end := at
	for end < len(set) && touches(r, set[end]) {
		r.From = min(r.From, set[end].From)
		r.To = max(r.To, set[end].To)
		end++
	}
	*s = slices.Replace(set, at, end, r)
}

// Above returns the index of the first range that has an id greater than id.
func (s Ranges) Above(id uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].To > id })
}

// Without returns the ids of s that are not in other.
func (s Ranges) Without(other Ranges) Ranges {
	var out Ranges
	for _, r := range s {
		for len(other) > 0 && other[0].To < r.From {
			other = other[1:]
		}
		for _, cut := range other {
			if cut.From > r.To {
				break
			}
			if cut.From > r.From {
				out = append(out, IDRange{r.From, cut.From - 1})
			}
			if cut.To >= r.To {
				r.From, r.To = 1, 0 // no ids remain
				break
			}
			r.From = cut.To + 1
		}
		if r.From <= r.To {
			out = append(out, r)
		}
	}
	return out
}
