// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

// sizer tells how large the batches of a stream are as OTLP. Measuring a batch
// takes up to a tenth of the time of decoding it, so only some are measured. The
// size of the others follows from the decoder's estimate, which is too high by a
// factor that hardly changes.
type sizer struct {
	batches int
	ratio   float64 // size by estimate, in the batch that was measured last
	last    int64   // weight of the last batch
}

const (
	// sizerPeriod is how many batches there are to one that is measured.
	sizerPeriod = 8
	// memoryPerOTLP is how many bytes of memory admission allows for each byte that
	// it counts. Ordinary batches take less; a batch that takes more counts by its
	// memory.
	memoryPerOTLP = 3
)

// size returns the size of a batch as OTLP. exact measures it.
func (z *sizer) size(estimate int64, exact func() int) int64 {
	if estimate == 0 {
		return 0
	}
	if z.batches%sizerPeriod == 0 {
		z.ratio = float64(exact()) / float64(estimate)
	}
	z.batches++
	return int64(z.ratio * float64(estimate))
}

// weight returns what admission counts for a batch.
func (z *sizer) weight(size, estimate int64) int64 {
	z.last = max(size, estimate/memoryPerOTLP)
	return z.last
}
