// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	refotel "github.com/splunk/stef/go/otel/otelstef"
	refpdata "github.com/splunk/stef/go/pdata/metrics"
	reftraces "github.com/splunk/stef/go/pdata/traces"
	ref "github.com/splunk/stef/go/pkg"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/fixtures/recordings"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// root is a root struct that both implementations have.
type root struct {
	schema *schema.Struct
	wire   schema.WireSchema
	// rewrite reads a stream and writes its records to a new stream. Both use the reference
	// implementation.
	rewrite func(stream []byte, options ref.WriterOptions) ([]byte, error)
}

var (
	metrics = root{otelstef.MetricsRoot(), otelstef.MetricsBaseSchema(), rewriteMetrics}
	spans   = root{otelstef.SpansRoot(), otelstef.SpansBaseSchema(), rewriteSpans}
)

type chunks struct{ bytes.Buffer }

func (c *chunks) WriteChunk(header, content []byte) error {
	c.Write(header)
	c.Write(content)
	return nil
}

const flushEvery = 50

func rewriteMetrics(stream []byte, options ref.WriterOptions) ([]byte, error) {
	r, err := refotel.NewMetricsReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	out := &chunks{}
	w, err := refotel.NewMetricsWriter(out, options)
	if err != nil {
		return nil, err
	}
	return rewriteAll(out, func() error { return r.Read(ref.ReadOptions{}) },
		func() error { w.Record.CopyFrom(&r.Record); return w.Write() }, w.Flush)
}

func rewriteSpans(stream []byte, options ref.WriterOptions) ([]byte, error) {
	r, err := refotel.NewSpansReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	out := &chunks{}
	w, err := refotel.NewSpansWriter(out, options)
	if err != nil {
		return nil, err
	}
	return rewriteAll(out, func() error { return r.Read(ref.ReadOptions{}) },
		func() error { w.Record.CopyFrom(&r.Record); return w.Write() }, w.Flush)
}

func rewriteAll(out *chunks, read, write, flush func() error) ([]byte, error) {
	for n := 1; ; n++ {
		err := read()
		if errors.Is(err, io.EOF) {
			err := flush()
			return out.Bytes(), err
		}
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", n, err)
		}
		if err := write(); err != nil {
			return nil, err
		}
		if n%flushEvery == 0 {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
}

// read returns the records of a stream in the published schema.
func (r root) read(t *testing.T, stream []byte) []*dynamic.Struct {
	t.Helper()
	reader, err := dynamic.NewReader(bytes.NewReader(stream), r.schema, dynamic.WithAssumedSchema(r.wire))
	require.NoError(t, err)
	var all []*dynamic.Struct
	for reader.Next() {
		all = append(all, dynamic.Clone(reader.Record()).(*dynamic.Struct))
	}
	require.NoError(t, reader.Err())
	return all
}

// settings returns all flags of the reference writer, with and without compression, except for
// the combination that TestRestartCompressionWithoutCompression tests.
func settings() []ref.WriterOptions {
	var all []ref.WriterOptions
	for flags := range ref.FrameFlags(8) {
		for _, c := range []ref.Compression{ref.CompressionNone, ref.CompressionZstd} {
			if c == ref.CompressionNone && flags&ref.RestartCompression != 0 {
				continue
			}
			all = append(all, ref.WriterOptions{Compression: c, FrameRestartFlags: flags, IncludeDescriptor: flags%2 == 0})
		}
	}
	return all
}

// roundTrip requires that the reference implementation can rewrite a stream of this repository with any
// flags, and that this repository reads the same records from the result.
func (r root) roundTrip(t *testing.T, stream []byte) {
	t.Helper()
	want := r.read(t, stream)
	require.NotEmpty(t, want)
	for _, s := range settings() {
		back, err := r.rewrite(stream, s)
		require.NoError(t, err)
		require.Empty(t, steftest.DiffAll(r.schema, want, r.read(t, back)), "%+v", s)
	}
}

func oursMetrics(t *testing.T, parts []pmetric.Metrics, mode stefpdata.Mode, options ...stef.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&b, append(options, otelstef.PublishedMetrics())...)
	require.NoError(t, err)
	e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
	for _, md := range parts {
		require.NoError(t, e.Encode(md))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func oursSpans(t *testing.T, parts []ptrace.Traces, mode stefpdata.Mode, options ...stef.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := otelstef.NewSpansWriter(&b, append(options, otelstef.PublishedSpans())...)
	require.NoError(t, err)
	e := stefpdata.NewTracesEncoder(w, stefpdata.WithMode(mode))
	for _, td := range parts {
		require.NoError(t, e.Encode(td))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// load calls the function each with the first parts of every recording of a signal.
func load(t *testing.T, signal string, each func(name string, parts [][]byte)) {
	t.Helper()
	file := map[string][]byte{"metrics": fixtures.Metrics(), "traces": fixtures.Traces()}[signal]
	parts, err := fixtures.Parts(file)
	require.NoError(t, err)
	each("shop", parts[:8])
	for _, r := range recordings.All() {
		if r.Signal == signal {
			parts, err := r.Parts()
			require.NoError(t, err)
			each(r.Program, parts[:min(8, len(parts))])
		}
	}
}

func loadMetrics(t *testing.T, each func(name string, parts []pmetric.Metrics)) {
	t.Helper()
	load(t, "metrics", func(name string, parts [][]byte) {
		var all []pmetric.Metrics
		for _, p := range parts {
			md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(p)
			require.NoError(t, err)
			all = append(all, md)
		}
		each(name, all)
	})
}

func loadTraces(t *testing.T, each func(name string, parts []ptrace.Traces)) {
	t.Helper()
	load(t, "traces", func(name string, parts [][]byte) {
		var all []ptrace.Traces
		for _, p := range parts {
			td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(p)
			require.NoError(t, err)
			all = append(all, td)
		}
		each(name, all)
	})
}

// eachOption calls f with each mode and compression of this repository.
func eachOption(f func(mode stefpdata.Mode, option stef.WriterOption)) {
	for _, mode := range []stefpdata.Mode{stefpdata.Sorted, stefpdata.Ordered} {
		for _, c := range []stef.Compression{stef.None, stef.Zstd} {
			f(mode, stef.WithCompression(c))
		}
	}
}

func TestRealFilesOfOurs(t *testing.T) {
	loadMetrics(t, func(name string, parts []pmetric.Metrics) {
		t.Run("metrics/"+name, func(t *testing.T) {
			eachOption(func(mode stefpdata.Mode, o stef.WriterOption) { metrics.roundTrip(t, oursMetrics(t, parts, mode, o)) })
		})
	})
	loadTraces(t, func(name string, parts []ptrace.Traces) {
		t.Run("traces/"+name, func(t *testing.T) {
			eachOption(func(mode stefpdata.Mode, o stef.WriterOption) { spans.roundTrip(t, oursSpans(t, parts, mode, o)) })
		})
	})
}

// TestRealFilesOfTheReference reads streams that the converters of the reference implementation
// write.
func TestRealFilesOfTheReference(t *testing.T) {
	loadMetrics(t, func(name string, parts []pmetric.Metrics) {
		t.Run("metrics/"+name, func(t *testing.T) {
			for _, sorted := range []bool{false, true} {
				out, items := &chunks{}, 0
				w, err := refotel.NewMetricsWriter(out, ref.WriterOptions{Compression: ref.CompressionZstd})
				require.NoError(t, err)
				c := refpdata.NewOtlpToStef(sorted)
				for _, md := range parts {
					items += md.DataPointCount()
					require.NoError(t, c.Convert(md, w))
					require.NoError(t, w.Flush())
				}
				require.Len(t, metrics.read(t, out.Bytes()), items)
				metrics.roundTrip(t, out.Bytes())
				r, err := otelstef.NewMetricsReader(bytes.NewReader(out.Bytes()))
				require.NoError(t, err)
				n := 0
				for r.Next() {
					n++
				}
				require.NoError(t, r.Err())
				require.Equal(t, items, n, "the generated reader")
			}
		})
	})
	loadTraces(t, func(name string, parts []ptrace.Traces) {
		t.Run("traces/"+name, func(t *testing.T) {
			out, items := &chunks{}, 0
			w, err := refotel.NewSpansWriter(out, ref.WriterOptions{})
			require.NoError(t, err)
			c := &reftraces.OtlpToStefUnsorted{}
			for _, td := range parts {
				items += td.SpanCount()
				require.NoError(t, c.Convert(td, w))
				require.NoError(t, w.Flush())
			}
			require.Len(t, spans.read(t, out.Bytes()), items)
			spans.roundTrip(t, out.Bytes())
		})
	})
}

// TestRandom writes random records in the published schema. The reference implementation reads
// them and writes them again. Records with more than three levels are omitted: when the
// reference copies a record, it loses maps inside attributes of dictionary structs.
func TestRandom(t *testing.T) {
	for name, r := range map[string]root{"metrics": metrics, "spans": spans} {
		t.Run(name, func(t *testing.T) {
			kept, err := schema.Keep(r.schema, r.wire)
			require.NoError(t, err)
			for seed := range uint64(20) {
				var b bytes.Buffer
				w, err := dynamic.NewWriter(&b, r.schema, dynamic.WithSchema(r.wire))
				require.NoError(t, err)
				for _, rec := range steftest.Records(seed, r.schema, 100, steftest.Shape{Depth: 3}) {
					positive(rec)
					require.NoError(t, w.Write(steftest.Cut(r.schema, kept, rec)))
				}
				require.NoError(t, w.Close())
				r.roundTrip(t, b.Bytes())
			}
		})
	}
}
