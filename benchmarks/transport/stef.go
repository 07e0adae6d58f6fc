// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// root is the schema that exporter and receiver use by default.
func root(signal otlpfile.Signal) *schema.Struct {
	switch signal {
	case otlpfile.Metrics:
		return otelstef.MetricsCompactRoot()
	case otlpfile.Traces:
		return otelstef.SpansCompactRoot()
	default:
		return otelstef.LogsCompactRoot()
	}
}

func (r *run) serveSTEF(signal otlpfile.Signal, options []grpc.ServerOption) (*grpc.Server, error) {
	server, err := stefgrpc.NewServer()
	if err != nil {
		return nil, err
	}
	if err := server.Handle(root(signal), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error { return r.receive(signal, s) })); err != nil {
		return nil, err
	}
	s := grpc.NewServer(options...)
	server.Register(s)
	return s, nil
}

// decoder returns the batches of a stream.
type decoder struct {
	next func() (otlpfile.Batch, error)
	// last is the id of the last record.
	last  func() uint64
	close func()
}

func newDecoder(signal otlpfile.Signal, src io.Reader, options []stef.ReaderOption) (*decoder, error) {
	switch signal {
	case otlpfile.Metrics:
		reader, err := otelstef.NewMetricsReader(src, options...)
		if err != nil {
			return nil, err
		}
		d := stefpdata.NewMetricsDecoder(reader)
		return &decoder{func() (otlpfile.Batch, error) {
			md, err := d.Decode()
			return otlpfile.MetricsBatch(md), err
		}, func() uint64 { return reader.Stats().Records }, reader.Close}, nil
	case otlpfile.Traces:
		reader, err := otelstef.NewSpansReader(src, options...)
		if err != nil {
			return nil, err
		}
		d := stefpdata.NewTracesDecoder(reader)
		return &decoder{func() (otlpfile.Batch, error) {
			td, err := d.Decode()
			return otlpfile.TracesBatch(td), err
		}, func() uint64 { return reader.Stats().Records }, reader.Close}, nil
	case otlpfile.Logs:
		reader, err := otelstef.NewLogsReader(src, options...)
		if err != nil {
			return nil, err
		}
		d := stefpdata.NewLogsDecoder(reader)
		return &decoder{func() (otlpfile.Batch, error) {
			ld, err := d.Decode()
			return otlpfile.LogsBatch(ld), err
		}, func() uint64 { return reader.Stats().Records }, reader.Close}, nil
	}
	return nil, dataset.ErrSignal
}

// receive reads a stream frame by frame. It occupies a worker once a frame has
// begun to arrive, not while the stream is idle.
func (r *run) receive(signal otlpfile.Signal, s *stefgrpc.ServerStream) error {
	src := bufio.NewReader(s)
	d, err := newDecoder(signal, src, s.ReaderOptions())
	if err != nil {
		return err
	}
	defer d.close()
	for {
		if _, err := src.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		err := r.work(func() error {
			b, err := d.next()
			if err == nil {
				r.look(b)
			}
			return err
		})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.AckUpTo(d.last())
	}
}

// stefSender is a stream. It sends without waiting for answers, up to the
// client's default bound in bytes.
type stefSender struct {
	stream *stefgrpc.Stream
	encode func(otlpfile.Batch) error
	flush  func() error
}

func (r *run) openSTEF(ctx context.Context, signal otlpfile.Signal) (*stefSender, error) {
	var calls []grpc.CallOption
	if r.config.Compression == Gzip {
		calls = append(calls, grpc.UseCompressor(string(Gzip)))
	}
	client, err := stefgrpc.NewClient(r.conn, stefgrpc.WithCallOptions(calls...))
	if err != nil {
		return nil, err
	}
	s := &stefSender{}
	if s.stream, err = client.Open(ctx, root(signal)); err != nil {
		return nil, err
	}
	options := s.stream.WriterOptions()
	if r.config.Compression == Zstd {
		options = append(options, stef.WithCompression(stef.Zstd))
	}
	switch signal {
	case otlpfile.Metrics:
		w, err := otelstef.NewMetricsWriter(s.stream, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewMetricsEncoder(w)
		s.encode, s.flush = func(b otlpfile.Batch) error { return e.Encode(b.Metrics) }, w.Flush
	case otlpfile.Traces:
		w, err := otelstef.NewSpansWriter(s.stream, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewTracesEncoder(w)
		s.encode, s.flush = func(b otlpfile.Batch) error { return e.Encode(b.Traces) }, w.Flush
	default:
		w, err := otelstef.NewLogsWriter(s.stream, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewLogsEncoder(w)
		s.encode, s.flush = func(b otlpfile.Batch) error { return e.Encode(b.Logs) }, w.Flush
	}
	return s, nil
}

func (s *stefSender) send(_ context.Context, b otlpfile.Batch) error {
	if err := s.encode(b); err != nil {
		return err
	}
	return s.flush()
}

func (s *stefSender) finish(ctx context.Context) error { return s.stream.AwaitAll(ctx) }

func (s *stefSender) close() { _ = s.stream.Close() }
