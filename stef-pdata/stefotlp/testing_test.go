// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest"
)

// The first line of the output of benchmarks names their data.
var _ = teltest.BenchSets("no recordings")

func fixture(tb testing.TB, file []byte) [][]byte {
	tb.Helper()
	parts, err := fixtures.Parts(file)
	require.NoError(tb, err)
	return parts
}

func real(tb testing.TB, signal, name string) [][]byte {
	tb.Helper()
	return teltest.Parts(tb, teltest.Data(tb, signal, name+".zst"))
}

// joined returns the concatenation of the messages, which is one message in protobuf.
func joined(parts [][]byte) [][]byte { return [][]byte{bytes.Join(parts, nil)} }

// messages collects the messages that a decoder returns for a stream.
func messages(tb testing.TB, appendOTLP func([]byte) ([]byte, error)) (parts [][]byte) {
	tb.Helper()
	prefix := []byte("prefix")
	for {
		b, err := appendOTLP(prefix)
		require.Equal(tb, prefix, b[:len(prefix)])
		if errors.Is(err, io.EOF) {
			require.Len(tb, b, len(prefix))
			return parts
		}
		require.NoError(tb, err)
		parts = append(parts, bytes.Clone(b[len(prefix):]))
	}
}
