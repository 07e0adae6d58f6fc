// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

// pool holds resources, scopes or metrics seen before, as values that records
// share, by the bytes they come in. Values that come in different bytes and are
// equal nevertheless are found to be equal by the dictionary of the writer.
type pool[T any] struct {
	byKey map[string]*pooled[T]
	last  *pooled[T]
	bytes int // of all keys
}

type pooled[T any] struct {
	key    string
	value  *T
	follow *pooled[T] // what came after it last time

	lost int // entity references of a resource that the stream does not carry

	// Of metrics:
	number int        // of the metric in its pool
	bounds string     // the bounds that its points came with last, as bytes
	bound  *pooled[T] // the variant of the metric with those bounds
}

// What a pool may hold before it is emptied, so that an encoder needs no more
// memory however long it lives.
const (
	maxPooled      = 1 << 14
	maxPooledBytes = 16 << 20
)

// find returns what came in the bytes of key, or nil.
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

// add notes the value that came in the bytes of key.
func (p *pool[T]) add(key []byte, value *T) *pooled[T] {
	if p.byKey == nil {
		p.byKey = map[string]*pooled[T]{}
	}
	e := &pooled[T]{key: string(key), value: value, number: len(p.byKey)}
	p.byKey[e.key] = e
	p.bytes += len(key)
	p.observe(e)
	return e
}

func (p *pool[T]) full() bool { return len(p.byKey) > maxPooled || p.bytes > maxPooledBytes }

func (p *pool[T]) empty() { *p = pool[T]{} }
