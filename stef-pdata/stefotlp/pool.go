// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

// pool caches the resources, scopes or metrics that were seen before, by their encoded
// bytes. Records share the cached values. If equal values have different bytes, the
// dictionary of the writer finds that they are equal.
type pool[T any] struct {
	byKey map[string]*pooled[T]
	last  *pooled[T]
	bytes int // total size of the keys and of the values, counted as for MaxItemBytes
	added int // number of values that were ever added; emptying the pool keeps it
}

type pooled[T any] struct {
	key    string
	value  *T
	follow *pooled[T] // the entry that followed this entry last time

	lost    int    // entity references of a resource that the stream does not carry
	unknown uint64 // unknown fields that were counted when the value was set

	// The following fields are used only for metrics.
	number int        // number of the metric, which no other metric of the stream has
	held   int        // bytes of the metric, counted as for MaxItemBytes
	bounds string     // last bounds of the points, as bytes
	bound  *pooled[T] // the variant of the metric with the bounds in bounds
}

// Limits of a pool. A pool that exceeds a limit is emptied, so that the memory of an
// encoder is bounded. This can happen within a message, which can have very many values.
const (
	maxPooled      = 1 << 14
	maxPooledBytes = 16 << 20
)

// find returns the value with the encoded bytes of key, or nil.
func (p *pool[T]) find(key []byte) *pooled[T] {
	if last := p.last; last != nil {
		if last.key == string(key) {
			return last
		}
		if next := last.follow; next != nil && next.key == string(key) {
			p.last = next
			return next
		}
	}
	e := p.byKey[string(key)]
	if e != nil {
		p.observe(e)
	}
	return e
}

func (p *pool[T]) observe(e *pooled[T]) {
	if p.last != nil {
		p.last.follow = e
	}
	p.last = e
}

// add adds the value with the encoded bytes of key. size is the size of the value, counted as for
// MaxItemBytes. It can be much larger than the key: an empty list element has 2 bytes in the key,
// and about a hundred in memory.
func (p *pool[T]) add(key []byte, value *T, size int) *pooled[T] {
	if p.full() {
		p.empty()
	}
	if p.byKey == nil {
		p.byKey = map[string]*pooled[T]{}
	}
	e := &pooled[T]{key: string(key), value: value, number: p.added}
	p.added++
	p.byKey[e.key] = e
	p.bytes += len(key) + size
	p.observe(e)
	return e
}

func (p *pool[T]) full() bool { return len(p.byKey) > maxPooled || p.bytes > maxPooledBytes }

func (p *pool[T]) empty() { *p = pool[T]{added: p.added} }
