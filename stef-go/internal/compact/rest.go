// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import "sync"

// rest holds the words and floats (see Point) of the last point of a series of histograms or
// summaries.
type rest struct{ words, floats []uint64 }

var noRest rest

// freeRests pools the memory of discarded series for new series. Its elements are
// empty.
var freeRests = sync.Pool{New: func() any { return new(rest) }}

// keptWords is the largest capacity of words and floats that Release keeps.
const keptWords = 64

// Release discards the words and floats of a series, and returns their memory to the
// pool unless it is large.
func (x *Series) Release() {
	if r := x.rest; r != nil {
		x.rest = nil
		if cap(r.words)+cap(r.floats) <= keptWords {
			r.words, r.floats = r.words[:0], r.floats[:0]
			freeRests.Put(r)
		}
	}
}

func (x *Series) last() *rest {
	if x.rest == nil {
		return &noRest
	}
	return x.rest
}

// keep stores the words and floats of a point, and returns the increase in their number.
func (x *Series) keep(p *Point) (words int) {
	if x.rest == nil {
		x.rest = freeRests.Get().(*rest)
	}
	r := x.rest
	words = len(p.Words) + len(p.Floats) - len(r.words) - len(r.floats)
	r.words = append(r.words[:0], p.Words...)
	r.floats = append(r.floats[:0], p.Floats...)
	return words
}
