// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package endpoint sends batches of the SDK to a peer: by STEF, over a session of
// package stefgrpc, or by OTLP if the peer has no STEF for the signal.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/otelstef/stef/sdk/internal/records"
	"github.com/otelstef/stef/sdk/internal/settings"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// Signal describes one signal, whose batches have the type B.
type Signal[B any] struct {
	Name settings.Signal
	// Root returns the root of streams in the compact form.
	Root func() *schema.Struct
	// Compact returns the option for files in the compact form.
	Compact func() stef.WriterOption
	// Items returns the number of items in a batch.
	Items func(B) int
	// NewEncoder begins a stream.
	NewEncoder func(dst io.Writer, options ...stef.WriterOption) (Encoder[B], error)
	// NewOTLP returns an exporter of OTLP over a connection.
	NewOTLP func(ctx context.Context, conn *grpc.ClientConn, c *settings.Endpoint) (OTLP[B], error)
}

// Encoder writes batches to a stream.
type Encoder[B any] struct {
	// Encode writes a batch. A *records.OmittedError reports items that were left
	// out; any other error ends the stream.
	Encode func(B) error
	Writer Writer
}

// EncoderOf returns a function for Signal.NewEncoder. newWriter creates the writer of a
// stream. encoding returns the function that encodes batches with this writer.
func EncoderOf[W Writer, B any](newWriter func(io.Writer, ...stef.WriterOption) (W, error), encoding func(W) func(B) error) func(io.Writer, ...stef.WriterOption) (Encoder[B], error) {
	return func(dst io.Writer, options ...stef.WriterOption) (Encoder[B], error) {
		w, err := newWriter(dst, options...)
		if err != nil {
			return Encoder[B]{}, err
		}
		return Encoder[B]{Encode: encoding(w), Writer: w}, nil
	}
}

// Writer is the common interface of the record writers of all signals.
type Writer interface {
	Flush() error
	Close() error
	Stats() stef.WriterStats
}

// OTLP sends batches by OTLP. It retries by itself.
type OTLP[B any] struct {
	Export   func(context.Context, B) error
	Shutdown func(context.Context) error
}

// batch is the data that a session sends, and the peer acknowledges, as one unit.
type batch[B any] struct {
	data B
	// omitted reports the omitted items. The encoder sets it. Read it only after the session has returned
	// the batch.
	omitted *records.OmittedError
	// encoding is the stream to which the batch is being encoded, or nil.
	encoding atomic.Pointer[stefgrpc.Stream]
}

type batchWriter[B any] struct {
	encoder  Encoder[B]
	stream   *stefgrpc.Stream
	panicked bool
}

// panicError is the error of a batch that made the encoder panic. A bug of the encoder
// must not end the application. The text has the stack, because the SDK logs only the error.
type panicError struct {
	value any
	stack []byte
}

// Error implements error.
func (e *panicError) Error() string {
	return fmt.Sprintf("the STEF encoder panicked: %v\n%s", e.value, e.stack)
}

var errNoItems = errors.New("the batch has no items")

// WriteBatch implements stefgrpc.BatchWriter. The exporter of the Collector has a similar function.
func (w *batchWriter[B]) WriteBatch(b *batch[B]) (last uint64, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.panicked = true
			err = &panicError{p, debug.Stack()} // the stream cannot continue
		}
	}()
	b.encoding.Store(w.stream)
	defer b.encoding.Store(nil)
	before := w.encoder.Writer.Stats().Records
	b.omitted = nil
	if err := w.encoder.Encode(b.data); err != nil && !errors.As(err, &b.omitted) {
		return before, fmt.Errorf("encoding a batch: %w", err)
	}
	last = w.encoder.Writer.Stats().Records
	if last > before {
		return last, nil
	}
	if b.omitted != nil {
		return before, &stefgrpc.BatchError{Err: b.omitted}
	}
	return before, &stefgrpc.BatchError{Err: errNoItems}
}

// Flush implements stefgrpc.BatchWriter.
func (w *batchWriter[B]) Flush() error { return w.encoder.Writer.Flush() }

// estimatedRecordBytes is the size of a record in bytes that BufferedBytes assumes, after compression. In
// recorded telemetry, points have 1 to 7 bytes, spans some 20, and log records 10 to 230. The exporter
// of the Collector begins with another guess, because it corrects its guess with every frame.
const estimatedRecordBytes = 32

// BufferedBytes implements stefgrpc.BatchWriter. It estimates what Flush will send, because the session
// counts it toward MaxUnackedBytes, together with the bytes that were sent. BufferedBytes of the writer
// is exact, but before compression: up to 30 times as much. A rough estimate is enough: batches of an
// SDK are small, so the session reaches MaxUnackedBatches first.
func (w *batchWriter[B]) BufferedBytes() int {
	stats := w.encoder.Writer.Stats()
	return int(stats.Records-stats.Flushed) * estimatedRecordBytes
}

// Close implements io.Closer: it returns the memory of the writer to the pools. A writer
// whose encoder panicked may be in any state, so the garbage collector frees it.
func (w *batchWriter[B]) Close() error {
	if w.panicked {
		return nil
	}
	return w.encoder.Writer.Close()
}
