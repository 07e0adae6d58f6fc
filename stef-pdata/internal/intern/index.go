// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"slices"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-pdata/internal/order"
)

// index finds ids by hash. Ids count from 1; 0 means no id.
type index struct {
	byHash    map[codec.Hash]uint32
	chain     []uint32 // for each id: the next id with the same hash
	HeldBytes int      // total size of the content, counted as for MaxItemBytes
}

// Limits of a pool. A pool that exceeds a limit is emptied, so that the memory of an
// encoder is bounded.
const (
	MaxContainers = 1 << 14
	MaxSets       = 1 << 16
	MaxHeldBytes  = 16 << 20
)

// maxIdle is the maximum number of elements of a map that is cleared and reused. A larger map
// is dropped: the time to clear a map depends on the largest size that it ever had.
const maxIdle = 1 << 9

// emptied returns m without its elements, or nil if m is too large to be reused.
func emptied[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > maxIdle {
		return nil
	}
	clear(m)
	return m
}

// Full reports whether the number of ids exceeds the limit most, or the pool has too many
// bytes.
func (x *index) Full(most int) bool { return x.Size() > most || x.HeldBytes > MaxHeldBytes }

func (x *index) reset() {
	x.byHash = emptied(x.byHash)
	x.chain, x.HeldBytes = x.chain[:0], 0
}

// add adds the next id and returns it.
func (x *index) add(h hash) uint32 {
	if len(x.chain) == 0 {
		x.chain = append(x.chain, 0)
		if x.byHash == nil {
			x.byHash = map[codec.Hash]uint32{}
		}
	}
	id := uint32(len(x.chain))
	x.chain = append(x.chain, x.byHash[h.Hash])
	x.byHash[h.Hash] = id
	return id
}

// Size returns how many ids there are.
func (x *index) Size() int { return max(len(x.chain)-1, 0) }

// predictionIndex is the part that the pools of resources, scopes and metrics share: an index, the
// order of the ids by value, and a prediction of the next id.
type predictionIndex struct {
	index
	follow []uint32 // for each id: the id that followed it last time
	last   uint32
	order.Ranking
}

func (l *predictionIndex) reset() {
	l.index.reset()
	l.follow, l.last = l.follow[:0], 0
	l.Ranking.Reset()
}

// predict returns the id that is likely to be next, or 0 if no id is known.
func (l *predictionIndex) predict() uint32 {
	if int(l.last) < len(l.follow) {
		return l.follow[l.last]
	}
	return 0
}

// observe records that id followed the last id.
func (l *predictionIndex) observe(id uint32) {
	if id != l.last {
		l.follow[l.last] = id
		l.last = id
	}
}

func (l *predictionIndex) add(h hash) uint32 {
	id := l.index.add(h)
	for len(l.follow) <= int(id) {
		l.follow = append(l.follow, 0)
	}
	return id
}

// pool is a predictionIndex with an entry for each id.
type pool[E any] struct {
	predictionIndex
	entries []E // indexed by id
}

// Reset empties the pool.
func (p *pool[E]) Reset() {
	p.reset()
	clear(p.entries)
	p.entries = p.entries[:0]
}

func (p *pool[E]) insert(h hash, e E) uint32 {
	id := p.add(h)
	p.entries = append(slices.Grow(p.entries, 1)[:id], e)
	return id
}
