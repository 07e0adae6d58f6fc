// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/fixtures"
	descriptors "github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/internal/teltest/canon"
)

const hipstershopTraces = "hipstershop-oteltraces"

func realTraces(tb testing.TB, name string) []ptrace.Traces {
	return unmarshalTraces(tb, teltest.Parts(tb, teltest.Data(tb, "traces", name+".zst")))
}

func recordedTraces(tb testing.TB) []ptrace.Traces {
	parts, err := fixtures.Parts(fixtures.Traces())
	require.NoError(tb, err)
	return unmarshalTraces(tb, parts)
}

func unmarshalTraces(tb testing.TB, parts [][]byte) []ptrace.Traces {
	tb.Helper()
	return unmarshal(tb, descriptors.Traces, parts)
}

func oneTraces(tds []ptrace.Traces) ptrace.Traces { return one(descriptors.Traces, tds) }

func encodeTraces(tb testing.TB, tds []ptrace.Traces, mode stefpdata.Mode, options ...stef.WriterOption) []byte {
	tb.Helper()
	return encode(tb, descriptors.Traces, tds, mode, options...)
}

func decodeTraces(tb testing.TB, stream []byte, options ...stefpdata.DecoderOption) []ptrace.Traces {
	tb.Helper()
	return decode(tb, descriptors.Traces, stream, options...)
}

// requireSameTraces checks that traces survived the round trip as the mode promises.
func requireSameTraces(tb testing.TB, mode stefpdata.Mode, want, got []ptrace.Traces) {
	tb.Helper()
	if mode == stefpdata.Ordered {
		require.Empty(tb, canon.DiffOrderedTraces(oneTraces(want), oneTraces(got)))
		return
	}
	require.Empty(tb, canon.Diff(sorted.Traces(want...), sorted.Traces(got...)))
}

// The output of a round trip equals the input.
func TestRealTracesRoundTrip(t *testing.T) {
	f := func(name string, tds []ptrace.Traces) {
		for _, mode := range modes {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				before := oneTraces(tds)
				requireSameTraces(t, mode, tds, decodeTraces(t, encodeTraces(t, tds, mode)))
				requireSameTraces(t, mode, tds, decodeTraces(t,
					encodeTraces(t, tds, mode, otelstef.PublishedSpans(), stef.WithCompression(stef.Zstd)),
					stefpdata.WithMaxItems(1000)))
				requireSameTraces(t, stefpdata.Ordered, []ptrace.Traces{before}, tds)
			})
		}
	}
	f("recorded", recordedTraces(t))
	t.Run("real", func(t *testing.T) { f(hipstershopTraces, realTraces(t, hipstershopTraces)) })
}

// The test encodes a set of real traces in the mode Sorted, with one frame per batch. The sizes of the
// streams stay within the given bounds in bytes. The flag -v prints the sizes.
func TestTracesSizes(t *testing.T) {
	tds := realTraces(t, hipstershopTraces)
	f := func(name string, want int, options ...stef.WriterOption) int {
		t.Helper()
		got := len(encodeTraces(t, tds, stefpdata.Sorted, options...))
		t.Logf("%s: %d bytes, at most %d; ordered %d", name, got, want,
			len(encodeTraces(t, tds, stefpdata.Ordered, options...)))
		require.LessOrEqual(t, got, want)
		return got
	}
	published, zstd, better := otelstef.PublishedSpans(), stef.WithCompression(stef.Zstd), stef.WithCompressionLevel(stef.LevelBetter)
	f("none", 3_480_000)
	got := f("zstd", 2_060_000, zstd)
	f("zstd, better", got*97/100, zstd, better)
	f("published, none", 4_950_000, published)
	got = f("published, zstd", 2_120_000, published, zstd)
	f("published, zstd, better", got*97/100, published, zstd, better)
}
