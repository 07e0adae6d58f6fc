// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// learnStep compares the lengths of two numbers in bits, without counting the bits. The result must be
// the same as with bits.Len64.
func TestLearnStepComparesLengths(t *testing.T) {
	length := func(v int64) int { return bits.Len64(uint64(v ^ v>>63)) }
	random := rand.New(rand.NewPCG(1, 2))
	value := func() int64 {
		v := int64(random.Uint64() >> random.IntN(65))
		if random.IntN(2) == 0 {
			v = -v
		}
		return v
	}
	for range 200_000 {
		before, step := value(), value()
		if random.IntN(4) == 0 {
			step = before + int64(random.IntN(5)) - 2
		}
		x := Series{step: before}
		x.learnStep(step)
		want := 0
		switch first, second := length(step), length(step-before); {
		case second < first:
			want = 1
		case first < second:
			want = -1
		}
		require.EqualValues(t, want, x.second, "steps %d and %d", before, step)
		require.Equal(t, step, x.step)
	}
}

// takeUnit is the inverse of putUnit, for positive and negative numbers. Its code does not branch on the
// sign.
func TestTakeUnitIsTheInverse(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		x := random.Uint64() >> random.IntN(64) * units[random.IntN(4)]
		if random.IntN(2) == 0 {
			x = -x
		}
		if code, ok := putUnit(x); ok {
			require.Equal(t, x, takeUnit(code), "%d", int64(x))
		}
	}
	// A hostile stream can contain any code. 1<<63, the code with the greatest magnitude, is
	// equal to its own negation.
	require.Equal(t, uint64(1<<61), -takeUnit(1<<63))
	require.Equal(t, -takeUnit(1<<63-1), takeUnit(1<<63+1))
}

// Release pools the memory of a series for other streams, which must not see its values.
func TestReleasedWordsAreEmpty(t *testing.T) {
	for _, n := range []int{1, keptWords, keptWords + 1} {
		x := &Series{rest: &rest{words: make([]uint64, n-1), floats: make([]uint64, 1)}}
		r := x.rest
		x.Release()
		require.Nil(t, x.rest)
		x.Release() // has nothing to release
		if n <= keptWords {
			require.Empty(t, r.words)
			require.Empty(t, r.floats)
		}
	}
}
