// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest/benchdata"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Benchmarks print this name of their data as the first line of their output.
var _ = benchdata.Name("synthetic: records of the test")

// BenchmarkWrite writes and flushes one record at a time, the most expensive way.
func BenchmarkWrite(b *testing.B) {
	w, err := New(Options{Dir: b.TempDir(), Signal: "logs"}, startLogs)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, w.Close()) })
	n := uint64(0)
	write := func(s *otelstef.LogsWriter) error {
		n++
		s.Record().Record().SetTime(n)
		return s.Write()
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(write); err != nil {
			b.Fatal(err)
		}
	}
}

// A Write allocates next to nothing.
func TestAllocations(t *testing.T) {
	w := open(t, Options{Dir: t.TempDir(), MaxAge: -1, MaxBytes: -1})
	write := func(s *otelstef.LogsWriter) error { return s.Write() }
	require.NoError(t, w.Write(write))
	require.Less(t, testing.AllocsPerRun(200, func() {
		if err := w.Write(write); err != nil {
			panic(err)
		}
	}), 1.0)
}
