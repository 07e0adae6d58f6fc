// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/signal/anysignal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// STEF is one stream for all batches, with a flush after each batch. It has the
// compact form, the default of our exporters and receivers, and the level of zstd that the
// exporter selects for this form.
func STEF(order Order) Format { return stefFormat{order: order, compact: true} }

// STEFFull is STEF in the full schema: fields hold the values themselves, not differences or
// templates. Go programs that write records use it.
func STEFFull(order Order) Format { return stefFormat{order: order} }

// STEFAt is STEF with a level of zstd, and with or without templates of logs.
func STEFAt(order Order, level stef.Level, templates stefpdata.Templates) Format {
	return stefFormat{order: order, compact: true, writer: []stef.WriterOption{stef.WithCompressionLevel(level)}, encoder: []stefpdata.EncoderOption{stefpdata.WithTemplates(templates)}}
}

// STEFOptimized is STEF with the settings that the exporter selects for a value of optimize_for.
func STEFOptimized(of otlpfile.Signal, o stefexporter.Optimization) (Format, error) {
	c := stefexporter.NewFactory().CreateDefaultConfig().(*stefexporter.Config).Stef
	o.Apply(&c)
	level := anysignal.Of(of).CompactLevel
	if c.CompressionLevel != "auto" {
		var err error
		if level, err = stef.ParseLevel(c.CompressionLevel); err != nil {
			return nil, err
		}
	}
	return stefFormat{order: Ordered, compact: true, writer: []stef.WriterOption{stef.WithCompressionLevel(level)}, encoder: c.EncoderOptions(of.String())}, nil
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

func (f stefFormat) plain() stefFormat {
	f.compact = false
	return f
}

func (f stefFormat) Own() string {
	level := "default"
	if f.compact {
		level = exporterLevels()
	}
	return "zstd (level " + level + "; window 1 MiB), one context over the stream"
}

// exporterLevels names the levels that the exporter selects for the compact form.
func exporterLevels() string {
	var levels []string
	for _, of := range otlpfile.Signals() {
		levels = append(levels, anysignal.Of(of).CompactLevel.String()+" for "+of.String())
	}
	return "of the exporter: " + strings.Join(levels, ", ")
}

func (stefFormat) Drops(s otlpfile.Signal) string { return withoutItems(s) }
func (stefFormat) Stateful() bool                 { return true }

func (f stefFormat) options() []stefpdata.EncoderOption {
	mode := stefpdata.Ordered
	if f.order == Sorted {
		mode = stefpdata.Sorted
	}
	return append([]stefpdata.EncoderOption{stefpdata.WithMode(mode)}, f.encoder...)
}

func (f stefFormat) NewEncoder(of otlpfile.Signal, own bool) (Encoder, error) {
	switch of {
	case otlpfile.Metrics:
		return newSTEFEncoder(f, of, own, prepareMetrics, (*metricGroups).write)
	case otlpfile.Traces:
		return newSTEFEncoder(f, of, own, prepareRecords(otelstef.NewSpansReader, otelstef.NewSpans), writeSpans)
	case otlpfile.Logs:
		return newSTEFEncoder(f, of, own, prepareRecords(otelstef.NewLogsReader, otelstef.NewLogs), writeLogs)
	default:
		return nil, dataset.ErrSignal
	}
}

// newSTEFEncoder starts a stream. write writes native values to a writer of type W.
func newSTEFEncoder[N, W any](f stefFormat, of otlpfile.Signal, own bool, prepare func(stream []byte) (N, error), write func(N, W) error) (Encoder, error) {
	d := anysignal.Of(of)
	var options []stef.WriterOption
	if f.compact {
		options = append(options, stef.WithSchema(schema.WireOf(d.Compact())))
	}
	if own {
		options = append(options, stef.WithCompression(stef.Zstd))
		if f.compact {
			options = append(options, stef.WithCompressionLevel(d.CompactLevel))
		}
		options = append(options, f.writer...)
	}
	out := new(bytes.Buffer)
	e, err := d.NewEncoder(out, f.options(), options...)
	if err != nil {
		return nil, err
	}
	return &stefEncoder[N]{f: f, signal: of, own: own, out: out, encoder: e, prepare: prepare,
		write: func(n N) error { return write(n, e.Writer.(W)) }}, nil
}

// stefEncoder writes a stream with native values of type N.
type stefEncoder[N any] struct {
	f       stefFormat
	signal  otlpfile.Signal
	own     bool
	out     *bytes.Buffer
	encoder *signal.Encoder[otlpfile.Batch]
	prepare func(stream []byte) (N, error)
	write   func(N) error
	// sent is set after the first message. Before the first message, out holds only the headers,
	// which are sent with this message.
	sent bool
	// full encodes prepared records for a format in the compact form, because prepared records are in
	// the full schema.
	full Encoder
}

func (e *stefEncoder[N]) Encode(b otlpfile.Batch) ([]byte, error) {
	e.begin()
	return e.flush(e.encoder.Encode(b))
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
		err = e.encoder.Writer.Flush()
	}
	return e.out.Bytes(), err
}

// Prepare encodes the batch into a separate stream and copies the records of this stream. This
// needs less code than another converter from pdata to records.
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

// Close frees the memory of a writer. It ignores the error, because writing to memory cannot
// fail.
func (e *stefEncoder[N]) Close() {
	_ = e.encoder.Writer.Close()
	if e.full != nil {
		e.full.Close()
	}
}

func (f stefFormat) NewDecoder(of otlpfile.Signal, _ bool) (Decoder, error) {
	d := anysignal.Of(of)
	if d == nil {
		return nil, dataset.ErrSignal
	}
	return &stefDecoder{signal: d}, nil
}

// stefDecoder reads a stream to pdata. It creates the reader with the first message,
// because creating the reader reads the headers.
type stefDecoder struct {
	signal *anysignal.Descriptor
	in     bytes.Buffer
	fed    int64
	r      *signal.Decoder[otlpfile.Batch] // nil before the first message
}

func (d *stefDecoder) feed(message []byte) (err error) {
	d.in.Write(message)
	d.fed += int64(len(message))
	if d.r == nil {
		// Hide the type: the reader would read a *bytes.Buffer as the whole
		// stream.
		d.r, err = d.signal.NewDecoder(struct{ io.Reader }{&d.in}, nil)
	}
	return err
}

// more reports whether the messages so far contain unread data.
func (d *stefDecoder) more() bool {
	return d.r.Reader.BufferedRecords() > 0 || d.r.Reader.Stats().Bytes < d.fed
}

// Decode returns an empty batch for an empty message, which is the encoding of
// a batch without items. If a message has several batches, which a receiver would pass on one
// by one, Decode joins them.
func (d *stefDecoder) Decode(message []byte) (all otlpfile.Batch, err error) {
	if err := d.feed(message); err != nil {
		return all, err
	}
	for n := 0; d.more(); n++ {
		b, err := d.r.Decode()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return all, err
		}
		if n == 0 {
			all = b
		} else {
			d.signal.MoveTo(b, all)
		}
	}
	if all.Signal == otlpfile.SignalUnknown {
		all = d.signal.New()
	}
	return all, nil
}

func (d *stefDecoder) DecodeNative(message []byte) (int, error) {
	if err := d.feed(message); err != nil {
		return 0, err
	}
	n := 0
	for d.more() && d.r.Reader.Next() {
		n++
	}
	return n, d.r.Reader.Err()
}

func (d *stefDecoder) Close() {
	if d.r != nil {
		d.r.Reader.Close()
	}
}
