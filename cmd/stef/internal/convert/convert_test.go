// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
	"github.com/otelstef/stef/lake"
	stef "github.com/otelstef/stef/stef-go"
)

// run converts data.
func run(data []byte, o convert.Options) ([]byte, *convert.Result, error) {
	in, err := file.Open("-", bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	var out bytes.Buffer
	res, err := convert.Run(in, &out, o)
	return out.Bytes(), res, err
}

func mustRun(t *testing.T, data []byte, o convert.Options) ([]byte, *convert.Result) {
	t.Helper()
	out, res, err := run(data, o)
	require.NoError(t, err)
	return out, res
}

// recording returns the first parts of a recording.
func recording(t testing.TB, signal otlpfile.Signal, n int) []byte {
	t.Helper()
	all := map[otlpfile.Signal]func() []byte{
		otlpfile.Metrics: fixtures.Metrics, otlpfile.Traces: fixtures.Traces, otlpfile.Logs: fixtures.Logs,
	}[signal]()
	parts, err := fixtures.Parts(all)
	require.NoError(t, err)
	var data []byte
	for _, p := range parts[:n] {
		data = append(binary.BigEndian.AppendUint32(data, uint32(len(p))), p...)
	}
	return data
}

// items is OTLP data by signal.
type items struct {
	metrics []pmetric.Metrics
	traces  []ptrace.Traces
	logs    []plog.Logs
}

// itemsOf reads OTLP of any format.
func itemsOf(t *testing.T, data []byte) (all *items, batches int) {
	t.Helper()
	r, err := otlpfile.Open(bytes.NewReader(data), otlpfile.FormatUnknown, otlpfile.SignalUnknown)
	require.NoError(t, err)
	defer r.Close()
	all = &items{}
	for {
		b, err := r.Next()
		if err == io.EOF {
			return all, batches
		}
		require.NoError(t, err)
		batches++
		switch b.Signal {
		case otlpfile.Metrics:
			all.metrics = append(all.metrics, b.Metrics)
		case otlpfile.Traces:
			all.traces = append(all.traces, b.Traces)
		default:
			all.logs = append(all.logs, b.Logs)
		}
	}
}

// count returns the number of items.
func (i *items) count() int {
	return canon.Metrics(i.metrics...).Len() + canon.Traces(i.traces...).Len() + canon.Logs(i.logs...).Len()
}

// requireSame requires that want and got have the same items. If sorted is true, it ignores the order
// of items and of attributes.
func requireSame(t *testing.T, want, got *items, sorted bool) {
	t.Helper()
	o := canon.Options{SortAttributes: sorted}
	if !sorted {
		require.Empty(t, o.DiffOrderedMetrics(o.MergeMetrics(want.metrics...), o.MergeMetrics(got.metrics...)))
		require.Empty(t, o.DiffOrderedTraces(o.MergeTraces(want.traces...), o.MergeTraces(got.traces...)))
		require.Empty(t, o.DiffOrderedLogs(o.MergeLogs(want.logs...), o.MergeLogs(got.logs...)))
		return
	}
	require.Empty(t, canon.Diff(o.Metrics(want.metrics...), o.Metrics(got.metrics...)))
	require.Empty(t, canon.Diff(o.Traces(want.traces...), o.Traces(got.traces...)))
	require.Empty(t, canon.Diff(o.Logs(want.logs...), o.Logs(got.logs...)))
}

var signals = []otlpfile.Signal{otlpfile.Metrics, otlpfile.Traces, otlpfile.Logs}

// Telemetry that is converted to STEF and back is unchanged in every format, mode
// and compression. The order is unchanged if the mode keeps the order.
func TestFileRoundTrip(t *testing.T) {
	for _, signal := range signals {
		data := recording(t, signal, 20)
		f := func(to convert.Format, o convert.Options) {
			t.Helper()
			packed, res := mustRun(t, data, o)
			require.Equal(t, convert.OTLPParts, res.From)
			require.Equal(t, convert.STEF, res.To)
			require.Equal(t, signal, res.Root.Signal)
			require.Equal(t, 20, res.PartsIn)
			frames := res.PartsOut

			back, res := mustRun(t, packed, convert.Options{To: to})
			require.Equal(t, convert.STEF, res.From)
			require.Equal(t, to, res.To)
			require.Equal(t, signal, res.Root.Signal)
			require.Equal(t, frames, res.PartsIn)
			require.Equal(t, frames, res.PartsOut)

			sorted := o.Mode == convert.Sorted || o.Mode == convert.DefaultMode && signal != otlpfile.Logs
			want, batches := itemsOf(t, data)
			got, again := itemsOf(t, back)
			requireSame(t, want, got, sorted)
			require.EqualValues(t, want.count(), res.Items)
			require.LessOrEqual(t, again, batches) // batches without items are dropped
		}
		f(convert.OTLPParts, convert.Options{Mode: convert.Ordered})
		f(convert.OTLPParts, convert.Options{Mode: convert.Sorted, Compression: stef.Zstd})
		f(convert.OTLPJSON, convert.Options{Compression: stef.Zstd, Level: stef.LevelFastest})
		f(convert.OTLP, convert.Options{Mode: convert.Ordered, To: convert.STEF, From: convert.OTLPParts})
	}
}

// Every OTLP format can be converted to every other OTLP format.
func TestRewrite(t *testing.T) {
	formats := []convert.Format{convert.OTLPParts, convert.OTLP, convert.OTLPJSON}
	for _, signal := range signals {
		data := recording(t, signal, 10)
		want, _ := itemsOf(t, data)
		for _, from := range formats {
			first, res := mustRun(t, data, convert.Options{To: from})
			require.EqualValues(t, want.count(), res.Items)
			for _, to := range formats {
				second, res := mustRun(t, first, convert.Options{From: from, To: to})
				require.Equal(t, from, res.From)
				require.Equal(t, to, res.To)
				got, _ := itemsOf(t, second)
				requireSame(t, want, got, false)
			}
		}
	}
}

func TestFormatOfNames(t *testing.T) {
	data := recording(t, otlpfile.Logs, 1)
	packed, _ := mustRun(t, data, convert.Options{})
	f := func(data []byte, name string, want convert.Format, compression string) {
		t.Helper()
		out, res := mustRun(t, data, convert.Options{OutName: name})
		require.Equal(t, want, res.To)
		in, err := file.Open("-", bytes.NewReader(out))
		require.NoError(t, err)
		require.Equal(t, compression, in.Packed)
		_, err = io.Copy(io.Discard, in)
		require.NoError(t, err)
	}
	f(data, "", convert.STEF, "")
	f(data, "-", convert.STEF, "")
	f(data, "x.stef", convert.STEF, "")
	f(data, "x.STEF.gz", convert.STEF, "gzip")
	f(data, "x.parts", convert.OTLPParts, "")
	f(packed, "x.otlp-parts.zst", convert.OTLPParts, "zstd")
	f(packed, "x.otlp", convert.OTLPParts, "")
	f(packed, "x.otlp.zst", convert.OTLPParts, "zstd")
	f(packed, "x.json", convert.OTLPJSON, "")
	f(packed, "x.jsonl.gz", convert.OTLPJSON, "gzip")
	f(packed, "x.pb", convert.OTLP, "")
	f(packed, "x.stef", convert.STEF, "")
}

// Unsupported conversions are refused before anything is written.
func TestUnsupported(t *testing.T) {
	metrics := recording(t, otlpfile.Metrics, 2)
	packed, _ := mustRun(t, metrics, convert.Options{})
	logs, _ := mustRun(t, recording(t, otlpfile.Logs, 1), convert.Options{})
	f := func(data []byte, o convert.Options, want string) {
		t.Helper()
		out, _, err := run(data, o)
		require.ErrorIs(t, err, convert.ErrUnsupported)
		require.EqualError(t, err, want)
		require.Empty(t, out)
	}
	f(packed, convert.Options{}, "standard output is stef, and so is the input: add --to stef, otlp-parts, otlp, otlp-json, parquet or arrow")
	f(metrics, convert.Options{OutName: "a.avro"}, "cannot tell the format from the name a.avro: "+
		"add --to stef, otlp-parts, otlp, otlp-json, parquet or arrow, or end the name in .stef, .parquet, .arrow, .otlp, .pb or .json (also .arrows, .parts, .otlp-parts, .binpb, .jsonl, .ndjson)")
	f(logs, convert.Options{To: convert.STEF, Schema: convert.Reference}, "there is no reference schema of logs: use --schema full")
	f(recording(t, otlpfile.Logs, 1), convert.Options{Schema: convert.Reference}, "there is no reference schema of logs: use --schema full")
	f(packed, convert.Options{To: convert.OTLP, StreamFlags: []string{"--level"}}, "--level works only for an output of format stef, and this is otlp")
	f(packed, convert.Options{To: convert.Parquet, StreamFlags: []string{"--mode"}}, "--mode works only for an output of format stef, and this is parquet; "+
		"for sorted items, convert to a .stef file with --mode sorted, and that file to parquet")
}

// The error for bad content names the file and the place of the error in it.
func TestBadContent(t *testing.T) {
	parts := recording(t, otlpfile.Metrics, 3)
	packed, _ := mustRun(t, parts, convert.Options{Compression: stef.Zstd})
	f := func(data []byte, o convert.Options, want string) {
		t.Helper()
		_, _, err := run(data, o)
		var bad *file.ContentError
		require.ErrorAs(t, err, &bad)
		require.Contains(t, err.Error(), "standard input: ")
		require.Contains(t, err.Error(), want)
	}
	f([]byte("hello"), convert.Options{}, "has none of the formats stef, otlp-parts, otlp, otlp-json, stef-parts, parquet or arrow")
	f(nil, convert.Options{}, "the file is empty")
	f(parts[:len(parts)-1], convert.Options{}, "part 3, byte ")
	f(packed[:len(packed)-1], convert.Options{To: convert.OTLP}, "frame 3 at offset ")
	f(packed[:len(packed)-1], convert.Options{To: convert.STEF}, "frame 3 at offset ")
	f(parts, convert.Options{From: convert.STEF, To: convert.OTLP}, "is not the signature of a STEF stream")
	f(packed, convert.Options{From: convert.OTLPParts, To: convert.OTLP}, "otlp-parts")
	f(parts, convert.Options{Root: stream.RootOf(otlpfile.Logs)}, "it holds metrics")
	f(packed, convert.Options{To: convert.OTLP, Root: stream.RootOf(otlpfile.Logs)}, "it holds metrics, not logs: leave --signal out")
	f([]byte("{\"resourceMetrics\":[{]}\n"), convert.Options{}, "line 1")
}

// Failures of the source and of the destination are distinguished from bad content.
func TestFailingFiles(t *testing.T) {
	failure := errors.New("the disk is gone")
	parts := recording(t, otlpfile.Traces, 3)
	packed, _ := mustRun(t, parts, convert.Options{Compression: stef.Zstd})
	var failed *file.Error
	for _, data := range [][]byte{parts, packed} {
		for _, n := range []int{0, 3, 100, len(data) - 1} {
			in, err := file.Open("-", io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(failure)))
			if err == nil {
				_, err = convert.Run(in, io.Discard, convert.Options{To: convert.STEF})
			}
			require.ErrorAs(t, err, &failed, "%d", n)
			require.EqualError(t, err, "standard input: the disk is gone")
		}
		for _, o := range []convert.Options{
			{To: convert.STEF}, {To: convert.STEF, Compression: stef.Zstd}, {To: convert.OTLPParts}, {To: convert.OTLPJSON},
			{To: convert.OTLP, OutName: "x.zst"}, {To: convert.STEF, OutName: "x.gz"},
		} {
			whole, _ := mustRun(t, data, o)
			for _, n := range []int{0, 5, len(whole) / 2, len(whole) - 1} {
				in, err := file.Open("-", bytes.NewReader(data))
				require.NoError(t, err)
				_, err = convert.Run(in, file.Standard(&full{n, failure}), o)
				require.ErrorAs(t, err, &failed, "%+v, %d bytes", o, n)
				require.ErrorContains(t, err, "standard output: the disk is gone")
			}
		}
	}
}

// full is an io.Writer that accepts n bytes and then fails.
type full struct {
	n   int
	err error
}

func (f *full) Write(b []byte) (int, error) {
	n := min(f.n, len(b))
	f.n -= n
	if n < len(b) {
		return n, f.err
	}
	return n, nil
}

// An item that STEF cannot represent ends the conversion, unless Options.Skip is set.
func TestSkip(t *testing.T) {
	md := pmetric.NewMetrics()
	points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
	for i := range 3 {
		points.AppendEmpty().SetIntValue(int64(i))
	}
	for i := range stef.MaxPairs + 1 {
		points.At(1).Attributes().PutInt(fmt.Sprint(i), 1)
	}
	body, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	data := append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)

	_, _, err = run(data, convert.Options{})
	require.ErrorIs(t, err, stef.ErrLimit)
	require.ErrorContains(t, err, "standard input: part 1: ")
	require.ErrorContains(t, err, "item 1: ")

	packed, res := mustRun(t, data, convert.Options{Skip: true})
	require.EqualValues(t, 2, res.Items)
	require.EqualValues(t, 1, res.Skipped)
	require.Len(t, res.Reasons, 1)
	require.ErrorIs(t, res.Reasons[0], stef.ErrLimit)
	_, res = mustRun(t, packed, convert.Options{To: convert.OTLP})
	require.EqualValues(t, 2, res.Items)
}

// An item that a table cannot hold ends the conversion, unless Options.Skip is set.
func TestSkipOfTables(t *testing.T) {
	md := pmetric.NewMetrics()
	points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyExponentialHistogram().DataPoints()
	for i := range 3 {
		points.AppendEmpty().SetCount(uint64(i))
	}
	points.At(1).Positive().BucketCounts().FromRaw(make([]uint64, 15_000_001))
	body, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	for _, to := range []convert.Format{convert.Parquet, convert.Arrow} {
		_, _, err = run(body, convert.Options{To: to})
		require.ErrorIs(t, err, lake.ErrLimit)
		require.ErrorContains(t, err, "item 2 has 15000001 elements")
		require.ErrorContains(t, err, "; stef convert --skip omits such items and counts them")

		table, res := mustRun(t, body, convert.Options{To: to, Skip: true})
		require.EqualValues(t, 2, res.Items)
		require.EqualValues(t, 1, res.Skipped)
		require.Len(t, res.Reasons, 1)
		require.ErrorIs(t, res.Reasons[0], lake.ErrLimit)
		if to == convert.Arrow {
			_, res = mustRun(t, table, convert.Options{To: convert.OTLP})
			require.EqualValues(t, 2, res.Items)
		}
	}
}

// Data that the reference schema cannot represent is counted.
func TestLosses(t *testing.T) {
	md := pmetric.NewMetrics()
	md.ResourceMetrics().AppendEmpty()
	points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
	points.AppendEmpty().SetIntValue(1)
	p := points.AppendEmpty()
	p.SetIntValue(1)
	p.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
	body, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	_, res := mustRun(t, body, convert.Options{})
	require.Equal(t, []string{"1 resource, scope or metric without items"}, res.Losses)
	full, _ := mustRun(t, body, convert.Options{})
	_, res = mustRun(t, body, convert.Options{Schema: convert.Reference})
	require.Equal(t, `values of 1 point with the flag "no recorded value"`, res.Losses[len(res.Losses)-1])
	_, res = mustRun(t, full, convert.Options{To: convert.STEF, Schema: convert.Reference})
	require.Equal(t, []string{`values of 1 point with the flag "no recorded value"`}, res.Losses)
}

// A large part is split into several frames, and all its items are converted.
func TestLargePart(t *testing.T) {
	md := pmetric.NewMetrics()
	points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
	for i := range 80 {
		points.AppendEmpty().Attributes().PutStr("k", strings.Repeat(string(rune('a'+i%26)), 100_000+i))
	}
	body, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	packed, res := mustRun(t, body, convert.Options{From: convert.OTLP})
	require.Equal(t, 1, res.PartsIn)
	require.Greater(t, res.PartsOut, 1)
	back, res := mustRun(t, packed, convert.Options{To: convert.OTLPParts})
	require.Greater(t, res.PartsOut, 1)
	want, _ := itemsOf(t, body)
	got, _ := itemsOf(t, back)
	requireSame(t, want, got, true)
}

func TestParse(t *testing.T) {
	for _, name := range []string{"stef", "otlp-parts", "otlp", "otlp-json"} {
		f, err := convert.ParseFormat(name, false)
		require.NoError(t, err)
		require.Equal(t, name, f.String())
	}
	_, err := convert.ParseFormat("unknown", true)
	require.EqualError(t, err, `must be one of stef, otlp-parts, otlp, otlp-json, parquet or arrow`)
	_, err = convert.ParseFormat("unknown", false)
	require.EqualError(t, err, `must be one of stef, otlp-parts, otlp, otlp-json, stef-parts, parquet or arrow`)
	for _, name := range []string{"ordered", "sorted"} {
		m, err := convert.ParseMode(name)
		require.NoError(t, err)
		require.Equal(t, name, m.String())
	}
	_, err = convert.ParseMode("default")
	require.Error(t, err)
}

// An item that is too large for a Reader of OTLP is omitted, and the others are written.
func TestItemTooLargeForOTLP(t *testing.T) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	records.AppendEmpty().Body().SetStr("small")
	records.AppendEmpty().Body().SetStr(strings.Repeat("a", otlpfile.DefaultMaxPart))
	var out bytes.Buffer
	w, err := convert.NewBatchWriter(&out, "logs.otlp", otlpfile.Logs)
	require.NoError(t, err)
	require.NoError(t, w.Write(otlpfile.LogsBatch(ld)))
	require.EqualValues(t, 1, w.Skipped)
	require.NoError(t, w.Write(otlpfile.LogsBatch(ld)))
	require.NoError(t, w.Close())
	require.Equal(t, 2, strings.Count(out.String(), "small"))
}

// JSON writes a control character with six bytes, so a record may be too large only in JSON.
func TestSkipItemTooLargeForJSON(t *testing.T) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	records.AppendEmpty().Body().SetStr("small")
	records.AppendEmpty().Body().SetStr(strings.Repeat("\x01", otlpfile.DefaultMaxPart/6))
	data, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	require.NoError(t, err)
	o := convert.Options{From: convert.OTLP, To: convert.OTLPJSON, Root: stream.RootOf(otlpfile.Logs)}
	_, _, err = run(data, o)
	require.ErrorIs(t, err, otlpfile.ErrTooLarge)
	require.ErrorContains(t, err, "stef convert --skip omits such items and counts them")
	o.Skip = true
	out, res, err := run(data, o)
	require.NoError(t, err)
	require.Equal(t, [2]uint64{1, 1}, [2]uint64{res.Items, res.Skipped})
	require.Contains(t, string(out), "small")
}
