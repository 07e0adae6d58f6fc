// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"slices"
)

// Median returns the median, or NaN if there are no values.
func Median(values []float64) float64 { return quantile(values, 0.5) }

// Spread returns half the distance between the quartiles, relative to the
// median: half of the measured values lie between the quartiles.
func Spread(values []float64) float64 {
	return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / Median(values)
}

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
