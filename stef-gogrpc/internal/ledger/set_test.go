// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

func TestSet(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		var s set
		var want wire.Ranges
		next, limit := uint64(1), 1+random.Uint64N(50_000)
		for range 10_000 {
			r := wire.IDRange{From: next}
			switch next += 2; random.IntN(1000) {
			case 0: // continue at a random id
				next = 1 + random.Uint64N(limit)
			case 1: // add a range that touches many ranges
				r = wire.IDRange{From: 1 + random.Uint64N(limit)}
				r.To = r.From + random.Uint64N(5000)
			case 2:
				if len(want) > 0 {
					want = want[1:]
					s.pop()
				}
			case 3:
				r = wire.IDRange{From: 1 + random.Uint64N(limit)}
			}
			r.To = max(r.To, r.From)
			want.Add(r)
			s.add(r)
			requireSet(t, want, &s, random.Uint64N(limit), random.IntN(len(want)))
		}
		require.Equal(t, want, slices.Concat(s.blocks...))
		if seed%2 == 0 {
			s.add(wire.IDRange{From: limit / 2, To: math.MaxUint64})
			want.Add(wire.IDRange{From: limit / 2, To: math.MaxUint64})
			s.add(wire.IDRange{From: limit, To: limit})
			require.Equal(t, want, slices.Concat(s.blocks...))
		}
		for ; len(want) > 0; want = want[1:] {
			requireSet(t, want, &s, random.Uint64N(limit), random.IntN(len(want)))
			s.pop()
		}
		require.Zero(t, s)
	}
}

func requireSet(t *testing.T, want wire.Ranges, s *set, id uint64, at int) {
	require.Equal(t, len(want), s.n)
	first, ok := s.first()
	require.True(t, ok)
	require.Equal(t, want[0], first)
	nth, ok := s.nth(at + 1)
	require.True(t, ok)
	require.Equal(t, want[at], nth)
	_, ok = s.nth(len(want) + 1)
	require.False(t, ok)
	above, ok := s.above(id)
	require.Equal(t, want.Above(id) < len(want), ok)
	if ok {
		require.Equal(t, want[want.Above(id)], above)
	}
}

// TestSetMovesLittle: a set stores its ranges in blocks. Adding a range before many other ranges
// moves the ranges of at most one block.
func TestSetMovesLittle(t *testing.T) {
	const n = 100_000
	var l Receiver
	for batch := uint64(4); batch > 0; batch-- { // the later batches are finished first
		for i := range uint64(n) {
			id := 2*(batch*n+i) + 1
			l.Reject(wire.IDRange{From: id + 1, To: id + 1})
		}
		for _, b := range l.rejected.blocks {
			require.LessOrEqual(t, len(b), blockRanges)
		}
		require.LessOrEqual(t, len(l.rejected.blocks), 2*l.Ranges()/blockRanges+2)
	}
	require.Equal(t, 4*n, l.Ranges())
	l.Ack(2 * 5 * n)
	total := 0
	for r, ok := l.Take(); ok; r, ok = l.Take() {
		require.LessOrEqual(t, len(r.Rejected), maxResponseRanges)
		total += len(r.Rejected)
	}
	require.Equal(t, 4*n, total)
	require.Zero(t, l.Ranges())
}
