// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

func fuzzMessages(f *testing.F, s signal) {
	f.Add([]byte(nil))
	for seed := range uint64(30) {
		f.Add(stefotlp.RandomMessage(rand.New(rand.NewPCG(seed, 5)), s.name))
	}
	f.Fuzz(func(t *testing.T, b []byte) { compare(t, s, b) })
}

// If stefotlp and stefpdata both accept a message, they write the same records, and read the same
// content from these records.
func FuzzMetricsOTLP(f *testing.F) { fuzzMessages(f, signals[0]) }
func FuzzTracesOTLP(f *testing.F)  { fuzzMessages(f, signals[1]) }
func FuzzLogsOTLP(f *testing.F)    { fuzzMessages(f, signals[2]) }

func fuzzStreams[R any](f *testing.F, s signal, open func(io.Reader) (R, error)) {
	for seed := range uint64(30) {
		stream, err := s.encode(f, stefotlp.RandomMessage(rand.New(rand.NewPCG(seed, 6)), s.name))
		require.NoError(f, err)
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if _, err := open(bytes.NewReader(stream)); err == nil {
			s.decoded(t, stream)
		}
	})
}

// stefotlp and stefpdata read the same content from a stream.
func FuzzMetricsStream(f *testing.F) {
	fuzzStreams(f, signals[0], func(r io.Reader) (*otelstef.MetricsReader, error) { return otelstef.NewMetricsReader(r) })
}

func FuzzTracesStream(f *testing.F) {
	fuzzStreams(f, signals[1], func(r io.Reader) (*otelstef.SpansReader, error) { return otelstef.NewSpansReader(r) })
}

func FuzzLogsStream(f *testing.F) {
	fuzzStreams(f, signals[2], func(r io.Reader) (*otelstef.LogsReader, error) { return otelstef.NewLogsReader(r) })
}
