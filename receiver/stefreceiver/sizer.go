// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

// sizer estimates the size of the batches of a stream as OTLP. Measuring a batch
// takes up to a tenth of the time to decode it, so only some batches are measured.
// The size of the other batches is calculated from the decoder's estimate, which is too
// high by a nearly constant factor.
type sizer struct {
	batches int
	ratio   float64 // size divided by estimate, in the batch that was measured last
	last    int64   // weight of the last batch
}

const (
	// sizerPeriod is the interval of measurements: one in sizerPeriod batches is measured.
	sizerPeriod = 8
	// memoryPerOTLP is the number of bytes of memory that admission allows for each
	// byte of OTLP. Ordinary batches use less. A batch that uses more counts as its
	// memory divided by memoryPerOTLP.
	memoryPerOTLP = 3
)

// size returns the size of a batch as OTLP. exact measures the size.
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

// weight returns the amount that admission counts for a batch.
func (z *sizer) weight(size, estimate int64) int64 {
	z.last = max(size, estimate/memoryPerOTLP)
	return z.last
}
