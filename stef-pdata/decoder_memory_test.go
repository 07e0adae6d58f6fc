// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// A decoder does not keep the batch in memory that it returned last. Otherwise a stream that is
// idle for long would hold a batch that its caller has already dropped.
func TestDecodersKeepNoBatch(t *testing.T) {
	const items, itemBytes = 12, 256 << 10
	fill := func(m pcommon.Map, i int) {
		content := bytes.Repeat([]byte{byte(i)}, itemBytes)
		m.PutEmptyBytes("content").FromRaw(content)
	}
	live := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	f := func(name string, encode func(t *testing.T, out *bytes.Buffer), decoder func(t *testing.T, in *bytes.Buffer) func() (batch any, n int)) {
		t.Run(name, func(t *testing.T) {
			var stream bytes.Buffer
			encode(t, &stream)
			decode := decoder(t, &stream)
			before := live()
			batch, n := decode()
			require.Equal(t, items, n)
			with := live() - before
			runtime.KeepAlive(batch)
			batch = nil
			freed := with - (live() - before)
			require.GreaterOrEqual(t, freed, int64(items*itemBytes), "of %d", with)
			_, n = decode() // keeps the decoder alive until here
			require.Zero(t, n)
		})
	}
	f("metrics", func(t *testing.T, out *bytes.Buffer) {
		w, err := otelstef.NewMetricsWriter(out)
		require.NoError(t, err)
		md := pmetric.NewMetrics()
		points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
		for i := range items {
			p := points.AppendEmpty()
			p.SetIntValue(1)
			fill(p.Attributes(), i)
		}
		require.NoError(t, stefpdata.NewMetricsEncoder(w).Encode(md))
		require.NoError(t, w.Close())
	}, func(t *testing.T, in *bytes.Buffer) func() (any, int) {
		r, err := otelstef.NewMetricsReader(in)
		require.NoError(t, err)
		d := stefpdata.NewMetricsDecoder(r)
		return func() (any, int) {
			md, _ := d.Decode()
			return md, md.DataPointCount()
		}
	})
	f("traces", func(t *testing.T, out *bytes.Buffer) {
		w, err := otelstef.NewSpansWriter(out)
		require.NoError(t, err)
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := range items {
			span := spans.AppendEmpty()
			span.SetTraceID([16]byte{1})
			span.SetSpanID([8]byte{byte(i + 1)})
			fill(span.Attributes(), i)
		}
		require.NoError(t, stefpdata.NewTracesEncoder(w).Encode(td))
		require.NoError(t, w.Close())
	}, func(t *testing.T, in *bytes.Buffer) func() (any, int) {
		r, err := otelstef.NewSpansReader(in)
		require.NoError(t, err)
		d := stefpdata.NewTracesDecoder(r)
		return func() (any, int) {
			td, _ := d.Decode()
			return td, td.SpanCount()
		}
	})
	f("logs", func(t *testing.T, out *bytes.Buffer) {
		w, err := otelstef.NewLogsWriter(out)
		require.NoError(t, err)
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := range items {
			fill(records.AppendEmpty().Attributes(), i)
		}
		require.NoError(t, stefpdata.NewLogsEncoder(w).Encode(ld))
		require.NoError(t, w.Close())
	}, func(t *testing.T, in *bytes.Buffer) func() (any, int) {
		r, err := otelstef.NewLogsReader(in)
		require.NoError(t, err)
		d := stefpdata.NewLogsDecoder(r)
		return func() (any, int) {
			ld, _ := d.Decode()
			return ld, ld.LogRecordCount()
		}
	})
}
