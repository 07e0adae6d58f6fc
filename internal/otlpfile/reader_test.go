// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/internal/teltest/canon"
)

var (
	formats = []otlpfile.Format{otlpfile.Parts, otlpfile.Proto, otlpfile.JSON}
	files   = map[otlpfile.Signal][]byte{
		otlpfile.Metrics: fixtures.Metrics(), otlpfile.Traces: fixtures.Traces(), otlpfile.Logs: fixtures.Logs(),
	}
)

// readAll reads a file to its end; the batches do not reference the reader's
// memory.
func readAll(r *otlpfile.Reader) (all []otlpfile.Batch, err error) {
	defer r.Close()
	for {
		b, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		b.OTLP = nil
		all = append(all, b)
	}
}

func open(t *testing.T, file []byte, opts ...otlpfile.ReaderOption) *otlpfile.Reader {
	t.Helper()
	r, err := otlpfile.Open(bytes.NewReader(file), otlpfile.FormatUnknown, otlpfile.SignalUnknown, opts...)
	require.NoError(t, err)
	return r
}

func write(t testing.TB, f otlpfile.Format, s otlpfile.Signal, batches []otlpfile.Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := otlpfile.NewWriter(&out, f, s)
	require.NoError(t, err)
	for _, b := range batches {
		require.NoError(t, w.Write(b))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func compressed(t testing.TB, c otlpfile.Compression, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch c {
	case otlpfile.Zstd:
		z, err := zstd.NewWriter(&out)
		require.NoError(t, err)
		w = z
	case otlpfile.Gzip:
		w = gzip.NewWriter(&out)
	default:
		return content
	}
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// diff joins the batches of each side into one and compares both sides, in order.
func diff(want, got []otlpfile.Batch) string {
	switch want[0].Signal {
	case otlpfile.Metrics:
		var a, b []pmetric.Metrics
		for _, x := range want {
			a = append(a, x.Metrics)
		}
		for _, x := range got {
			b = append(b, x.Metrics)
		}
		return canon.DiffOrderedMetrics(canon.Options{}.MergeMetrics(a...), canon.Options{}.MergeMetrics(b...))
	case otlpfile.Traces:
		var a, b []ptrace.Traces
		for _, x := range want {
			a = append(a, x.Traces)
		}
		for _, x := range got {
			b = append(b, x.Traces)
		}
		return canon.DiffOrderedTraces(canon.Options{}.MergeTraces(a...), canon.Options{}.MergeTraces(b...))
	default:
		var a, b []plog.Logs
		for _, x := range want {
			a = append(a, x.Logs)
		}
		for _, x := range got {
			b = append(b, x.Logs)
		}
		return canon.DiffOrderedLogs(canon.Options{}.MergeLogs(a...), canon.Options{}.MergeLogs(b...))
	}
}

func items(batches []otlpfile.Batch) (n int) {
	for _, b := range batches {
		n += b.Items()
	}
	return n
}

// For every format and compression, reading returns what was written, and the
// format is recognised without being given.
func TestRoundTrip(t *testing.T) {
	for signal, file := range files {
		want, err := readAll(open(t, file))
		require.NoError(t, err)
		require.Greater(t, items(want), 2000)
		for _, format := range formats {
			for c := otlpfile.None; c <= otlpfile.Gzip; c++ {
				packed := compressed(t, c, write(t, format, signal, want))
				r := open(t, packed)
				require.Equal(t, format, r.Format(), "%s %s", signal, c)
				require.Equal(t, signal, r.Signal(), "%s %s", format, c)
				require.Equal(t, c, r.Compression())
				got, err := readAll(r)
				require.NoError(t, err)
				require.Empty(t, diff(want, got), "%s %s %s", format, signal, c)
				if format == otlpfile.Proto {
					require.Len(t, got, 1, "a small message is one batch")
				} else {
					require.Len(t, got, len(want))
				}
			}
		}
	}
}

// Batches of a file of parts are written as they were read, byte for byte, as
// parts and as one message.
func TestBytesPassThrough(t *testing.T) {
	for signal, file := range files {
		parts, err := fixtures.Parts(file)
		require.NoError(t, err)
		for _, format := range formats[:2] {
			var out bytes.Buffer
			w, err := otlpfile.NewWriter(&out, format, signal)
			require.NoError(t, err)
			r := open(t, file)
			for i := 0; ; i++ {
				b, err := r.Next()
				if err == io.EOF {
					require.Equal(t, len(parts), i)
					break
				}
				require.NoError(t, err)
				require.Equal(t, parts[i], b.OTLP)
				require.NoError(t, w.Write(b))
			}
			require.NoError(t, w.Close())
			if format == otlpfile.Proto {
				require.True(t, bytes.Equal(bytes.Join(parts, nil), out.Bytes()))
			} else {
				z, err := zstd.NewReader(bytes.NewReader(file))
				require.NoError(t, err)
				raw, err := io.ReadAll(z)
				require.NoError(t, err)
				require.True(t, bytes.Equal(raw, out.Bytes()))
			}
		}
	}
}

// A file that is one message is read in batches of bounded size.
func TestBatchSize(t *testing.T) {
	for signal, file := range files {
		want, err := readAll(open(t, file))
		require.NoError(t, err)
		one := write(t, otlpfile.Proto, signal, want)
		var joined []byte
		r := open(t, one, otlpfile.WithBatchSize(150_000))
		batches := 0
		for {
			b, err := r.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			require.LessOrEqual(t, len(b.OTLP), 150_000)
			joined = append(joined, b.OTLP...)
			batches++
		}
		require.Greater(t, batches, len(one)/150_000)
		require.True(t, bytes.Equal(one, joined))

		got, err := readAll(open(t, one, otlpfile.WithBatchSize(1)))
		require.NoError(t, err)
		require.Len(t, got, len(want), "one entry each, as it was recorded")
		require.Empty(t, diff(want, got))
	}
}

// Each JSON message may be on its own line or on several lines, or all may be on one line.
func TestJSONLayouts(t *testing.T) {
	one := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a } ] \" \\"}}]}]}]}`
	many := "{\n  \"resourceLogs\": [\n    {\"scopeLogs\": [{\"logRecords\": [{\"eventName\": \"b\"}]}]}\n  ]\n}"
	f := func(text string, want ...int) {
		t.Helper()
		r, err := otlpfile.Open(iotest.OneByteReader(strings.NewReader(text)), otlpfile.JSON, otlpfile.Logs)
		require.NoError(t, err)
		got, err := readAll(r)
		require.NoError(t, err)
		var counts []int
		for _, b := range got {
			counts = append(counts, b.Items())
		}
		require.Equal(t, want, counts)
	}
	f("")
	f("\n \n")
	f(one, 1)
	f(one+"\n", 1)
	f(many, 1)
	f("\r\n"+one+"\r\n"+many+"\r\n\r\n"+one, 1, 1, 1)
	f(one+one+"{}"+many, 1, 1, 0, 1)
}

// A file of several signals is read as a file of one signal. The items of the other
// signals are counted, or cause an error.
func TestMixedSignals(t *testing.T) {
	metrics := `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":"1"},{"asInt":"2"}]}}]}]}]}`
	spans := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"},{"name":"b"},{"name":"c"}]}]}]}`
	logs := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"x"}]}]}]}`
	both := strings.TrimSuffix(spans, "}") + "," + strings.TrimPrefix(logs, "{")
	text := strings.Join([]string{metrics, spans, "{}", logs, both, spans}, "\n")

	f := func(s otlpfile.Signal, want []int, skipped [4]uint64) {
		t.Helper()
		r, err := otlpfile.Open(strings.NewReader(text), otlpfile.JSON, s, otlpfile.WithOtherSignals())
		require.NoError(t, err)
		got, err := readAll(r)
		require.NoError(t, err)
		var counts []int
		for _, b := range got {
			counts = append(counts, b.Items())
		}
		require.Equal(t, want, counts)
		for s := otlpfile.Metrics; s <= otlpfile.Logs; s++ {
			require.Equal(t, skipped[s], r.Skipped(s), "%s", s)
		}
	}
	f(otlpfile.Metrics, []int{2, 0}, [4]uint64{otlpfile.Traces: 9, otlpfile.Logs: 2})
	f(otlpfile.Traces, []int{3, 0, 3, 3}, [4]uint64{otlpfile.Metrics: 2, otlpfile.Logs: 2})
	f(otlpfile.Logs, []int{0, 1, 1}, [4]uint64{otlpfile.Metrics: 2, otlpfile.Traces: 9})

	// The same messages as parts, one signal in each part. The part without items counts as
	// traces, like the part before it.
	var parts []byte
	for _, text := range []string{metrics, spans, "{}", logs, spans, metrics} {
		r, err := otlpfile.Open(strings.NewReader(text), otlpfile.JSON, otlpfile.GuessSignal("logs", otlpfile.JSON, []byte(text)))
		require.NoError(t, err)
		got, err := readAll(r)
		require.NoError(t, err)
		parts = append(parts, write(t, otlpfile.Parts, r.Signal(), got)...)
	}
	for _, workers := range []int{1, 4} {
		for s, want := range map[otlpfile.Signal][]int{otlpfile.Metrics: {2, 2}, otlpfile.Traces: {3, 0, 3}, otlpfile.Logs: {1}} {
			r, err := otlpfile.Open(bytes.NewReader(parts), otlpfile.Parts, s, otlpfile.WithOtherSignals(), otlpfile.WithConcurrency(workers))
			require.NoError(t, err)
			got, err := readAll(r)
			require.NoError(t, err)
			var counts []int
			for _, b := range got {
				counts = append(counts, b.Items())
			}
			require.Equal(t, want, counts)
			for other, n := range []uint64{otlpfile.Metrics: 4, otlpfile.Traces: 6, otlpfile.Logs: 1} {
				if s != otlpfile.Signal(other) {
					require.Equal(t, n, r.Skipped(otlpfile.Signal(other)))
				}
			}
			r.Close()
		}
	}

	for _, s := range []otlpfile.Signal{otlpfile.Metrics, otlpfile.Traces} {
		r, err := otlpfile.Open(strings.NewReader(both+spans), otlpfile.JSON, s)
		require.NoError(t, err)
		_, err = readAll(r)
		require.ErrorIs(t, err, otlpfile.ErrSignal)
	}
}

// JSON with field names in snake case is read, too.
func TestSnakeCase(t *testing.T) {
	r := open(t, []byte(`{"resource_spans":[{"scope_spans":[{"spans":[{"name":"x","start_time_unix_nano":"5"}]}]}]}`))
	require.Equal(t, otlpfile.Traces, r.Signal())
	got, err := readAll(r)
	require.NoError(t, err)
	span := got[0].Traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	require.Equal(t, pcommon.Timestamp(5), span.StartTimestamp())
}

// The result does not depend on how a source splits its bytes, and a failing source is
// distinguished from a bad file.
func TestSources(t *testing.T) {
	want, err := readAll(open(t, fixtures.Logs()))
	require.NoError(t, err)
	want = want[:5]
	boom := errors.New("boom")
	for _, format := range formats {
		for c := otlpfile.None; c <= otlpfile.Gzip; c++ {
			file := compressed(t, c, write(t, format, otlpfile.Logs, want))
			for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
				r, err := otlpfile.Open(wrap(bytes.NewReader(file)), format, otlpfile.Logs)
				require.NoError(t, err)
				got, err := readAll(r)
				require.NoError(t, err)
				require.Empty(t, diff(want, got))
			}
			for _, cut := range []int{0, 2, 5, len(file) / 2, len(file) - 1, len(file)} {
				source := io.MultiReader(bytes.NewReader(file[:cut]), iotest.ErrReader(boom))
				r, err := otlpfile.Open(source, format, otlpfile.Logs)
				if err == nil {
					_, err = readAll(r)
				}
				require.ErrorIs(t, err, otlpfile.ErrRead, "%s %s cut at %d", format, c, cut)
				require.ErrorIs(t, err, boom)
				require.NotErrorIs(t, err, otlpfile.ErrCorrupt)
			}
		}
	}
}

// A file without content has no batches if its format is known.
func TestEmpty(t *testing.T) {
	for _, format := range formats {
		r, err := otlpfile.Open(strings.NewReader(""), format, otlpfile.Logs)
		require.NoError(t, err)
		got, err := readAll(r)
		require.NoError(t, err)
		require.Empty(t, got)
	}
	_, err := otlpfile.Open(strings.NewReader(""), otlpfile.FormatUnknown, otlpfile.Logs)
	require.ErrorIs(t, err, otlpfile.ErrFormat)
	_, err = otlpfile.Open(strings.NewReader(""), otlpfile.Parts, otlpfile.SignalUnknown)
	require.ErrorIs(t, err, otlpfile.ErrSignal)
	_, err = otlpfile.Open(strings.NewReader(""), otlpfile.Parts, otlpfile.Logs, otlpfile.WithName("a/logs.otlp.zst"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)

	// A part without content is a batch without items.
	r, err := otlpfile.Open(bytes.NewReader(make([]byte, 8)), otlpfile.FormatUnknown, otlpfile.Metrics)
	require.NoError(t, err)
	require.Equal(t, otlpfile.Parts, r.Format())
	got, err := readAll(r)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Zero(t, items(got))
}

// Concatenated streams are read as one stream.
func TestConcatenated(t *testing.T) {
	logs, err := readAll(open(t, fixtures.Logs()))
	require.NoError(t, err)
	for c := otlpfile.None; c <= otlpfile.Gzip; c++ {
		a := compressed(t, c, write(t, otlpfile.Parts, otlpfile.Logs, logs[:3]))
		b := compressed(t, c, write(t, otlpfile.Parts, otlpfile.Logs, logs[3:7]))
		got, err := readAll(open(t, append(a, b...)))
		require.NoError(t, err)
		require.Empty(t, diff(logs[:7], got))
	}
}

// The large recordings outside the repository are recognised and read.
func TestRealSets(t *testing.T) {
	f := func(signal otlpfile.Signal, want int, elem ...string) {
		t.Run(elem[1], func(t *testing.T) {
			file, err := os.Open(teltest.Data(t, elem...))
			require.NoError(t, err)
			defer file.Close()
			r, err := otlpfile.Open(file, otlpfile.FormatUnknown, otlpfile.SignalUnknown, otlpfile.WithName(filepath.Base(elem[1])))
			require.NoError(t, err)
			require.Equal(t, otlpfile.Parts, r.Format())
			require.Equal(t, signal, r.Signal())
			got, err := readAll(r)
			require.NoError(t, err)
			require.Equal(t, want, items(got))
		})
	}
	f(otlpfile.Logs, 2900, "logs", "cloudtrail-otellogs.zst")
	f(otlpfile.Traces, 86583, "traces", "hipstershop-oteltraces.zst")
	f(otlpfile.Metrics, 66816, "metrics", "hipstershop-otelmetrics.zst")
}

func gzipped(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}
