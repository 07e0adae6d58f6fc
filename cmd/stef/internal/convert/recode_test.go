// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// lines returns the records of a stream as canonical JSON. It omits the fields that are not in kept.
func lines(t *testing.T, data []byte, root *stream.Root, kept schema.Kept) ([]string, *stream.PlainReader) {
	t.Helper()
	r, err := root.PlainRecords(bytes.NewReader(data))
	require.NoError(t, err)
	list := []string{}
	for r.Next() {
		line, err := dynamic.AppendJSON(nil, root.Struct, kept, r.Record())
		require.NoError(t, err)
		list = append(list, string(line))
	}
	require.NoError(t, r.Err())
	return list, r
}

// A conversion from STEF to STEF in the same schema changes only the compression.
func TestRecompress(t *testing.T) {
	for _, signal := range signals {
		plain, res := mustRun(t, recording(t, signal, 15), convert.Options{Mode: convert.Ordered})
		root := res.Root
		packed, res := mustRun(t, plain, convert.Options{To: convert.STEF, Compression: stef.Zstd, Level: stef.LevelBest})
		require.Equal(t, root, res.Root)
		require.Equal(t, res.PartsIn, res.PartsOut)
		require.Empty(t, res.Losses)
		want, _ := lines(t, plain, root, nil)
		got, _ := lines(t, packed, root, nil)
		require.Equal(t, want, got)
		require.EqualValues(t, len(want), res.Items)
		r, err := root.Records(bytes.NewReader(packed))
		require.NoError(t, err)
		require.Equal(t, dynamic.Zstd, r.Header().Compression)
		require.Equal(t, schema.WireOf(root.Wire), r.Header().Wire)
		again, _ := mustRun(t, packed, convert.Options{To: convert.STEF})
		require.True(t, bytes.Equal(plain, again), "not the bytes it came from")
	}
}

// Converting to the reference schema and back keeps all data that this schema can represent,
// including ids and flags.
func TestReferenceAndBack(t *testing.T) {
	for _, signal := range signals[:2] {
		full, res := mustRun(t, recording(t, signal, 15), convert.Options{})
		root := res.Root
		published, _ := mustRun(t, full, convert.Options{To: convert.STEF, Schema: convert.Reference})
		_, r := lines(t, published, root, nil)
		require.Nil(t, r.Header().Wire)
		again, _ := mustRun(t, published, convert.Options{To: convert.STEF})
		want, _ := lines(t, full, root, root.Published)
		got, _ := lines(t, again, root, root.Published)
		require.Equal(t, want, got)
		// Converting OTLP directly to the reference schema gives the same records.
		direct, _ := mustRun(t, recording(t, signal, 15), convert.Options{Schema: convert.Reference})
		want, _ = lines(t, direct, root, nil)
		got, _ = lines(t, published, root, nil)
		require.Equal(t, want, got)
	}
}

// TestReferenceStreams checks that a conversion keeps the records of streams of the reference
// implementation.
func TestReferenceStreams(t *testing.T) {
	for _, v := range teltest.Vectors(t, "edge") {
		if v.ReferenceError != "" {
			continue
		}
		data := v.Stream(t)
		root, err := stream.ParseRoot(v.Root)
		require.NoError(t, err)
		out, res, err := run(data, convert.Options{To: convert.STEF, Root: root, Schema: convert.Reference})
		if err != nil {
			// These streams announce a schema that is not the schema of the output, so their
			// records are converted. The records contain an invalid id.
			require.True(t, v.HasSchema, v.File)
			require.ErrorContains(t, err, "the trace id has 3 bytes", v.File)
			continue
		}
		require.Empty(t, res.Losses)
		if v.HasSchema {
			continue
		}
		want, _ := lines(t, data, root, root.Published)
		got, _ := lines(t, out, root, root.Published)
		require.Equal(t, want, got, v.File)
	}
}

func metricsOf(t *testing.T, fill func(*otelstef.Metrics), options ...stef.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&buf, options...)
	require.NoError(t, err)
	fill(w.Record())
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func metricOf(t *testing.T, data []byte) *otelstef.Metrics {
	t.Helper()
	r, err := otelstef.NewMetricsReader(bytes.NewReader(data))
	require.NoError(t, err)
	require.True(t, r.Next())
	return r.Record()
}

// The flag "no recorded value" is a value of type none in the reference schema.
//
// spec: #otlp-metrics
func TestFlags(t *testing.T) {
	const int64Value, none = otelstef.PointValueTypeInt64, otelstef.PointValueTypeNone
	const exponential = otelstef.PointValueTypeExpHistogram
	f := func(flags uint64, value, wantValue otelstef.PointValueType, backFlags uint64, losses ...string) {
		t.Helper()
		full := metricsOf(t, func(m *otelstef.Metrics) {
			m.Point().SetFlags(flags)
			m.Point().Value().SetType(value)
		})
		published, res := mustRun(t, full, convert.Options{To: convert.STEF, Schema: convert.Reference})
		if losses == nil {
			require.Empty(t, res.Losses)
		} else {
			require.Equal(t, losses, res.Losses)
		}
		require.Equal(t, wantValue, metricOf(t, published).Point().Value().Type())
		back, _ := mustRun(t, published, convert.Options{To: convert.STEF})
		require.Equal(t, wantValue, metricOf(t, back).Point().Value().Type())
		require.Equal(t, backFlags, metricOf(t, back).Point().Flags())
	}
	f(0, int64Value, int64Value, 0)
	f(1, none, none, 1)
	f(1, int64Value, none, 1, `values of 1 point with the flag "no recorded value"`)
	f(2, int64Value, int64Value, 0, "flags of 1 point")
	f(0, none, none, 1, `flags of 1 point without a value, which now has the flag "no recorded value"`)
	f(1, exponential, exponential, 0, "flags of 1 point")
	f(0, exponential, exponential, 0)
}

// Ids of exemplars are never empty in the reference schema.
//
// spec: #otlp-common
func TestExemplarIDs(t *testing.T) {
	build := func(trace, span []byte) func(*otelstef.Metrics) {
		return func(m *otelstef.Metrics) {
			m.Point().Exemplars().SetLen(1)
			m.Point().Exemplars().At(0).SetTraceID(trace)
			m.Point().Exemplars().At(0).SetSpanID(span)
		}
	}
	f := func(trace, span []byte, wantTrace, wantSpan []byte) {
		t.Helper()
		published, _ := mustRun(t, metricsOf(t, build(trace, span)), convert.Options{To: convert.STEF, Schema: convert.Reference})
		e := metricOf(t, published).Point().Exemplars().At(0)
		require.Equal(t, wantTrace, e.TraceID())
		require.Equal(t, wantSpan, e.SpanID())
		full, _ := mustRun(t, published, convert.Options{To: convert.STEF})
		e = metricOf(t, full).Point().Exemplars().At(0)
		require.Equal(t, hex.EncodeToString(trace), hex.EncodeToString(e.TraceID()))
		require.Equal(t, hex.EncodeToString(span), hex.EncodeToString(e.SpanID()))
	}
	trace, span := []byte("0123456789abcdef"), []byte("01234567")
	f(trace, span, trace, span)
	f(nil, nil, make([]byte, 16), make([]byte, 8))
	bad := metricsOf(t, build([]byte("abc"), nil))
	_, _, err := run(bad, convert.Options{To: convert.STEF, Schema: convert.Reference})
	require.EqualError(t, err, "standard input: record 1: exemplar 0: the trace id has 3 bytes, not 16 (or 32 hexadecimal digits); stef convert --skip omits such items and counts them")
	_, res := mustRun(t, bad, convert.Options{To: convert.STEF, Schema: convert.Reference, Skip: true})
	require.EqualValues(t, 1, res.Skipped)
	require.Zero(t, res.Items)
}

// Ids of spans are text in the reference schema, and text or bytes in the
// input.
func TestSpanIDs(t *testing.T) {
	build := func(trace, span string, options ...stef.WriterOption) []byte {
		var buf bytes.Buffer
		w, err := otelstef.NewSpansWriter(&buf, options...)
		require.NoError(t, err)
		s := w.Record().Span()
		s.SetTraceID([]byte(trace))
		s.SetSpanID([]byte(span))
		s.SetParentSpanID([]byte(span))
		s.Links().SetLen(1)
		s.Links().At(0).SetTraceID([]byte(trace))
		s.Links().At(0).SetSpanID([]byte(span))
		s.SetDroppedLinksCount(3)
		w.Record().EditResource().EntityRefs().SetLen(1)
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
		return buf.Bytes()
	}
	check := func(data []byte, trace, span string) {
		t.Helper()
		r, err := otelstef.NewSpansReader(bytes.NewReader(data))
		require.NoError(t, err)
		require.True(t, r.Next())
		s := r.Record().Span()
		require.Equal(t, []string{trace, span, span, trace, span}, []string{string(s.TraceID()), string(s.SpanID()),
			string(s.ParentSpanID()), string(s.Links().At(0).TraceID()), string(s.Links().At(0).SpanID())})
	}
	const trace, span = "\x010123456789abcd\xff", "\x01012345\xff"
	traceText, spanText := hex.EncodeToString([]byte(trace)), hex.EncodeToString([]byte(span))
	root := stream.RootOf(otlpfile.Traces)

	full := build(trace, span)
	published, res := mustRun(t, full, convert.Options{To: convert.STEF, Schema: convert.Reference})
	require.Equal(t, []string{"entity references of 1 span", "counts of dropped events and links of 1 span"}, res.Losses)
	check(published, traceText, spanText)
	back, res := mustRun(t, published, convert.Options{To: convert.STEF, Root: root})
	require.Empty(t, res.Losses)
	check(back, trace, span)

	zeros := strings.Repeat("\x00", 16)
	unset, _ := mustRun(t, build(zeros, zeros[:8]), convert.Options{To: convert.STEF, Schema: convert.Reference})
	check(unset, "", "")
	mixed, _ := mustRun(t, build(trace, spanText, otelstef.PublishedSpans()), convert.Options{To: convert.STEF, Root: root})
	check(mixed, trace, span)

	bad := func(trace, span, want string) {
		t.Helper()
		_, _, err := run(build(trace, span), convert.Options{To: convert.STEF, Schema: convert.Reference})
		require.EqualError(t, err, "standard input: record 1: "+want+"; stef convert --skip omits such items and counts them")
	}
	bad("x", span, "the trace id has 1 bytes, not 16 (or 32 hexadecimal digits)")
	bad(trace, strings.Repeat("x", 16), `the span id "xxxxxxxxxxxxxxxx" is not hexadecimal`)
}

// TestUserData checks that user data are kept, and that streams with restarts can be converted.
func TestUserData(t *testing.T) {
	data := metricsOf(t, func(m *otelstef.Metrics) { m.EditMetric().SetName("x") },
		stef.WithUserData(map[string]string{"a": "b", stream.UserDataKey: "metrics"}), stef.WithRestart(stef.RestartAll))
	out, _ := mustRun(t, data, convert.Options{To: convert.STEF, Compression: stef.Zstd})
	r, err := otelstef.NewMetricsReader(bytes.NewReader(out))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b", stream.UserDataKey: "metrics"}, r.UserData())
	require.True(t, r.Next())
	require.Equal(t, "x", r.Record().Metric().Name())
}
