// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the tests of all signals do with streams; B is the type of a batch.

func unmarshalEach[B any](tb testing.TB, unmarshal func([]byte) (B, error), parts [][]byte) (batches []B) {
	tb.Helper()
	for _, part := range parts {
		b, err := unmarshal(part)
		require.NoError(tb, err)
		batches = append(batches, b)
	}
	return batches
}

// encodeEach writes a frame for each batch, and closes the writer.
func encodeEach[B any](tb testing.TB, w interface {
	Flush() error
	Close() error
}, encode func(B) error, batches []B) {
	tb.Helper()
	for _, b := range batches {
		require.NoError(tb, encode(b))
		require.NoError(tb, w.Flush())
	}
	require.NoError(tb, w.Close())
}

// decodeEach reads a whole stream, in as many batches as decode returns.
func decodeEach[B any](tb testing.TB, decode func() (B, error), items func(B) int) (batches []B) {
	tb.Helper()
	for {
		b, err := decode()
		if errors.Is(err, io.EOF) {
			require.Zero(tb, items(b))
			return batches
		}
		require.NoError(tb, err)
		batches = append(batches, b)
	}
}
