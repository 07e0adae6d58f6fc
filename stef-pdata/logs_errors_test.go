// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	descriptors "github.com/otelstef/stef/internal/signal"
)

func timestamp(v uint64) pcommon.Timestamp { return pcommon.Timestamp(v) }

// threeRecords returns three log records whose bodies are their numbers.
func threeRecords() plog.Logs {
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range 3 {
		lr := lrs.AppendEmpty()
		lr.Body().SetInt(int64(i))
		lr.Attributes().PutStr("k", "v")
	}
	return ld
}

// Log records that exceed a limit are reported with their indexes in the batch, and all other log
// records are written.
func TestLogRecordsBeyondLimits(t *testing.T) {
	f := func(field string, items int, at stefpdata.ItemError, spoil func(plog.ScopeLogs, plog.Logs)) {
		t.Helper()
		for _, mode := range modes {
			ld := threeRecords()
			ld.ResourceLogs().At(0).CopyTo(ld.ResourceLogs().AppendEmpty())
			spoil(ld.ResourceLogs().At(0).ScopeLogs().At(0), ld)
			at.Field, at.Metric = field, -1
			requireRefused(t, descriptors.Logs, mode, ld, items, 6-items, at)
		}
	}
	resource := stefpdata.ItemError{Scope: -1, Item: -1}
	scope := stefpdata.ItemError{Item: -1}
	record := stefpdata.ItemError{Item: 1}
	for _, spoil := range []struct {
		path  string
		spoil func(pcommon.Map)
	}{
		{"", tooMany},
		{`["deep"]` + strings.Repeat("[0]", stefpdata.MaxDepth), tooDeep},
		{`["large"]`, tooLarge},
	} {
		f("resource.attributes"+spoil.path, 3, resource, func(_ plog.ScopeLogs, ld plog.Logs) {
			spoil.spoil(ld.ResourceLogs().At(0).Resource().Attributes())
		})
		f("scope.attributes"+spoil.path, 3, scope, func(sl plog.ScopeLogs, _ plog.Logs) { spoil.spoil(sl.Scope().Attributes()) })
		f("attributes"+spoil.path, 1, record, func(sl plog.ScopeLogs, _ plog.Logs) {
			spoil.spoil(sl.LogRecords().At(1).Attributes())
		})
	}
	f("body", 1, record, func(sl plog.ScopeLogs, _ plog.Logs) { tooMany(sl.LogRecords().At(1).Body().SetEmptyMap()) })
	f(`body["deep"]`+strings.Repeat("[0]", stefpdata.MaxDepth-1), 1, record, func(sl plog.ScopeLogs, _ plog.Logs) {
		deep(sl.LogRecords().At(1).Body().SetEmptyMap().PutEmpty("deep"), stefpdata.MaxDepth)
	})
	large := strings.Repeat("x", stefpdata.MaxItemBytes+1)
	f("body", 1, record, func(sl plog.ScopeLogs, _ plog.Logs) { sl.LogRecords().At(1).Body().SetStr(large) })
	f(`body["large"]`, 1, record, func(sl plog.ScopeLogs, _ plog.Logs) {
		sl.LogRecords().At(1).Body().SetEmptyMap().PutEmptyBytes("large").FromRaw([]byte(large))
	})
	f(`body["large"]`, 1, record, func(sl plog.ScopeLogs, _ plog.Logs) { tooLarge(sl.LogRecords().At(1).Body().SetEmptyMap()) })
	f("severity_text or event_name", 1, record, func(sl plog.ScopeLogs, _ plog.Logs) { sl.LogRecords().At(1).SetEventName(large) })
	f("severity_text or event_name", 1, record, func(sl plog.ScopeLogs, _ plog.Logs) { sl.LogRecords().At(1).SetSeverityText(large) })
}

// The error for a bad log record has the index of the record in the batch, even if the encoder
// writes the records in another order.
func TestPlaceOfBadLogRecord(t *testing.T) {
	for _, mode := range modes {
		ld := plog.NewLogs()
		for range 3 { // all three have the same resource and scope
			lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
			for i := range 1500 {
				lrs.AppendEmpty().SetTimestamp(timestamp(uint64(10_000 - i)))
			}
		}
		ld.ResourceLogs().At(1).ScopeLogs().At(0).LogRecords().At(1234).Body().SetStr(strings.Repeat("x", stefpdata.MaxItemBytes+1))
		w, err := otelstef.NewLogsWriter(new(bytes.Buffer))
		require.NoError(t, err)
		err = stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode)).Encode(ld)
		require.ErrorContains(t, err, "1 item was not written, the first: resource 1, scope 0, item 1234: body: ")
	}
}

// Readers with default limits read bodies that are just within the limits of the encoder.
func TestBodiesAtLimits(t *testing.T) {
	f := func(fill func(pcommon.Value)) {
		t.Helper()
		ld := threeRecords()
		fill(ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(1).Body())
		for _, mode := range modes {
			stream := encodeLogs(t, []plog.Logs{ld}, mode, stef.WithCompression(stef.Zstd))
			requireSameLogs(t, mode, []plog.Logs{ld}, decodeLogs(t, stream))
		}
	}
	f(func(v pcommon.Value) { deep(v, stefpdata.MaxDepth) })
	f(func(v pcommon.Value) {
		for range stefpdata.MaxDepth {
			v = v.SetEmptyMap().PutEmpty("k")
		}
	})
	f(func(v pcommon.Value) { v.SetStr(strings.Repeat("x", stefpdata.MaxItemBytes-1000)) })
	f(func(v pcommon.Value) { v.SetStr(strings.Repeat("1 ", stef.MaxPairs)) })
	f(func(v pcommon.Value) { v.SetStr(strings.Repeat("1 ", stef.MaxPairs+1)) })
	f(func(v pcommon.Value) { v.SetEmptyBytes().FromRaw(make([]byte, stefpdata.MaxItemBytes-1000)) })
	f(func(v pcommon.Value) {
		list := v.SetEmptySlice()
		for range 30_000 {
			list.AppendEmpty().SetEmptyMap()
		}
	})
}

// A reader that accepts values of depth 400 reads the deepest values that encoders write. The comment
// of stef.Limits states this number.
func TestDeepestValues(t *testing.T) {
	f := func(fill func(plog.LogRecord)) {
		t.Helper()
		ld := plog.NewLogs()
		fill(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty())
		stream := encodeLogs(t, []plog.Logs{ld}, stefpdata.Sorted)
		read := func(depth int) error {
			r, err := otelstef.NewLogsReader(bytes.NewReader(stream), stef.WithLimits(stef.Limits{Depth: depth}))
			require.NoError(t, err)
			defer r.Close()
			for r.Next() {
			}
			return r.Err()
		}
		require.NoError(t, read(400))
		require.ErrorIs(t, read(399), stef.ErrLimit)
	}
	maps := func(v pcommon.Value) {
		for range stefpdata.MaxDepth {
			v = v.SetEmptyMap().PutEmpty("k")
		}
		v.SetStr("innermost")
	}
	f(func(lr plog.LogRecord) { deep(lr.Body(), stefpdata.MaxDepth) })
	f(func(lr plog.LogRecord) { maps(lr.Body()) })
	f(func(lr plog.LogRecord) { deep(lr.Attributes().PutEmpty("k"), stefpdata.MaxDepth) })
	f(func(lr plog.LogRecord) { maps(lr.Attributes().PutEmpty("k")) })
}

// Decoders accept ids as hexadecimal text in the full schema, too.
func TestHexadecimalIDs(t *testing.T) {
	const trace, span = "0102030405060708090a0B0C0D0E0F10", "a1a2a3a4a5a6a7a8"
	var logs, spans bytes.Buffer
	lw, err := otelstef.NewLogsWriter(&logs)
	require.NoError(t, err)
	lw.Record().Record().SetTraceID([]byte(trace))
	lw.Record().Record().SetSpanID([]byte(span))
	require.NoError(t, lw.Write())
	require.NoError(t, lw.Close())
	lr, err := otelstef.NewLogsReader(&logs)
	require.NoError(t, err)
	ld, err := stefpdata.NewLogsDecoder(lr).Decode()
	require.NoError(t, err)
	record := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	require.Equal(t, strings.ToLower(trace), record.TraceID().String())
	require.Equal(t, span, record.SpanID().String())

	sw, err := otelstef.NewSpansWriter(&spans)
	require.NoError(t, err)
	sw.Record().Span().SetTraceID([]byte(trace))
	sw.Record().Span().SetParentSpanID([]byte(span))
	require.NoError(t, sw.Write())
	require.NoError(t, sw.Close())
	sr, err := otelstef.NewSpansReader(&spans)
	require.NoError(t, err)
	td, err := stefpdata.NewTracesDecoder(sr).Decode()
	require.NoError(t, err)
	s := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	require.Equal(t, strings.ToLower(trace), s.TraceID().String())
	require.Equal(t, span, s.ParentSpanID().String())
}

// Records that OTLP cannot express are reported, and all other records are converted.
func TestLogRecordsBeyondOTLP(t *testing.T) {
	f := func(field string, spoil func(*otelstef.Logs)) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out)
		require.NoError(t, err)
		good := func() {
			rec := w.Record()
			rec.Reset()
			rec.Record().Attributes().SetLen(1)
			rec.Record().Attributes().SetString(0, "k", "v")
			require.NoError(t, w.Write())
		}
		good()
		for range 2 {
			spoil(w.Record())
			w.Record().Record().Attributes().SetString(0, "k", "changed")
			require.NoError(t, w.Write())
		}
		good()
		require.NoError(t, w.Close())

		ld := requireLeftOut(t, descriptors.Logs, out.Bytes(), field)
		want := plog.NewLogs()
		lrs := want.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for range 2 {
			lrs.AppendEmpty().Attributes().PutStr("k", "v")
		}
		requireSameLogs(t, stefpdata.Ordered, []plog.Logs{want}, []plog.Logs{ld})
	}
	f("Resource.DroppedAttributesCount", func(l *otelstef.Logs) { l.EditResource().SetDroppedAttributesCount(1 << 32) })
	f("Scope.DroppedAttributesCount", func(l *otelstef.Logs) { l.EditScope().SetDroppedAttributesCount(1 << 32) })
	f("Record.DroppedAttributesCount", func(l *otelstef.Logs) { l.Record().SetDroppedAttributesCount(1 << 32) })
	f("Record.Flags", func(l *otelstef.Logs) { l.Record().SetFlags(1 << 32) })
	f("Record.SeverityNumber", func(l *otelstef.Logs) { l.Record().SetSeverityNumber(1 << 31) })
	f("Record.TraceID", func(l *otelstef.Logs) { l.Record().SetTraceID([]byte("short")) })
	f("Record.SpanID", func(l *otelstef.Logs) { l.Record().SetSpanID([]byte("sixteen, no hex!")) })
	template := func(text string, params ...string) func(l *otelstef.Logs) {
		return func(l *otelstef.Logs) {
			t := l.Record().Body().SetTemplate()
			t.SetTemplate(text)
			t.Params().SetLen(len(params))
			for i, p := range params {
				t.Params().Set(i, true, p)
			}
		}
	}
	f("Record.Body.Template.Params", template("a \x00 b"))
	f("Record.Body.Template.Params", template("a \x00 b", "1", "2"))
	f("Record.Body.Template.Params", template("a", "1"))
	f("Record.Body.Template.Params", template("\x00\x00\x00", "1", "2"))
}

// TestLogsOfOtherWriters reads records that our encoder does not write, but that other writers can
// write: with hexadecimal ids, with an empty body, or with unusual parameters of a template.
func TestLogsOfOtherWriters(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out)
	require.NoError(t, err)
	lr := w.Record().Record()
	lr.SetTraceID([]byte("0102030405060708090a0b0c0d0e0f10"))
	lr.SetSpanID([]byte("0102030405060708"))
	lr.Body().SetValue().SetString("text")
	require.NoError(t, w.Write())
	lr.SetTraceID(make([]byte, 16))
	lr.SetSpanID(nil)
	lr.Body().SetValue()
	lr.Body().Value().SetType(otelstef.BodyValueTypeNone)
	require.NoError(t, w.Write())
	template := lr.Body().SetTemplate()
	template.SetTemplate("\x00, \x00\x00")
	template.Params().SetLen(3)
	template.Params().Set(0, true, "no digit")
	template.Params().Set(1, true, "a\x00")
	template.Params().Set(2, false, "")
	require.NoError(t, errors.Join(w.Write(), w.Close()))
	lrs := decodeLogs(t, out.Bytes())[0].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	require.Equal(t, "0102030405060708090a0b0c0d0e0f10", lrs.At(0).TraceID().String())
	require.Equal(t, "0102030405060708", lrs.At(0).SpanID().String())
	require.Equal(t, "text", lrs.At(0).Body().Str())
	require.True(t, lrs.At(1).TraceID().IsEmpty())
	require.Equal(t, pcommon.ValueTypeEmpty, lrs.At(1).Body().Type())
	require.Equal(t, "no digit, a\x00", lrs.At(2).Body().Str())
}
