// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/signal/anysignal"
	stef "github.com/otelstef/stef/stef-go"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

func (r *run) serveSTEF(signal otlpfile.Signal, options []grpc.ServerOption) (*grpc.Server, error) {
	server, err := stefgrpc.NewServer(stefgrpc.WithCompressedMessages())
	if err != nil {
		return nil, err
	}
	if err := server.Handle(anysignal.Of(signal).Compact(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error { return r.receive(signal, s) })); err != nil {
		return nil, err
	}
	s := grpc.NewServer(options...)
	server.Register(s)
	return s, nil
}

// receive reads a stream frame by frame. It occupies a worker once a frame has
// begun to arrive, not while the stream is idle.
func (r *run) receive(signal otlpfile.Signal, s *stefgrpc.ServerStream) error {
	src := bufio.NewReader(s)
	d, err := anysignal.Of(signal).NewDecoder(src, nil, s.ReaderOptions()...)
	if err != nil {
		return err
	}
	defer d.Reader.Close()
	for {
		if _, err := src.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		err := r.work(func() error {
			b, err := d.Decode()
			if err == nil {
				r.examine(b)
			}
			return err
		})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.AckUpTo(d.Records())
	}
}

// stefSender is a stream. It sends without waiting for answers, up to the
// client's default bound in bytes.
type stefSender struct {
	stream  *stefgrpc.Stream
	encoder *signal.Encoder[otlpfile.Batch]
}

func (r *run) openSTEF(ctx context.Context, of otlpfile.Signal) (*stefSender, error) {
	var calls []grpc.CallOption
	if r.config.Compression == Gzip {
		calls = append(calls, grpc.UseCompressor(string(Gzip)))
	}
	client, err := stefgrpc.NewClient(r.conn, stefgrpc.WithCallOptions(calls...))
	if err != nil {
		return nil, err
	}
	s := &stefSender{}
	if s.stream, err = client.Open(ctx, anysignal.Of(of).Compact()); err != nil {
		return nil, err
	}
	options := s.stream.WriterOptions()
	if r.config.Compression == Zstd {
		options = append(options, stef.WithCompression(stef.Zstd))
	}
	s.encoder, err = anysignal.Of(of).NewEncoder(s.stream, nil, options...)
	return s, err
}

func (s *stefSender) send(_ context.Context, b otlpfile.Batch) error {
	if err := s.encoder.Encode(b); err != nil {
		return err
	}
	return s.encoder.Writer.Flush()
}

func (s *stefSender) finish(ctx context.Context) error { return s.stream.AwaitAll(ctx) }

func (s *stefSender) close() { _ = s.stream.Close() }
