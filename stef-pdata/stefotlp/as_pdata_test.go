// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	"github.com/otelstef/stef/internal/fixtures"
)

func TestMetricsAsPdataDoes(t *testing.T) {
	f := func(name string, parts [][]byte) {
		t.Run(name, func(t *testing.T) {
			metrics.requireStream(t, parts)
			metrics.requireStream(t, parts, otelstef.PublishedMetrics(), stef.WithCompression(stef.Zstd))
			metrics.requireStream(t, joined(parts), stef.WithFrameBytes(1<<16))
			metrics.requireSame(t, parts, metrics.decode(t, metrics.encode(t, parts), stefotlp.WithMaxItems(1000)))
		})
	}
	f("fixture", fixture(t, fixtures.Metrics()))
	t.Run("real", func(t *testing.T) {
		for _, name := range []string{"hipstershop-otelmetrics", "hostandcollector-otelmetrics"} {
			f(name, real(t, "metrics", name))
		}
	})
}

func TestTracesAsPdataDoes(t *testing.T) {
	f := func(name string, parts [][]byte) {
		t.Run(name, func(t *testing.T) {
			traces.requireStream(t, parts)
			traces.requireStream(t, parts, otelstef.PublishedSpans(), stef.WithCompression(stef.Zstd))
			stream := traces.encode(t, joined(parts), stef.WithFrameBytes(1<<16))
			traces.requireSame(t, parts, traces.decode(t, stream, stefotlp.WithMaxItems(1000)))
		})
	}
	f("fixture", fixture(t, fixtures.Traces()))
	t.Run("real", func(t *testing.T) {
		f("hipstershop-oteltraces", real(t, "traces", "hipstershop-oteltraces"))
	})
}

func TestLogsAsPdataDoes(t *testing.T) {
	f := func(name string, parts [][]byte) {
		t.Run(name, func(t *testing.T) {
			requireLogs(t, parts, stef.WithCompression(stef.Zstd))
			stream := logs.encode(t, joined(parts), stef.WithFrameBytes(1<<16))
			logs.requireSame(t, parts, logs.decode(t, stream, stefotlp.WithMaxItems(100)))
		})
	}
	f("fixture", fixture(t, fixtures.Logs()))
	t.Run("real", func(t *testing.T) {
		for _, name := range []string{"kafka", "webnodes", "cloudtrail", "astronomy", "k8sapps"} {
			f(name, real(t, "logs", name+"-otellogs"))
		}
	})
}

// requireLogs is like requireStream, but for logs. It compares records, not bytes, because stefotlp
// and stefpdata write different streams of logs.
func requireLogs(tb testing.TB, parts [][]byte, options ...stef.WriterOption) {
	tb.Helper()
	stream := logs.encode(tb, parts, options...)
	sameLogRecords(tb, logs.viaPdata(tb, parts), stream)
	for _, s := range [][]byte{stream, logs.viaPdata(tb, parts, stef.WithCompression(stef.Zstd))} {
		logs.requireRead(tb, s)
	}
}

// sameLogRecords requires two streams to have equal log records. Their observed times may be encoded
// differently, because only stefpdata writes observed times as differences from Time.
func sameLogRecords(tb testing.TB, want, got []byte) {
	tb.Helper()
	a, b := logRecords(tb, want), logRecords(tb, got)
	require.Len(tb, b, len(a))
	for i := range a {
		require.True(tb, a[i].Equal(b[i]), "record %d", i)
	}
}

// logRecords returns the records of a stream. If a record has ObservedDelta, the difference between
// observed time and Time, logRecords replaces it by ObservedTime.
func logRecords(tb testing.TB, stream []byte) (records []*otelstef.Logs) {
	tb.Helper()
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	for r.Next() {
		rec := otelstef.NewLogs()
		rec.CopyFrom(r.Record())
		if lr := rec.Record(); lr.HasObservedDelta() {
			lr.SetObservedTime(lr.Time() + uint64(lr.ObservedDelta()))
			lr.UnsetObservedDelta()
		}
		records = append(records, rec)
	}
	require.NoError(tb, r.Err())
	return records
}
