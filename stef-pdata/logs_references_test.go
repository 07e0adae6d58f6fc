// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// repeating returns log records whose bodies repeat many other fields of the record. broken is
// the percentage of the bodies that repeat a slightly different text.
func (r *random) repeating(n, broken int) plog.Logs {
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for range n {
		lr := lrs.AppendEmpty()
		at := time.Unix(1_700_000_000+int64(r.IntN(1e6)), int64(r.IntN(1e9))).UTC()
		lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
		var trace pcommon.TraceID
		var span pcommon.SpanID
		for i := range trace {
			trace[i], span[i/2] = byte(r.IntN(256)), byte(r.IntN(256))
		}
		lr.SetTraceID(trace)
		lr.SetSpanID(span)
		path := fmt.Sprintf("/item/%d", r.IntN(1000))
		size, took := int64(r.IntN(1<<20)), int64(r.IntN(1000))-500
		lr.Attributes().PutStr("url.path", path)
		lr.Attributes().PutInt("size", size)
		if r.one(3) {
			lr.Attributes().PutInt("took", took)
		} else {
			lr.Attributes().PutEmptySlice("took").AppendEmpty().SetInt(took)
		}
		lr.Attributes().PutStr("agent", strings.Repeat("agent ", r.IntN(3)))
		if r.IntN(100) < broken {
			path, size, trace[3] = path+"1", size+1, trace[3]+1
			lr.Attributes().PutStr("extra", "")
		}
		uptime := float64(r.IntN(1e6)) / 1000
		local := at.In(time.FixedZone("", 900*(r.IntN(2)*7-4)))
		switch r.IntN(7) {
		case 4:
			lr.Attributes().PutDouble("uptime", uptime)
			lr.Body().SetStr(fmt.Sprintf("%s: %.3f: [GC %d", local.Format("2006-01-02T15:04:05.000-0700"), uptime, r.IntN(100)))
		case 5:
			if r.IntN(8) > 0 {
				lr.Attributes().PutDouble("uptime", uptime)
			} else {
				lr.Attributes().PutEmptySlice("uptime").AppendEmpty().SetDouble(uptime)
			}
			lr.Body().SetStr(fmt.Sprintf("%s INFO up %v s %d", strings.Replace(local.Format("2006-01-02 15:04:05.000"), ".", ",", 1), uptime, r.IntN(100)))
		case 6:
			lr.Attributes().PutDouble("uptime", uptime)
			lr.Body().SetStr(fmt.Sprintf("[%s] %s host%d up %.2f", local.Format("Mon Jan 02 15:04:05.000000 2006"), local.Format("Jan _2 15:04:05"), r.IntN(3), uptime))
		case 0:
			lr.Body().SetStr(fmt.Sprintf(`%s {"trace":"%s","span":"%s","path":"%s","free":%d}`, at.Format("2006-01-02T15:04:05.000Z"), trace, span, path, r.IntN(1e6)))
		case 1:
			lr.Body().SetStr(fmt.Sprintf(`10.0.0.%d - [%s] "GET %s" %d %d`, r.IntN(256), at.Format("02/Jan/2006:15:04:05 -0700"), path, size, took))
		case 2:
			lr.Body().SetStr(fmt.Sprintf("00-%s-%s-01 took %d", trace, span, took))
		default:
			lr.Body().SetStr(fmt.Sprintf("%s%s %d\x01%d", path, path, size, r.IntN(10)))
		}
	}
	return ld
}

// Bodies that repeat other fields of their records survive the compact form. Streams of
// such bodies are much smaller than in the full form.
func TestRepeatingLogsRoundTrip(t *testing.T) {
	for seed := range uint64(12) {
		r := newRandom(seed)
		lds := []plog.Logs{r.repeating(1200, 0), r.repeating(700, 30), r.repeating(300, 0)}
		for _, mode := range modes {
			full := encodeLogs(t, lds, mode, stef.WithCompression(stef.Zstd))
			compact := encodeLogs(t, lds, mode, stef.WithCompression(stef.Zstd), otelstef.CompactLogs())
			requireSameLogs(t, mode, lds, decodeLogs(t, compact))
			require.Less(t, 10*len(compact), 8*len(full))
		}
	}
}

// A writer can replace a parameter of a template by a reference to another field. A reader replaces
// the reference by the text, so its records have plain text.
func TestReferencesAreUndone(t *testing.T) {
	random := newRandom(1)
	ld := random.repeating(2000, 10)
	r, err := otelstef.NewLogsReader(bytes.NewReader(encodeLogs(t, []plog.Logs{ld}, stefpdata.Ordered, stef.WithCompression(stef.Zstd), otelstef.CompactLogs())))
	require.NoError(t, err)
	references := 0
	for _, lr := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
		require.True(t, r.Next(), r.Err())
		body := r.Record().Record().Body()
		text := body.Str()
		if template := body.Template(); template != nil {
			text = template.Template()
			for key, value := range template.Params().All() {
				text = strings.Replace(text, "\x00", value, 1)
				if key {
					references++
				}
			}
		}
		require.Equal(t, lr.Body().Str(), text)
	}
	require.False(t, r.Next())
	require.NoError(t, r.Err())
	require.Greater(t, references, 3300)
}

// copying returns log records whose attributes repeat the ids, the time and the body of the record,
// as logging libraries and Collectors produce them. broken is the percentage of the records that
// repeat a slightly different text. If clashes is true, some texts look like references.
func (r *random) copying(n, broken int, clashes bool) plog.Logs {
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range n {
		lr := lrs.AppendEmpty()
		at := time.Unix(1_700_000_000+int64(r.IntN(1e6)), int64(r.IntN(1e9))).UTC()
		lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
		var trace pcommon.TraceID
		var span pcommon.SpanID
		for i := range trace {
			trace[i], span[i/2] = byte(r.IntN(256)), byte(r.IntN(256))
		}
		if r.IntN(10) > 0 {
			lr.SetTraceID(trace)
			lr.SetSpanID(span)
		}
		event := fmt.Sprintf("event-%d-%d", i, r.IntN(1e6))
		if r.one(3) {
			lr.Body().SetStr("text")
		} else {
			m := lr.Body().SetEmptyMap()
			m.PutEmptySlice("list").AppendEmpty().SetEmptyMap().PutStr("event", "in an array")
			m.PutStr("event", event)
			inner := m.PutEmptyMap("inner")
			inner.PutStr("at", at.Format("2006-01-02T15:04:05Z"))
			inner.PutStr("local", at.In(time.FixedZone("", 19800)).Format("2006-01-02T15:04:05.000-07:00"))
			inner.PutStr("user", fmt.Sprintf("user-%d", r.IntN(1000)))
			inner.PutInt("count", int64(i))
			m.PutStr("user", "another user")
			if clashes && r.one(5) {
				m.PutStr("clash", "\x00T0")
			}
			lr.Attributes().PutStr("user", inner.AsRaw()["user"].(string))
		}
		if r.IntN(100) < broken {
			trace[1]++
			event += "x"
		}
		lr.Attributes().PutStr("trace_id", trace.String())
		lr.Attributes().PutStr("span_id", span.String())
		lr.Attributes().PutStr("event", event)
		lr.Attributes().PutStr("when", strings.Replace(at.Format("2006-01-02 15:04:05.000"), ".", ",", 1))
		if clashes && r.one(5) {
			lr.Attributes().PutStr("clash", []string{"\x00t", "\x00kevent", "\x00", "\x00kinner event"}[r.IntN(4)])
		}
	}
	return ld
}

// Log records whose attributes repeat other parts of the record survive the compact form in the
// decoders of stefpdata and stefotlp. The streams are much smaller than in an older schema without
// such references.
func TestCopyingLogsComeBack(t *testing.T) {
	first := stef.WithSchema([]int{8, 1, 4, 7, 4, 5, 15, 3, 7, 2, 2})
	for seed := range uint64(12) {
		r := newRandom(seed)
		lds := []plog.Logs{r.copying(800, 0, false), r.copying(300, 30, false), r.copying(300, 0, false)}
		clashing := append(lds[:3:3], r.copying(300, 5, true), r.copying(100, 0, false))
		for _, mode := range modes {
			older := encodeLogs(t, lds, mode, stef.WithCompression(stef.Zstd), first)
			compact := encodeLogs(t, lds, mode, stef.WithCompression(stef.Zstd), otelstef.CompactLogs())
			requireSameLogs(t, mode, lds, decodeLogs(t, older))
			requireSameLogs(t, mode, lds, decodeLogs(t, compact))
			require.Less(t, 10*len(compact), 7*len(older))
			stream := encodeLogs(t, clashing, mode, otelstef.CompactLogs())
			requireSameLogs(t, mode, clashing, decodeLogs(t, stream))
			requireSameLogs(t, mode, clashing, logsFromOTLP(t, stream))
		}
	}
}

// logsFromOTLP reads a stream as OTLP bytes.
func logsFromOTLP(t *testing.T, stream []byte) (lds []plog.Logs) {
	t.Helper()
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	d := stefotlp.NewLogsDecoder(r)
	for {
		data, err := d.AppendOTLP(nil)
		if errors.Is(err, io.EOF) {
			return lds
		}
		require.NoError(t, err)
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(data)
		require.NoError(t, err)
		lds = append(lds, ld)
	}
}
