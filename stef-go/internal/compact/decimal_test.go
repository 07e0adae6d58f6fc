// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// firstDecimal returns the first exponent for which toDecimal succeeds, and its mantissa.
func TestFirstDecimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	decimals := 0
	check := func(f float64) {
		for from := uint(0); from <= maxExponent; from++ {
			var want int64
			e, found := from, false
			for ; e <= maxExponent && !found; e++ {
				want, found = toDecimal(f, e)
			}
			m, exponent, ok := firstDecimal(f, from)
			require.Equal(t, found, ok, "%v", f)
			if found {
				decimals++
				require.Equal(t, e-1, exponent, "%v", f)
				require.Equal(t, want, m, "%v", f)
			}
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e15, 1 << 50, 1 << 51, 1 << 53, 1e300, 1e-300, math.NaN(), math.Inf(1), math.Inf(-1)} {
		check(f)
	}
	for range 200_000 {
		m := r.Int64N(1 << (1 + r.IntN(55)))
		f := float64(m) / powers[r.IntN(maxExponent+1)]
		switch r.IntN(4) {
		case 0:
			f = math.Nextafter(f, math.Inf(1-2*r.IntN(2))) // close to a decimal
		case 1:
			f = math.Float64frombits(r.Uint64())
		case 2:
			f = -f
		}
		check(f)
	}
	require.Greater(t, decimals, 100_000)
}
