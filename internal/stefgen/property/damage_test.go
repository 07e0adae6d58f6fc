// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package property_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/steftest"
)

// TestDamaged reads streams in which bytes were changed, removed or inserted. The
// generated reader and package dynamic must return the same records, and either
// both or neither must fail. The errors have a known kind and a location.
func TestDamaged(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		for seed := range seeds() {
			rnd := rand.New(rand.NewPCG(seed, 99))
			recs := steftest.Records(seed, r.Schema, 8, steftest.Shape{Depth: 5, Wide: -1})
			whole, err := r.Write(recs, stef.WithFrameBytes(1+rnd.IntN(2000)), stef.WithDictBytes(1+rnd.IntN(2000)),
				stef.WithRestart(stef.FrameFlags(rnd.IntN(8))))
			require.NoError(t, err)
			for range 40 {
				compare(t, r, damage(rnd, whole))
			}
		}
	})
}

func damage(rnd *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + rnd.IntN(3) {
		at := rnd.IntN(len(b))
		switch rnd.IntN(6) {
		case 0:
			b = b[:max(at, 1)]
		case 1:
			b = append(b[:at:at], b[min(at+1, len(b)-1):]...)
		case 2:
			b = append(b[:at:at], append([]byte{byte(rnd.Uint32())}, b[at:]...)...)
		case 3:
			b[at] = byte(rnd.Uint32())
		default:
			b[at] ^= 1 << rnd.IntN(8)
		}
	}
	return b
}

func compare(t *testing.T, r *steftest.Root, stream []byte) {
	t.Helper()
	have, haveErr := r.Read(bytes.NewReader(stream))
	want, wantErr := r.ReadDynamic(bytes.NewReader(stream))
	if haveErr != nil {
		var at *stef.FormatError
		require.ErrorAs(t, haveErr, &at)
		require.LessOrEqual(t, at.Offset, int64(len(stream)))
	}
	var dynamicAt *dynamic.Error
	if errors.As(wantErr, &dynamicAt) && haveErr != nil {
		var at *stef.FormatError
		errors.As(haveErr, &at)
		require.Equal(t, dynamicAt.Offset, at.Offset, "%x\ngenerated: %v\ndynamic: %v", stream, haveErr, wantErr)
	}
	require.Equal(t, wantErr == nil, haveErr == nil, "%x\ngenerated: %v\ndynamic: %v", stream, haveErr, wantErr)
	// One side can find an error earlier: package dynamic checks a whole frame before it
	// returns the first record of the frame.
	if haveErr != nil {
		n := min(len(want), len(have))
		want, have = want[:n], have[:n]
	}
	require.Empty(t, steftest.DiffAll(r.Schema, want, have), "%x\ngenerated: %v\ndynamic: %v", stream, haveErr, wantErr)
}
