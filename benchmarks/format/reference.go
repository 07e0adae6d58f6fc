// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"errors"
	"io"

	refotel "github.com/splunk/stef/go/otel/otelstef"
	refpdata "github.com/splunk/stef/go/pdata/metrics"
	reftraces "github.com/splunk/stef/go/pdata/traces"
	refpkg "github.com/splunk/stef/go/pkg"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Reference is the reference implementation of STEF, for metrics and traces. It
// has no logs and cannot convert spans back to pdata, so our reader decodes
// streams of spans.
func Reference(order Order) Format { return reference{order} }

// ReferenceVersion is the version of the reference implementation in go.mod. Published figures may be of an
// older version, which data.txt names.
const ReferenceVersion = "v0.1.1"

type reference struct{ order Order }

func (f reference) Name() string { return "STEF reference " + f.order.String() }

func (reference) Setup() string {
	return "splunk/stef/go " + ReferenceVersion + ", its own schema and defaults, one stream, a flush after each batch; it converts no logs, and no spans to pdata: our reader decodes its spans"
}

func (reference) Own() string {
	return "zstd (its default level and window), one context over the stream"
}
func (reference) Drops(signal otlpfile.Signal) string {
	metrics := ""
	if has(signal, otlpfile.Metrics) {
		metrics = "metadata of metrics, flags of points, "
	}
	return "what its schema does not have: entity references, " + metrics + "the sign of zero in dictionary structs"
}
func (reference) Stateful() bool { return true }

// Counted marks a format for Check: Check compares only the number of items, not their content.
func (reference) Counted() {}

// Carries reports whether the reference implementation supports the signal.
func (f reference) Carries(signal otlpfile.Signal) bool {
	// Sorted traces are not measured: the sorted converter of the reference implementation changes
	// the traces that it converts.
	return signal == otlpfile.Metrics || signal == otlpfile.Traces && f.order == Ordered
}

// chunks is the destination of the streams of the reference implementation.
type chunks struct{ bytes.Buffer }

func (c *chunks) WriteChunk(header, content []byte) error {
	c.Write(header)
	c.Write(content)
	return nil
}

type referenceEncoder struct {
	out    *chunks
	encode func(otlpfile.Batch) error
	sent   bool
}

func (f reference) NewEncoder(signal otlpfile.Signal, own bool) (Encoder, error) {
	options := refpkg.WriterOptions{}
	if own {
		options.Compression = refpkg.CompressionZstd
	}
	e := &referenceEncoder{out: &chunks{}}
	switch {
	case signal == otlpfile.Metrics:
		w, err := refotel.NewMetricsWriter(e.out, options)
		if err != nil {
			return nil, err
		}
		c := refpdata.NewOtlpToStef(bool(f.order))
		e.encode = func(b otlpfile.Batch) error { return errors.Join(c.Convert(b.Metrics, w), w.Flush()) }
	case f.Carries(signal):
		w, err := refotel.NewSpansWriter(e.out, options)
		if err != nil {
			return nil, err
		}
		c := &reftraces.OtlpToStefUnsorted{}
		e.encode = func(b otlpfile.Batch) error { return errors.Join(c.Convert(b.Traces, w), w.Flush()) }
	default:
		return nil, dataset.ErrSignal
	}
	return e, nil
}

func (e *referenceEncoder) Encode(b otlpfile.Batch) ([]byte, error) {
	if e.sent {
		e.out.Reset()
	}
	e.sent = true
	err := e.encode(b)
	return e.out.Bytes(), err
}

func (e *referenceEncoder) Prepare(b otlpfile.Batch) (Native, error) { return b, nil }
func (e *referenceEncoder) EncodeNative(n Native) ([]byte, error) {
	return e.Encode(n.(otlpfile.Batch))
}
func (e *referenceEncoder) Close() {}

func (f reference) NewDecoder(signal otlpfile.Signal, own bool) (Decoder, error) {
	switch {
	case signal == otlpfile.Metrics:
		return &referenceDecoder{}, nil
	case f.Carries(signal):
		return STEF(f.order).NewDecoder(signal, own)
	}
	return nil, dataset.ErrSignal
}

type referenceDecoder struct {
	in bytes.Buffer
	r  *refotel.MetricsReader
	c  refpdata.StefToOtlpUnsorted
}

func (d *referenceDecoder) feed(message []byte) (err error) {
	d.in.Write(message)
	if d.r == nil {
		d.r, err = refotel.NewMetricsReader(struct{ io.Reader }{&d.in})
	}
	return err
}

func (d *referenceDecoder) Decode(message []byte) (otlpfile.Batch, error) {
	all := dataset.New(otlpfile.Metrics)
	if err := d.feed(message); err != nil {
		return all, err
	}
	for {
		md, err := d.c.Convert(d.r, false)
		if md.DataPointCount() > 0 {
			dataset.MoveAll(all, otlpfile.MetricsBatch(md))
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if d.in.Len() == 0 {
			return all, nil
		}
	}
}

func (d *referenceDecoder) DecodeNative(message []byte) (int, error) {
	if err := d.feed(message); err != nil {
		return 0, err
	}
	n := 0
	for {
		err := d.r.Read(refpkg.ReadOptions{})
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n++
	}
}

func (d *referenceDecoder) Close() {}
