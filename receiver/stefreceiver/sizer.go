// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

// sizer knows how large the batches of a stream are as OTLP. To measure a batch
// takes up to a tenth of the time that it takes to decode it, so only some are
// measured, and the others are taken to be like them.
type sizer struct {
	batches  int
	perItem  float64 // bytes of OTLP, in the batch measured last
	wireItem float64 // bytes sent, in that batch
	last     int64   // size of the last batch
}

const (
	sizerPeriod = 8       // one batch in so many is measured
	sizerGrowth = 1.5     // more sent for an item is another kind of data
	sizerFirst  = 1 << 20 // what the first batch is expected to be
)

func newSizer() sizer { return sizer{last: sizerFirst} }

// expected is how large the next batch is expected to be.
func (z *sizer) expected() int64 { return z.last }

// size returns the size of a batch, which was sent in wire bytes. exact measures
// it.
func (z *sizer) size(items int, wire int64, exact func() int) int64 {
	if items == 0 {
		return 0
	}
	wireItem := float64(wire) / float64(items)
	if z.batches%sizerPeriod == 0 || wireItem > sizerGrowth*z.wireItem {
		z.perItem, z.wireItem = float64(exact())/float64(items), wireItem
	}
	z.batches++
	z.last = int64(z.perItem * float64(items))
	return z.last
}
