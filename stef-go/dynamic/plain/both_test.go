// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures/recordings"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/dynamic/plain"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// fast has the generated code of a root, and the writer option for its compact form.
type fast struct {
	*steftest.Root
	compact func() stef.WriterOption
}

var roots = []string{"Metrics", "Spans", "Logs"}

func fastOf(name string) fast {
	switch name {
	case "Metrics":
		return fast{steftest.NewRoot(fullRoot(name), assumed[name], otelstef.NewMetricsWriter, otelstef.NewMetricsReader,
			otelstef.NewMetric, otelstef.NewResource, otelstef.NewScope), otelstef.CompactMetrics}
	case "Spans":
		return fast{steftest.NewRoot(fullRoot(name), assumed[name], otelstef.NewSpansWriter, otelstef.NewSpansReader,
			otelstef.NewResource, otelstef.NewScope), otelstef.CompactSpans}
	}
	return fast{steftest.NewRoot(fullRoot(name), assumed[name], otelstef.NewLogsWriter, otelstef.NewLogsReader,
		otelstef.NewResource, otelstef.NewScope), otelstef.CompactLogs}
}

// requireSame reads a stream with the generated reader and with this package. Both must return the same
// records. Both must return an error, or none. One of them may return it at an earlier record, because a
// reader may detect an error when a frame begins. The comparison ends at a record for which the
// specification defines no result, and at a record over a limit that each reader chooses itself.
// requireSame returns the number of records and the error of this package.
func requireSame(t testing.TB, f fast, stream []byte) (records uint64, err error) {
	t.Helper()
	slow, slowErr := open(bytes.NewReader(stream), f.Schema.Name, dynamic.WithAssumedSchema(f.Base))
	quick, quickErr := f.NewReader(bytes.NewReader(stream))
	if slowErr != nil || quickErr != nil {
		require.Equal(t, slowErr != nil, quickErr != nil, "headers: %v; generated: %v", slowErr, quickErr)
		return 0, slowErr
	}
	defer quick.Close()
	follower := steftest.NewFollower(f.Schema, nil)
	for {
		slowNext, quickNext := slow.Next(), quick.Next()
		slowErr, quickErr = slow.Err(), quick.Err()
		if !slowNext || !quickNext {
			break
		}
		records++
		require.Empty(t, steftest.Diff(slow.Root(), slow.Record(), follower.Next(quick.Record())), "record %d", records)
	}
	for slowErr == nil && slow.Next() {
		slowErr = slow.Err()
	}
	for quickErr == nil && quick.Next() {
		quickErr = quick.Err()
	}
	slowErr, quickErr = slow.Err(), quick.Err()
	if errors.Is(slowErr, plain.ErrUndefined) || errors.Is(slowErr, dynamic.ErrLimit) || errors.Is(quickErr, stef.ErrLimit) {
		return records, slowErr
	}
	require.Equal(t, slowErr != nil, quickErr != nil, "after record %d: %v; generated: %v", records, slowErr, quickErr)
	return records, slowErr
}

// encode writes OTLP messages in the compact form.
func encode(t testing.TB, signal string, parts [][]byte, options ...stef.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder, flush := encoderOf(t, signal, &out, options)
	for _, part := range parts {
		require.NoError(t, encoder(part))
		require.NoError(t, flush())
	}
	return out.Bytes()
}

func encoderOf(t testing.TB, signal string, out io.Writer, options []stef.WriterOption) (encode func([]byte) error, flush func() error) {
	switch signal {
	case "metrics":
		w, err := otelstef.NewMetricsWriter(out, append(options, otelstef.CompactMetrics())...)
		require.NoError(t, err)
		return pdata(new(pmetric.ProtoUnmarshaler).UnmarshalMetrics, stefpdata.NewMetricsEncoder(w).Encode), w.Flush
	case "traces":
		w, err := otelstef.NewSpansWriter(out, append(options, otelstef.CompactSpans())...)
		require.NoError(t, err)
		return pdata(new(ptrace.ProtoUnmarshaler).UnmarshalTraces, stefpdata.NewTracesEncoder(w).Encode), w.Flush
	}
	w, err := otelstef.NewLogsWriter(out, append(options, otelstef.CompactLogs())...)
	require.NoError(t, err)
	return pdata(new(plog.ProtoUnmarshaler).UnmarshalLogs, stefpdata.NewLogsEncoder(w).Encode), w.Flush
}

func pdata[T any](parse func([]byte) (T, error), encode func(T) error) func([]byte) error {
	return func(part []byte) error {
		batch, err := parse(part)
		if err != nil {
			return err
		}
		return encode(batch)
	}
}

var rootOf = map[string]string{"metrics": "Metrics", "traces": "Spans", "logs": "Logs"}

// framings has writer options that divide the same records into frames in different ways.
var framings = map[string][]stef.WriterOption{
	"flush":        nil,
	"zstd":         {stef.WithCompression(stef.Zstd)},
	"dictionaries": {stef.WithDictBytes(4000)},
	"restarts":     {stef.WithRestart(stef.RestartDictionaries), stef.WithFrameBytes(5000)},
	"contained":    {stef.WithRestart(stef.RestartAll), stef.WithFrameBytes(20_000)},
}

// TestRecordings reads recorded telemetry.
func TestRecordings(t *testing.T) {
	for _, recording := range recordings.All() {
		t.Run(recording.FileName(), func(t *testing.T) {
			parts, err := recording.Parts()
			require.NoError(t, err)
			if testing.Short() {
				parts = parts[:min(20, len(parts))]
			}
			f := fastOf(rootOf[recording.Signal])
			for name, options := range framings {
				stream := encode(t, recording.Signal, parts, options...)
				n, err := requireSame(t, f, stream)
				require.NoError(t, err, name)
				require.NotZero(t, n)
			}
		})
	}
}

// seeds returns the number of seeds of a random test: n, or more with STEF_LONG, or fewer with
// -short.
func seeds(n uint64) uint64 {
	switch {
	case os.Getenv("STEF_LONG") != "":
		return 2000
	case testing.Short():
		return 11
	}
	return n
}

// write writes records in the compact form, with random framing.
func (f fast) write(t testing.TB, r *rand.Rand, recs []*dynamic.Struct, options ...stef.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := f.NewWriter(&out, append(options, f.compact())...)
	require.NoError(t, err)
	for _, rec := range recs {
		steftest.Set(w.Record(), f.Schema, rec)
		require.NoError(t, w.Write())
		if r.IntN(8) == 0 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func randomOptions(r *rand.Rand) (options []stef.WriterOption) {
	options = append(options, stef.WithCompression(stef.Compression(r.IntN(2))))
	if r.IntN(2) == 0 {
		options = append(options, stef.WithRestart(stef.FrameFlags(r.IntN(int(stef.RestartAll)+1))))
	}
	if r.IntN(2) == 0 {
		options = append(options, stef.WithFrameBytes(1+r.IntN(400)))
	}
	if r.IntN(2) == 0 {
		options = append(options, stef.WithDictBytes(1+r.IntN(4000)))
	}
	return options
}

// TestRandomRecords reads random records, which contain every type and its edge cases.
func TestRandomRecords(t *testing.T) {
	for _, name := range roots {
		f := fastOf(name)
		for seed := range seeds(100) {
			r := rand.New(rand.NewPCG(seed, 21))
			recs := steftest.Records(seed, f.Schema, 1+r.IntN(60), steftest.Shape{})
			n, err := requireSame(t, f, f.write(t, r, recs, randomOptions(r)...))
			require.NoError(t, err, "%s, seed %d", name, seed)
			require.EqualValues(t, len(recs), n)
		}
	}
}
