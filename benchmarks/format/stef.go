// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"errors"
	"io"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// STEF is one stream for all batches with a flush after each batch, in the
// compact form, which two ends of this project use by default.
func STEF(order Order) Format { return stefFormat{order: order, compact: true} }

// STEFFull is STEF in the full schema, whose fields hold the values of the items
// themselves. A Go program that writes records uses it.
func STEFFull(order Order) Format { return stefFormat{order: order} }

// STEFAt is STEF with a level of zstd, and with or without templates of logs.
func STEFAt(order Order, level stef.Level, templates stefpdata.Templates) Format {
	return stefFormat{order: order, compact: true, writer: []stef.WriterOption{stef.WithCompressionLevel(level)}, encoder: []stefpdata.EncoderOption{stefpdata.WithTemplates(templates)}}
}

// STEFOptimized is STEF with the settings of the exporter for a choice of
// optimize_for.
func STEFOptimized(of otlpfile.Signal, o stefexporter.Optimization) (Format, error) {
	c := stefexporter.NewFactory().CreateDefaultConfig().(*stefexporter.Config).Stef
	o.Apply(&c)
	level := autoLevels[of]
	if c.CompressionLevel != "auto" {
		var err error
		if level, err = stef.ParseLevel(c.CompressionLevel); err != nil {
			return nil, err
		}
	}
	return stefFormat{order: Ordered, compact: true, writer: []stef.WriterOption{stef.WithCompressionLevel(level)}, encoder: c.EncoderOptions(of.String())}, nil
}

// autoLevels are the levels of zstd that the exporter selects by itself.
var autoLevels = map[otlpfile.Signal]stef.Level{
	otlpfile.Metrics: signal.Metrics.CompactLevel,
	otlpfile.Traces:  signal.Traces.CompactLevel,
	otlpfile.Logs:    signal.Logs.CompactLevel,
}

type stefFormat struct {
	order   Order
	compact bool
	writer  []stef.WriterOption
	encoder []stefpdata.EncoderOption
}

func (f stefFormat) Name() string {
	if f.compact {
		return "STEF " + f.order.String()
	}
	return "STEF full " + f.order.String()
}

func (f stefFormat) Setup() string {
	form := "full schema"
	if f.compact {
		form = "compact form (prepared records: full schema)"
	}
	return "stefpdata.WithMode(" + f.order.String() + "), " + form + ", all else as shipped; one stream, a flush after each batch"
}

// plain is the same format in the full schema.
func (f stefFormat) plain() stefFormat {
	f.compact = false
	return f
}

// compactRoots are the schemas with the fields of the compact form.
var compactRoots = map[otlpfile.Signal]func() *schema.Struct{
	otlpfile.Metrics: otelstef.MetricsCompactRoot,
	otlpfile.Traces:  otelstef.SpansCompactRoot,
	otlpfile.Logs:    otelstef.LogsCompactRoot,
}

func (stefFormat) Own() string {
	return "zstd (level default, window 1 MiB), one context over the stream"
}
func (stefFormat) Drops() string  { return "resources, scopes and metrics without items" }
func (stefFormat) Stateful() bool { return true }

func (f stefFormat) options() []stefpdata.EncoderOption {
	mode := stefpdata.Ordered
	if f.order == Sorted {
		mode = stefpdata.Sorted
	}
	return append([]stefpdata.EncoderOption{stefpdata.WithMode(mode)}, f.encoder...)
}

func (f stefFormat) NewEncoder(signal otlpfile.Signal, own bool) (Encoder, error) {
	var options []stef.WriterOption
	if root := compactRoots[signal]; f.compact && root != nil {
		options = append(options, stef.WithSchema(schema.WireOf(root())))
	}
	if own {
		options = append(options, stef.WithCompression(stef.Zstd))
		options = append(options, f.writer...)
	}
	out := new(bytes.Buffer)
	switch signal {
	case otlpfile.Metrics:
		w, err := otelstef.NewMetricsWriter(out, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewMetricsEncoder(w, f.options()...)
		return &stefEncoder[*metricGroups]{f: f, signal: signal, own: own, out: out, w: w, prepare: prepareMetrics,
			encode: func(b otlpfile.Batch) error { return e.Encode(b.Metrics) },
			write:  func(g *metricGroups) error { return g.write(w) }}, nil
	case otlpfile.Traces:
		w, err := otelstef.NewSpansWriter(out, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewTracesEncoder(w, f.options()...)
		return &stefEncoder[[]*otelstef.Spans]{f: f, signal: signal, own: own, out: out, w: w, prepare: prepareSpans,
			encode: func(b otlpfile.Batch) error { return e.Encode(b.Traces) },
			write:  func(records []*otelstef.Spans) error { return writeSpans(w, records) }}, nil
	case otlpfile.Logs:
		w, err := otelstef.NewLogsWriter(out, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewLogsEncoder(w, f.options()...)
		return &stefEncoder[[]*otelstef.Logs]{f: f, signal: signal, own: own, out: out, w: w, prepare: prepareLogs,
			encode: func(b otlpfile.Batch) error { return e.Encode(b.Logs) },
			write:  func(records []*otelstef.Logs) error { return writeLogs(w, records) }}, nil
	default:
		return nil, dataset.ErrSignal
	}
}

// stefEncoder writes a stream with native values of type N.
type stefEncoder[N any] struct {
	f      stefFormat
	signal otlpfile.Signal
	own    bool
	out    *bytes.Buffer
	w      interface {
		Flush() error
		Close() error
	}
	encode  func(otlpfile.Batch) error
	prepare func(stream []byte) (N, error)
	write   func(N) error
	// sent is set when out holds a message that was already returned. Before
	// that out holds the headers, which are sent with the first message.
	sent bool
	// full writes the prepared records of a compact format: records hold plain values,
	// and only the converters of pdata create the compact form.
	full Encoder
}

func (e *stefEncoder[N]) Encode(b otlpfile.Batch) ([]byte, error) {
	e.begin()
	return e.flush(e.encode(b))
}

func (e *stefEncoder[N]) EncodeNative(n Native) (_ []byte, err error) {
	if e.f.compact {
		if e.full == nil {
			if e.full, err = e.f.plain().NewEncoder(e.signal, e.own); err != nil {
				return nil, err
			}
		}
		return e.full.EncodeNative(n)
	}
	e.begin()
	return e.flush(e.write(n.(N)))
}

func (e *stefEncoder[N]) begin() {
	if e.sent {
		e.out.Reset()
	}
	e.sent = true
}

func (e *stefEncoder[N]) flush(err error) ([]byte, error) {
	if err == nil {
		err = e.w.Flush()
	}
	return e.out.Bytes(), err
}

// Prepare encodes the batch into a separate stream and copies its records, which is the
// shortest way from pdata to records.
func (e *stefEncoder[N]) Prepare(b otlpfile.Batch) (Native, error) {
	other, err := e.f.plain().NewEncoder(b.Signal, false)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	stream, err := other.Encode(b)
	if err != nil {
		return nil, err
	}
	return e.prepare(stream)
}

// Close frees the memory of a writer. It ignores the error, which is that of an
// in-memory buffer.
func (e *stefEncoder[N]) Close() {
	_ = e.w.Close()
	if e.full != nil {
		e.full.Close()
	}
}

func (f stefFormat) NewDecoder(signal otlpfile.Signal, _ bool) (Decoder, error) {
	switch signal {
	case otlpfile.Metrics:
		return &stefDecoder[pmetric.Metrics]{signal: signal,
			open: func(src io.Reader) (stefReader, func() (pmetric.Metrics, error), error) {
				r, err := otelstef.NewMetricsReader(src)
				if err != nil {
					return nil, nil, err
				}
				return r, stefpdata.NewMetricsDecoder(r).Decode, nil
			}, batch: otlpfile.MetricsBatch}, nil
	case otlpfile.Traces:
		return &stefDecoder[ptrace.Traces]{signal: signal,
			open: func(src io.Reader) (stefReader, func() (ptrace.Traces, error), error) {
				r, err := otelstef.NewSpansReader(src)
				if err != nil {
					return nil, nil, err
				}
				return r, stefpdata.NewTracesDecoder(r).Decode, nil
			}, batch: otlpfile.TracesBatch}, nil
	case otlpfile.Logs:
		return &stefDecoder[plog.Logs]{signal: signal,
			open: func(src io.Reader) (stefReader, func() (plog.Logs, error), error) {
				r, err := otelstef.NewLogsReader(src)
				if err != nil {
					return nil, nil, err
				}
				return r, stefpdata.NewLogsDecoder(r).Decode, nil
			}, batch: otlpfile.LogsBatch}, nil
	default:
		return nil, dataset.ErrSignal
	}
}

// stefReader has the methods that readers of all records share.
type stefReader interface {
	Next() bool
	Err() error
	BufferedRecords() uint64
	Stats() stef.ReaderStats
	Close()
}

// stefDecoder reads a stream to pdata of type P. It creates the reader with the
// first message, because creating the reader reads the headers.
type stefDecoder[P any] struct {
	signal otlpfile.Signal
	open   func(src io.Reader) (stefReader, func() (P, error), error)
	batch  func(P) otlpfile.Batch
	in     bytes.Buffer
	fed    int64
	r      stefReader
	decode func() (P, error)
}

func (d *stefDecoder[P]) feed(message []byte) (err error) {
	d.in.Write(message)
	d.fed += int64(len(message))
	if d.r == nil {
		// Not a *bytes.Buffer, which would look like the whole stream to the
		// reader.
		d.r, d.decode, err = d.open(struct{ io.Reader }{&d.in})
	}
	return err
}

// more reports whether the messages so far contain unread data.
func (d *stefDecoder[P]) more() bool { return d.r.BufferedRecords() > 0 || d.r.Stats().Bytes < d.fed }

// Decode returns an empty batch for an empty message, which is the encoding of
// a batch without items.
func (d *stefDecoder[P]) Decode(message []byte) (all otlpfile.Batch, err error) {
	if err := d.feed(message); err != nil {
		return all, err
	}
	all = dataset.New(d.signal)
	for d.more() {
		p, err := d.decode()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return all, err
		}
		dataset.MoveAll(all, d.batch(p))
	}
	return all, nil
}

func (d *stefDecoder[P]) DecodeNative(message []byte) (int, error) {
	if err := d.feed(message); err != nil {
		return 0, err
	}
	n := 0
	for d.more() && d.r.Next() {
		n++
	}
	return n, d.r.Err()
}

func (d *stefDecoder[P]) Close() {
	if d.r != nil {
		d.r.Close()
	}
}
