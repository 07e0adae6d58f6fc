// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math"
	"slices"
	"sort"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

const blockRanges = 512

// set is a set of ids like wire.Ranges, but for very many ranges. Batches can finish in any
// order, so a new range may precede many other ranges. To insert it, a set moves only the
// ranges of one block.
type set struct {
	blocks []wire.Ranges // in order; none is empty
	n      int           // ranges in all blocks
}

func (s *set) add(r wire.IDRange) {
	if r.From > r.To {
		return
	}
	// The blocks before i end too early to touch r.
	i := sort.Search(len(s.blocks), func(i int) bool {
		end := last(s.blocks[i]).To
		return end == math.MaxUint64 || end+1 >= r.From
	})
	if i == len(s.blocks) || r.To < math.MaxUint64 && r.To+1 < s.blocks[i][0].From {
		s.insert(i, r)
		return
	}
	if b := s.blocks[i]; len(b) >= blockRanges {
		s.blocks[i] = slices.Clone(b[:len(b)/2])
		s.blocks = slices.Insert(s.blocks, i+1, slices.Clone(b[len(b)/2:]))
		s.add(r)
		return
	}
	r.To = s.absorb(i+1, r)
	s.n -= len(s.blocks[i])
	s.blocks[i].Add(r)
	s.n += len(s.blocks[i])
}

// insert adds r between blocks i-1 and i. r must not touch a range of these blocks. If block i-1
// has room, r becomes its last range. If not, r becomes a new block.
func (s *set) insert(i int, r wire.IDRange) {
	s.n++
	if i > 0 && len(s.blocks[i-1]) < blockRanges {
		s.blocks[i-1] = append(s.blocks[i-1], r)
		return
	}
	s.blocks = slices.Insert(s.blocks, i, wire.Ranges{r})
}

// absorb removes the ranges that touch r from block i and the later blocks. It returns the end of
// r after r is merged with these ranges.
func (s *set) absorb(i int, r wire.IDRange) uint64 {
	end := i
	for ; end < len(s.blocks); end++ {
		b, n := s.blocks[end], 0
		for n < len(b) && (r.To == math.MaxUint64 || b[n].From <= r.To+1) {
			r.To = max(r.To, b[n].To)
			n++
		}
		s.n -= n
		if n < len(b) {
			s.blocks[end] = b[n:]
			break
		}
	}
	s.blocks = slices.Delete(s.blocks, i, end)
	return r.To
}

// first returns the first range.
func (s *set) first() (r wire.IDRange, ok bool) {
	if s.n == 0 {
		return wire.IDRange{}, false
	}
	return s.blocks[0][0], true
}

func (s *set) nth(n int) (r wire.IDRange, ok bool) {
	if n > s.n {
		return wire.IDRange{}, false
	}
	i := 0
	for ; n > len(s.blocks[i]); i++ {
		n -= len(s.blocks[i])
	}
	return s.blocks[i][n-1], true
}

// above returns the first range that has an id greater than id.
func (s *set) above(id uint64) (r wire.IDRange, ok bool) {
	i := sort.Search(len(s.blocks), func(i int) bool { return last(s.blocks[i]).To > id })
	if i == len(s.blocks) {
		return wire.IDRange{}, false
	}
	return s.blocks[i][s.blocks[i].Above(id)], true
}

func (s *set) pop() {
	s.n--
	s.blocks[0] = s.blocks[0][1:]
	if len(s.blocks[0]) > 0 {
		return
	}
	s.blocks[0] = nil
	s.blocks = s.blocks[1:]
	if s.n == 0 {
		s.blocks = nil
	}
}

func last(b wire.Ranges) wire.IDRange { return b[len(b)-1] }
