// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelstef/stef/extension/stefencodingextension/internal/metadatatest"
	"github.com/otelstef/stef/internal/teltest/canon"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// items ignores the order of attributes in comparisons, because mode sorted changes this order.
var items = canon.Options{SortAttributes: true}

// configs are configurations that can represent all data of the recordings.
var configs = []string{
	"{}",
	"{compression: none}",
	"{schema: compact}",
	"{schema: full}",
	"{compression_level: best, mode: ordered, templates: off}",
	"{mode: sorted, templates: on, compression: none}",
}

func TestRoundTrip(t *testing.T) {
	for _, config := range configs {
		t.Run(config, func(t *testing.T) {
			e := newEncoding(t, config)
			for i, td := range recordedTraces(t) {
				message, err := e.MarshalTraces(td)
				require.NoError(t, err)
				got, err := e.UnmarshalTraces(message)
				require.NoError(t, err)
				require.Empty(t, canon.Diff(items.Traces(td), items.Traces(got)), "message %d", i)
			}
			for i, md := range recordedMetrics(t) {
				message, err := e.MarshalMetrics(md)
				require.NoError(t, err)
				got, err := e.UnmarshalMetrics(message)
				require.NoError(t, err)
				require.Empty(t, canon.Diff(items.Metrics(md), items.Metrics(got)), "message %d", i)
			}
			for i, ld := range recordedLogs(t) {
				message, err := e.MarshalLogs(ld)
				require.NoError(t, err)
				got, err := e.UnmarshalLogs(message)
				require.NoError(t, err)
				require.Empty(t, canon.Diff(items.Logs(ld), items.Logs(got)), "message %d", i)
			}
		})
	}
}

// TestSameBytes: the bytes of a message do not depend on earlier messages.
func TestSameBytes(t *testing.T) {
	used := newEncoding(t, "{}")
	for i, td := range recordedTraces(t) {
		want, err := newEncoding(t, "{}").MarshalTraces(td)
		require.NoError(t, err)
		got, err := used.MarshalTraces(td)
		require.NoError(t, err)
		require.Equal(t, want, got, "message %d of traces", i)
	}
	for i, md := range recordedMetrics(t) {
		want, err := newEncoding(t, "{}").MarshalMetrics(md)
		require.NoError(t, err)
		got, err := used.MarshalMetrics(md)
		require.NoError(t, err)
		require.Equal(t, want, got, "message %d of metrics", i)
	}
	for i, ld := range recordedLogs(t) {
		want, err := newEncoding(t, "{}").MarshalLogs(ld)
		require.NoError(t, err)
		got, err := used.MarshalLogs(ld)
		require.NoError(t, err)
		require.Equal(t, want, got, "message %d of logs", i)
	}
}

// TestConcurrent: 64 goroutines use one extension for all signals.
func TestConcurrent(t *testing.T) {
	e := newEncoding(t, "{}")
	tds, mds, lds := recordedTraces(t), recordedMetrics(t), recordedLogs(t)
	work := func(n int) error {
		td, md, ld := tds[n%len(tds)], mds[n%len(mds)], lds[n%len(lds)]
		if diff := roundTrip(e, td, md, ld); diff != nil {
			return fmt.Errorf("message %d: %w", n, diff)
		}
		return nil
	}
	var group sync.WaitGroup
	errs := make([]error, 64)
	for g := range errs {
		group.Go(func() {
			for n := 0; n < 5 && errs[g] == nil; n++ {
				errs[g] = work(5*g + n)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// TestCutMessage: a message that is truncated at any byte is refused, or has no records.
func TestCutMessage(t *testing.T) {
	for _, config := range []string{"{}", "{compression: none}"} {
		e := newEncoding(t, config)
		ld := recordedLogs(t)[0]
		message, err := e.MarshalLogs(ld)
		require.NoError(t, err)
		for n := range message {
			got, err := e.UnmarshalLogs(message[:n])
			if err == nil {
				// A stream that ends after its headers is valid and has no records.
				require.Zero(t, got.LogRecordCount(), "cut at byte %d", n)
				continue
			}
			require.True(t, consumererror.IsPermanent(err), "cut at byte %d", n)
		}
	}
}

func TestMistakes(t *testing.T) {
	e := newEncoding(t, "{}")
	refused := func(message []byte, kind error, text string) {
		t.Helper()
		_, err := e.UnmarshalMetrics(message)
		require.ErrorIs(t, err, kind)
		require.ErrorContains(t, err, text)
		require.True(t, consumererror.IsPermanent(err))
	}
	refused(nil, ErrFormat, "the message is empty")
	otlp, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(recordedMetrics(t)[0])
	require.NoError(t, err)
	refused(otlp, ErrFormat, "set the encoding that its sender uses, such as otlp_proto")
	refused([]byte(`{"resourceMetrics":[]}`), ErrFormat, "the message begins with 7b 22 72 65")
	traces, err := e.MarshalTraces(recordedTraces(t)[0])
	require.NoError(t, err)
	refused(traces, ErrSignal, "traces, not metrics; use one topic or path for each signal")
	logs, err := e.MarshalLogs(recordedLogs(t)[0])
	require.NoError(t, err)
	refused(logs, ErrSignal, "logs, not metrics")
	metrics, err := e.MarshalMetrics(recordedMetrics(t)[0])
	require.NoError(t, err)
	refused(metrics[:len(metrics)/2], stef.ErrCorrupt, "unmarshaling metrics from")
	refused(metrics[:len(metrics)/2], stef.ErrCorrupt, "check what wrote or truncated it")
	refused(traces[:len(traces)/2], ErrSignal, "traces, not metrics") // its schema shows the signal
	newer := append([]byte{}, metrics...)
	newer[5] = 1
	refused(newer, stef.ErrVersion, "upgrade this Collector")

}

// TestMarshalErrors: a batch that cannot be marshaled causes a permanent error, so that an
// exporter does not send the batch again. Its items are counted once.
func TestMarshalErrors(t *testing.T) {
	ld, td := recordedLogs(t)[0], ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for range 3 {
		span := spans.AppendEmpty()
		for i := range stef.MaxPairs + 1 {
			span.Attributes().PutInt(fmt.Sprint(i), 1)
		}
	}
	for _, c := range []struct {
		config, signal, reason string
		items                  int
		marshal                func(*stefEncoding) error
		kind                   error
	}{
		{"{schema: reference}", "logs", "schema", ld.LogRecordCount(), func(e *stefEncoding) error { _, err := e.MarshalLogs(ld); return err }, errNoReference},
		{"{}", "traces", "limit", 3, func(e *stefEncoding) error { _, err := e.MarshalTraces(td); return err }, stef.ErrLimit},
	} {
		tt := componenttest.NewTelemetry()
		config, err := load(t, c.config)
		require.NoError(t, err)
		settings := extensiontest.NewNopSettings(typ)
		settings.TelemetrySettings = tt.NewTelemetrySettings()
		e, err := newExtension(config, settings)
		require.NoError(t, err)
		err = c.marshal(e)
		require.ErrorIs(t, err, c.kind)
		require.True(t, consumererror.IsPermanent(err))
		metadatatest.AssertEqualExtensionStefEncodingItemsDropped(t, tt, []metricdata.DataPoint[int64]{{
			Value:      int64(c.items),
			Attributes: attribute.NewSet(attribute.String("extension", settings.ID.String()), attribute.String("signal", c.signal), attribute.String("reason", c.reason)),
		}}, metricdatatest.IgnoreTimestamp())
		require.NoError(t, e.Shutdown(t.Context()))
		require.NoError(t, tt.Shutdown(t.Context()))
	}
}

// TestReferenceSchema: unmarshaling a message in the reference schema returns as many items as were
// marshaled.
func TestReferenceSchema(t *testing.T) {
	e := newEncoding(t, "{schema: reference}")
	for _, md := range recordedMetrics(t)[:3] {
		message, err := e.MarshalMetrics(md)
		require.NoError(t, err)
		got, err := e.UnmarshalMetrics(message)
		require.NoError(t, err)
		require.Equal(t, md.DataPointCount(), got.DataPointCount())
	}
	td := recordedTraces(t)[0]
	message, err := e.MarshalTraces(td)
	require.NoError(t, err)
	got, err := e.UnmarshalTraces(message)
	require.NoError(t, err)
	require.Equal(t, td.SpanCount(), got.SpanCount())
}

// TestDecodedLimit: the size of a decoded message as OTLP is bounded, because a few bytes can
// repeat a large value very often.
func TestDecodedLimit(t *testing.T) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	text := strings.Repeat("x", 1<<20)
	for range 8 {
		records.AppendEmpty().Body().SetStr(text)
	}
	message, err := newEncoding(t, "{}").MarshalLogs(ld)
	require.NoError(t, err)
	require.Less(t, len(message), 4<<10)
	_, err = newEncoding(t, "{limits: {max_decoded_mib: 4}}").UnmarshalLogs(message)
	require.ErrorIs(t, err, stef.ErrLimit)
	require.ErrorContains(t, err, "raise the limit: max_decoded_mib")
	_, err = newEncoding(t, "{limits: {max_frame_mib: 1}}").UnmarshalLogs(message)
	require.ErrorIs(t, err, stef.ErrLimit)
	require.True(t, strings.HasSuffix(err.Error(), "raise the limit: max_frame_mib"), err)
	got, err := newEncoding(t, "{limits: {max_decoded_mib: 9}}").UnmarshalLogs(message)
	require.NoError(t, err)
	require.Equal(t, 8, got.LogRecordCount())
}

// TestLimitKeys: the error names the key of the limit that a message exceeds.
func TestLimitKeys(t *testing.T) {
	f := func(key string, fill func(pcommon.Map)) {
		ld := plog.NewLogs()
		fill(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Attributes())
		message, err := newEncoding(t, "{compression: none}").MarshalLogs(ld)
		require.NoError(t, err)
		_, err = newEncoding(t, "{limits: {"+key+": 1}}").UnmarshalLogs(message)
		require.ErrorIs(t, err, stef.ErrLimit)
		require.True(t, strings.HasSuffix(err.Error(), "raise the limit: "+key), err)
	}
	long := func(m pcommon.Map) { m.PutStr("long", strings.Repeat("x", 2<<20)) }
	f("max_message_mib", long)
	f("max_frame_mib", long)
	f("max_dict_mib", long)
	f("max_record_alloc_mib", func(m pcommon.Map) {
		list := m.PutEmptySlice("list")
		for range 10_000 {
			list.AppendEmpty().SetEmptyMap()
		}
	})
}

// TestDecodedMemoryLimit: the memory of a decoded message is bounded, too. An empty event needs
// 2 bytes of OTLP but far more memory. An omitted record needs memory but no OTLP.
func TestDecodedMemoryLimit(t *testing.T) {
	message := func(n int, set func(span *otelstef.Span, i int)) []byte {
		var out bytes.Buffer
		w, err := otelstef.NewSpansWriter(&out, stef.WithCompression(stef.Zstd))
		require.NoError(t, err)
		for i := range n {
			set(w.Record().Span(), i)
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())
		require.Less(t, out.Len(), 4<<10)
		return out.Bytes()
	}
	f := func(refused, accepted int, message []byte) {
		t.Helper()
		_, err := newEncoding(t, fmt.Sprintf("{limits: {max_decoded_mib: %d}}", refused)).UnmarshalTraces(message)
		require.ErrorIs(t, err, stef.ErrLimit)
		require.ErrorContains(t, err, "raise the limit: max_decoded_mib")
		got, err := newEncoding(t, fmt.Sprintf("{limits: {max_decoded_mib: %d}}", accepted)).UnmarshalTraces(message)
		require.NoError(t, err)
		require.Less(t, (&ptrace.ProtoMarshaler{}).TracesSize(got), refused<<20)
	}
	f(8, 32, message(100, func(span *otelstef.Span, _ int) { span.Events().SetLen(8000) }))
	f(1, 8, message(100_000, func(span *otelstef.Span, i int) { // only the first span has a valid id
		span.SetTraceID([]byte("12345678")[:min(i, 1+i%2)])
	}))
}

// TestUnencodableItems: items over a limit of the converters are omitted, and the message contains
// all other items.
func TestUnencodableItems(t *testing.T) {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	spans.AppendEmpty().SetName("good")
	bad := spans.AppendEmpty()
	for i := range stef.MaxPairs + 1 {
		bad.Attributes().PutInt(fmt.Sprint(i), 1)
	}
	e := newEncoding(t, "{}")
	message, err := e.MarshalTraces(td)
	require.NoError(t, err)
	got, err := e.UnmarshalTraces(message)
	require.NoError(t, err)
	require.Equal(t, 1, got.SpanCount())
}
