// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
)

// A file that is truncated at any byte yields the batches before the cut and an
// error. If the cut is between two parts, entries or messages, there is no error.
func TestTruncated(t *testing.T) {
	logs, err := readAll(open(t, fixtures.Logs()))
	require.NoError(t, err)
	// Use three small parts, so that cutting at each byte is fast.
	var small []otlpfile.Batch
	for i := range 3 {
		b := logs[i]
		b.Logs.ResourceLogs().RemoveIf(func(rl plog.ResourceLogs) bool {
			rl.ScopeLogs().RemoveIf(func(sl plog.ScopeLogs) bool {
				n := 0
				sl.LogRecords().RemoveIf(func(plog.LogRecord) bool { n++; return n > 1 })
				return false
			})
			return false
		})
		small = append(small, b)
	}
	for _, format := range formats {
		clean := map[int]bool{0: true}
		for i := range small {
			end := len(write(t, format, otlpfile.Logs, small[:i+1]))
			clean[end] = true
			if format == otlpfile.JSON {
				clean[end-1] = true // the line break is not needed
			}
		}
		for c := otlpfile.None; c <= otlpfile.Gzip; c++ {
			file := compressed(t, c, write(t, format, otlpfile.Logs, small))
			for cut := range len(file) {
				r, err := otlpfile.Open(bytes.NewReader(file[:cut]), format, otlpfile.Logs, otlpfile.WithName("x"+map[otlpfile.Compression]string{
					otlpfile.None: "", otlpfile.Zstd: ".zst", otlpfile.Gzip: ".gz"}[c]))
				if err == nil {
					_, err = readAll(r)
				}
				if c == otlpfile.None && clean[cut] {
					require.NoError(t, err, "%s cut at %d", format, cut)
					continue
				}
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s %s cut at %d", format, c, cut)
				require.NotErrorIs(t, err, otlpfile.ErrRead)
			}
		}
	}
}

// Errors state the format, the signal, the part, the line and the byte.
func TestErrorText(t *testing.T) {
	part := func(body ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	good := part(0x0a, 2, 0x12, 0)
	f := func(file []byte, format otlpfile.Format, signal otlpfile.Signal, cause error, text string) {
		t.Helper()
		r, err := otlpfile.Open(bytes.NewReader(file), format, signal, otlpfile.WithMaxPart(1000), otlpfile.WithBatchSize(1))
		if err == nil {
			_, err = readAll(r)
			_, again := r.Next()
			require.Equal(t, err, again, "an error stays")
		}
		require.ErrorIs(t, err, cause)
		require.EqualError(t, err, "otlpfile: "+text)
		var e *otlpfile.Error
		require.ErrorAs(t, err, &e)
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

	f(join(good, []byte{0, 0}), otlpfile.Parts, otlpfile.Traces, io.ErrUnexpectedEOF,
		"otlp-parts traces part 2, byte 8: the file ends after 2 of the 4 bytes of a length (head -c 8 of the file keeps the parts before it): unexpected EOF")
	f(join(good, []byte{0, 0, 0, 9, 1, 2, 3}), otlpfile.Parts, otlpfile.Traces, io.ErrUnexpectedEOF,
		"otlp-parts traces part 2, byte 8: the file ends after 3 of the 9 bytes of a part (head -c 8 of the file keeps the parts before it): unexpected EOF")
	f(join(good, []byte{0xff, 0, 0, 0, 1}), otlpfile.Parts, otlpfile.Traces, otlpfile.ErrTooLarge,
		"otlp-parts traces part 2, byte 8: over the limit: a part has 4278190080 bytes, at most 1000 are allowed")
	// The field resource_spans has 12 bytes, scope_spans 10, spans 8, and trace_id 4.
	span := []byte{0x0a, 12, 0x12, 10, 0x12, 8, 0x30, 1, 0x0a, 4, 1, 2, 3, 4}
	f(join(good, part(span...)), otlpfile.Parts, otlpfile.Traces, otlpfile.ErrCorrupt,
		"otlp-parts traces part 2, byte 22: corrupt: Span.trace_id has 4 bytes, not 16")
	f(join([]byte{0x0a, 0, 0x0a, 0}, span), otlpfile.Proto, otlpfile.Traces, otlpfile.ErrCorrupt,
		"otlp traces entry 3, byte 14: corrupt: Span.trace_id has 4 bytes, not 16")
	f(join([]byte{0x0a, 0}, span[:7]), otlpfile.Proto, otlpfile.Traces, io.ErrUnexpectedEOF,
		"otlp traces entry 2, byte 2: the file ends inside the entry that begins here (head -c 2 of the file keeps the entries before it): unexpected EOF")
	f([]byte{0x0a, 0xff, 0xff, 0x7f}, otlpfile.Proto, otlpfile.Traces, otlpfile.ErrTooLarge,
		"otlp traces entry 1, byte 0: over the limit: an entry has 2097151 bytes, at most 1000 are allowed")
	f(part(0x0a, 1, 0x07), otlpfile.Parts, otlpfile.Logs, otlpfile.ErrCorrupt,
		"otlp-parts logs part 1, byte 6: corrupt: ResourceLogs has the invalid field number 0")
	f(part(0x0b), otlpfile.Parts, otlpfile.Logs, otlpfile.ErrCorrupt,
		"otlp-parts logs part 1, byte 5: corrupt: unknown wire type 3")
	f(part(0x08, 1), otlpfile.Parts, otlpfile.Logs, otlpfile.ErrCorrupt,
		"otlp-parts logs part 1, byte 5: corrupt: LogsData.resource_logs has wire type 0, not 2")
	f(part(0x0a, 5, 0x12), otlpfile.Parts, otlpfile.Logs, io.ErrUnexpectedEOF,
		"otlp-parts logs part 1, byte 4: LogsData.resource_logs has 5 bytes, only 1 remain: unexpected EOF")

	f([]byte("{}\n\n{\"resourceLogs\": [}"), otlpfile.JSON, otlpfile.Logs, io.ErrUnexpectedEOF,
		"otlp-json logs message 2, line 3, byte 4: the file ends inside the message that begins here (head -c 4 of the file keeps the messages before it): unexpected EOF")
	f([]byte("{}\n{}\n"+strings.Repeat("\x00", 100_000)), otlpfile.JSON, otlpfile.Logs, io.ErrUnexpectedEOF,
		"otlp-json logs message 3, line 3, byte 6: the file ends in zeros, as after a crash of the machine (head -c 6 of the file keeps the messages before it): unexpected EOF")
	f([]byte("{}\n{}\n\x00\x00{}"), otlpfile.JSON, otlpfile.Logs, otlpfile.ErrCorrupt,
		"otlp-json logs message 3, line 3, byte 6: corrupt: '\\x00' is not the start of a message")
	f([]byte("{\"resourceLogs\": [}"), otlpfile.JSON, otlpfile.Logs, io.ErrUnexpectedEOF,
		"otlp-json logs message 1, line 1, byte 0: the file ends inside the message that begins here: unexpected EOF")
	f([]byte("{}\n{\"resourceLogs\":\n[,]}"), otlpfile.JSON, otlpfile.Logs, otlpfile.ErrCorrupt,
		"otlp-json logs message 2, line 3, byte 22: corrupt: invalid character ',' looking for beginning of value")
	f([]byte("{}\n[1]"), otlpfile.JSON, otlpfile.Logs, otlpfile.ErrCorrupt,
		"otlp-json logs message 2, line 2, byte 3: corrupt: '[' is not the start of a message")
	f([]byte("{\"resourceLogs\":[{\n\"\":1,\"scopeLogs\":[]}]}"), otlpfile.JSON, otlpfile.Logs, otlpfile.ErrCorrupt,
		"otlp-json logs message 1, line 2, byte 20: corrupt: a field without a name")
	f([]byte("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\n\"traceId\":\"zz\"}]}]}]}"), otlpfile.JSON, otlpfile.Logs, otlpfile.ErrCorrupt,
		`otlp-json logs message 1, line 2, byte 59: corrupt: traceId "zz" is not 32 hexadecimal digits`)
	f([]byte(`{"resourceSpans":[]}`), otlpfile.JSON, otlpfile.Logs, otlpfile.ErrSignal,
		"otlp-json logs message 1, line 1, byte 0: signal: it holds traces")
	f([]byte(`{"resources":[]}`), otlpfile.JSON, otlpfile.Logs, otlpfile.ErrCorrupt,
		`otlp-json logs message 1, line 1, byte 0: corrupt: no field resourceMetrics, resourceSpans or resourceLogs; the first is "resources"`)
	f([]byte(`{"resourceLogs":[`+strings.Repeat(" ", 1000)+"]}"), otlpfile.JSON, otlpfile.Logs, otlpfile.ErrTooLarge,
		"otlp-json logs message 1, line 1, byte 0: over the limit: a message of more than 1000 bytes")

	f([]byte("STEF"), otlpfile.FormatUnknown, otlpfile.Logs, otlpfile.ErrFormat,
		"logs byte 0: unknown format: the content is not otlp-parts, otlp or otlp-json")
	f(good, otlpfile.Parts, otlpfile.SignalUnknown, otlpfile.ErrSignal,
		"otlp-parts byte 0: signal: neither name nor content tells metrics, traces or logs")
	for _, begin := range []string{"{", " {\n\"", `{"resou`, `{"resource_logs`} {
		f([]byte(begin), otlpfile.JSON, otlpfile.SignalUnknown, io.ErrUnexpectedEOF, "otlp-json byte 0: the file ends before it names its signal: unexpected EOF")
	}
	for _, other := range []string{`{"a":1`, `{"resourceLog"`, "{}"} {
		f([]byte(other), otlpfile.JSON, otlpfile.SignalUnknown, otlpfile.ErrSignal,
			"otlp-json byte 0: signal: the file is JSON, but not OTLP: it has no resourceMetrics, resourceSpans or resourceLogs")
	}
	f([]byte{0, 0, 0, 9, 0x0a}, otlpfile.Parts, otlpfile.SignalUnknown, io.ErrUnexpectedEOF,
		"otlp-parts part 1, byte 0: the file ends after 1 of the 9 bytes of a part, and nothing is before it: unexpected EOF")
	f([]byte{0, 0}, otlpfile.Parts, otlpfile.SignalUnknown, io.ErrUnexpectedEOF,
		"otlp-parts part 1, byte 0: the file ends after 2 of the 4 bytes of a length, and nothing is before it: unexpected EOF")
	f([]byte{0x28, 0xb5, 0x2f}, otlpfile.Parts, otlpfile.Logs, io.ErrUnexpectedEOF,
		"otlp-parts logs byte 0: the file ends after 3 bytes, inside the header of a compressed file: unexpected EOF")
}

// For a compressed file, errors say that offsets are those of the decompressed content. If
// each message is compressed alone, errors name no line, because the file does not have the
// lines of the content.
func TestErrorTextOfCompressed(t *testing.T) {
	const text = "{}\n" + `{"resourceLogs":[1]}`
	for want, options := range map[string][]otlpfile.ReaderOption{
		"message 2, line 2, byte 3: ":                             nil,
		"message 2, line 2, byte 3 of the decompressed content: ": {otlpfile.WithUnpacked()},
		"message 2, byte 3 of the decompressed content: ":         {otlpfile.WithUnpacked(), otlpfile.WithoutLines()},
	} {
		r, err := otlpfile.Open(strings.NewReader(text), otlpfile.JSON, otlpfile.Traces, options...)
		require.NoError(t, err)
		_, err = readAll(r)
		require.EqualError(t, err, "otlpfile: otlp-json traces "+want+"signal: it holds logs")
	}
}

// pdata detects a type error inside JSON; the error states its place.
func TestBadJSONValue(t *testing.T) {
	text := "{}\n" + `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"soon"}]}]}]}`
	r, err := otlpfile.Open(strings.NewReader(text), otlpfile.JSON, otlpfile.Logs)
	require.NoError(t, err)
	_, err = readAll(r)
	require.ErrorIs(t, err, otlpfile.ErrCorrupt)
	var e *otlpfile.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, [3]int{2, 2, strings.Index(text, `oon"`) + 3}, [3]int{e.Part, e.Line, int(e.Offset)})
}

// A file of one signal is not read as another signal, even if its bytes are
// valid for the other signal.
func TestWrongSignal(t *testing.T) {
	for signal, file := range files {
		batches, err := readAll(open(t, file))
		require.NoError(t, err)
		for _, format := range formats {
			content := write(t, format, signal, batches[:2])
			for other := otlpfile.Metrics; other <= otlpfile.Logs; other++ {
				if other == signal {
					continue
				}
				r, err := otlpfile.Open(bytes.NewReader(content), format, other)
				require.NoError(t, err)
				_, err = r.Next()
				require.ErrorIs(t, err, otlpfile.ErrSignal, "%s %s as %s", format, signal, other)
				require.ErrorContains(t, err, "it holds "+signal.String())
			}
		}
	}
}

// Values may be nested, but only to a depth that cannot exhaust the stack of a reader. The limit
// is the same in each format and at each place.
func TestNesting(t *testing.T) {
	kinds := map[string]func(pcommon.Value, int) pcommon.Value{
		"arrays": func(v pcommon.Value, _ int) pcommon.Value { return v.SetEmptySlice().AppendEmpty() },
		"maps":   func(v pcommon.Value, _ int) pcommon.Value { return v.SetEmptyMap().PutEmpty("k") },
	}
	kinds["both"] = func(v pcommon.Value, i int) pcommon.Value {
		return kinds[[]string{"arrays", "maps"}[i%2]](v, i)
	}
	places := map[string]func() (pcommon.Value, otlpfile.Batch){
		"body": func() (pcommon.Value, otlpfile.Batch) {
			ld := plog.NewLogs()
			lr := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
			return lr.Body(), otlpfile.LogsBatch(ld)
		},
		"event": func() (pcommon.Value, otlpfile.Batch) {
			td := ptrace.NewTraces()
			span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			return span.Events().AppendEmpty().Attributes().PutEmpty("k"), otlpfile.TracesBatch(td)
		},
		"exemplar": func() (pcommon.Value, otlpfile.Batch) { // the most messages around a value
			md := pmetric.NewMetrics()
			m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
			e := m.SetEmptySum().DataPoints().AppendEmpty().Exemplars().AppendEmpty()
			return e.FilteredAttributes().PutEmpty("k"), otlpfile.MetricsBatch(md)
		},
	}
	for kind, into := range kinds {
		for place, start := range places {
			for _, levels := range []int{otlpfile.MaxValueDepth, otlpfile.MaxValueDepth + 1} {
				v, b := start()
				for i := range levels {
					v = into(v, i)
				}
				v.SetStr("text")
				for _, format := range formats {
					file := write(t, format, b.Signal, []otlpfile.Batch{b})
					r, err := otlpfile.Open(bytes.NewReader(file), format, b.Signal)
					require.NoError(t, err)
					got, err := readAll(r)
					if levels > otlpfile.MaxValueDepth {
						require.ErrorIs(t, err, otlpfile.ErrTooLarge, "%s in %s, %s", kind, place, format)
						continue
					}
					require.NoError(t, err, "%s in %s, %s", kind, place, format)
					require.Len(t, got, 1)
					require.True(t, sameMessage(t, b, got[0]), "%s in %s, %s", kind, place, format)
				}
			}
		}
	}
	unknown := `{"resourceLogs":[],"more":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}\n"
	_, err := readAll(open(t, []byte(unknown)))
	require.NoError(t, err, "unknown fields have no values")
}

func sameMessage(t *testing.T, a, b otlpfile.Batch) bool {
	x, err := a.Marshal()
	require.NoError(t, err)
	y, err := b.Marshal()
	require.NoError(t, err)
	return bytes.Equal(x, y)
}

// Parts over the memory limit are refused before they are read, and no memory
// is reserved for a claimed length before its bytes arrive.
func TestLimits(t *testing.T) {
	traces, err := readAll(open(t, fixtures.Traces()))
	require.NoError(t, err)
	largest := 0
	for _, b := range traces {
		largest = max(largest, (&ptrace.ProtoMarshaler{}).TracesSize(b.Traces))
	}
	for _, format := range formats[:2] {
		file := write(t, format, otlpfile.Traces, traces)
		limit := largest
		if format == otlpfile.Parts {
			_, err = readAll(open(t, file, otlpfile.WithMaxPart(limit)))
			require.NoError(t, err)
			limit--
		} else {
			limit -= 10 // the entry is the part without its tag and length
		}
		_, err = readAll(open(t, file, otlpfile.WithMaxPart(limit)))
		require.ErrorIs(t, err, otlpfile.ErrTooLarge)
	}

	claim := []byte{0x0f, 0xff, 0xff, 0xff, 0x0a, 0}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := otlpfile.Open(bytes.NewReader(claim), otlpfile.Parts, otlpfile.Traces)
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "of the claimed 268 million bytes")
}

// Damage inside a compressed file is reported as bad content, not as a failed
// source.
func TestDamagedCompression(t *testing.T) {
	file := bytes.Clone(fixtures.Logs())
	file[len(file)/2] ^= 0xff
	_, err := readAll(open(t, file))
	require.ErrorIs(t, err, otlpfile.ErrCorrupt)
	require.NotErrorIs(t, err, otlpfile.ErrRead)

	zipped := gzipped(t, []byte(`{"resourceLogs":[]}`))
	_, err = otlpfile.Open(bytes.NewReader(zipped[:5]), otlpfile.JSON, otlpfile.Logs)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	zipped[len(zipped)-6] ^= 1        // the checksum
	_, err = readAll(open(t, zipped)) // the message is read before its checksum
	require.ErrorIs(t, err, otlpfile.ErrCorrupt)

	// The zstd window of this file needs 512 MiB.
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithSingleSegment(false))
	require.NoError(t, err)
	for range 20 {
		_, err = z.Write(make([]byte, 1<<20))
		require.NoError(t, err)
		require.NoError(t, z.Flush())
	}
	require.NoError(t, z.Close())
	r, err := otlpfile.Open(&out, otlpfile.Parts, otlpfile.Logs)
	if err == nil {
		_, err = readAll(r)
	}
	require.ErrorIs(t, err, otlpfile.ErrTooLarge)
}

func TestBadArguments(t *testing.T) {
	none := strings.NewReader("")
	f := func(_ any, err error) {
		t.Helper()
		require.Error(t, err)
	}
	f(otlpfile.Open(none, otlpfile.Format(9), otlpfile.Logs))
	f(otlpfile.Open(none, otlpfile.Parts, otlpfile.Signal(9)))
	f(otlpfile.NewWriter(io.Discard, otlpfile.FormatUnknown, otlpfile.Logs))
	f(otlpfile.NewWriter(io.Discard, otlpfile.Parts, otlpfile.SignalUnknown))
}

type brokenWriter struct{ after int }

var errDisk = errors.New("the disk is full")

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.after -= len(b); w.after < 0 {
		return 0, errDisk
	}
	return len(b), nil
}

// Write or Close reports a write failure. A second Close returns nil, and later
// Writes fail.
func TestWriterErrors(t *testing.T) {
	traces, err := readAll(open(t, fixtures.Traces()))
	require.NoError(t, err)
	for _, format := range formats {
		w, err := otlpfile.NewWriter(&brokenWriter{after: 100}, format, otlpfile.Traces)
		require.NoError(t, err)
		for _, b := range traces {
			if err = w.Write(b); err != nil {
				require.Equal(t, err, w.Write(b))
				break
			}
		}
		closed := w.Close()
		require.ErrorIs(t, closed, errDisk, format)
		if err != nil {
			require.ErrorIs(t, err, errDisk)
			require.ErrorContains(t, err, fmt.Sprintf("writing %s traces", format))
		}
		require.NoError(t, w.Close())
		require.Error(t, w.Write(traces[0]))
	}

	w, err := otlpfile.NewWriter(io.Discard, otlpfile.Parts, otlpfile.Traces)
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(otlpfile.MetricsBatch(pmetric.NewMetrics())), otlpfile.ErrSignal)
	require.ErrorIs(t, w.Write(otlpfile.Batch{}), otlpfile.ErrSignal)
	require.NoError(t, w.Write(otlpfile.TracesBatch(traces[0].Traces)), "a wrong batch does not harm the file")
	require.NoError(t, w.Close())
}

// The advice for a cut file says whether its offset is in the file or in the uncompressed content.
func TestCutCompressed(t *testing.T) {
	content := "{}\n{\"resourceLogs\": ["
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	f := func(file, of string, options ...otlpfile.ReaderOption) {
		t.Helper()
		r, err := otlpfile.Open(strings.NewReader(file), otlpfile.JSON, otlpfile.Logs, options...)
		require.NoError(t, err)
		_, err = readAll(r)
		require.ErrorContains(t, err, "(head -c 3 of the "+of+" keeps the messages before it)")
	}
	f(content, "file")
	f(packed.String(), "uncompressed file")
	f(content, "uncompressed file", otlpfile.WithUnpacked())
}

// If the file may have several signals, an error names the signal of its message, or no signal if
// the message cannot be read.
func TestErrorNamesItsSignal(t *testing.T) {
	part := func(length int, body ...byte) string {
		return string(append(binary.BigEndian.AppendUint32(nil, uint32(length)), body...))
	}
	const metrics = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{"asInt":"1"}]}}]}]}]}` + "\n"
	for _, c := range []struct {
		text string
		f    otlpfile.Format
		want string
	}{
		{metrics + `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"zz"}]}]}]}` + "\n", otlpfile.JSON, "otlp-json logs message 2, line 2, "},
		{metrics + `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{"asInt":"z"}]}}]}]}]}` + "\n", otlpfile.JSON, "otlp-json metrics message 2, line 2, "},
		{metrics + "{\"resourceLogs\":[,]}\n", otlpfile.JSON, "otlp-json message 2, line 2, "},
		{metrics + "{\"resourceLogs\":[", otlpfile.JSON, "otlp-json message 2, line 2, "},
		{part(9, 1, 2), otlpfile.Parts, "otlp-parts part 1, "},
	} {
		r, err := otlpfile.Open(strings.NewReader(c.text), c.f, otlpfile.Metrics, otlpfile.WithOtherSignals())
		require.NoError(t, err)
		for err == nil {
			_, err = r.Next()
		}
		require.ErrorContains(t, err, c.want)
		r.Close()
	}
}
