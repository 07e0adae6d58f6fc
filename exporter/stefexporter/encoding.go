// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// batch is the data that a session sends, and the peer acknowledges, as one unit.
type batch[B any] struct {
	data  B
	items int
	// left lists the items that the format cannot represent. WriteBatch sets it. Do not
	// read it before the peer has answered for the batch: WriteBatch may still run.
	left stefpdata.ItemErrors
}

// batchWriter writes the batches of one stream. It implements
// stefgrpc.BatchWriter.
type batchWriter[B any] struct {
	encoder   *signal.Encoder[B]
	meter     *frameMeter
	telemetry *telemetry
	losses    uint64
	panicked  bool
}

type panicError struct {
	data  any // the *batch that was encoded
	value any
	stack []byte
}

// Error implements error.
func (e *panicError) Error() string { return fmt.Sprintf("the STEF encoder panicked: %v", e.value) }

// WriteBatch encodes a batch. It omits items that cannot be written and writes all other
// items. The SDK has a similar function, in sdk/internal/endpoint.
func (w *batchWriter[B]) WriteBatch(b *batch[B]) (last uint64, err error) {
	defer func() {
		// After a panic, the stream cannot continue, and the batch must not also
		// break the next stream.
		if p := recover(); p != nil {
			w.panicked = true
			err = &panicError{b, p, debug.Stack()}
		}
	}()
	before := w.encoder.Writer.Stats().Records
	b.left = nil
	if err := w.encoder.Encode(b.data); err != nil && !errors.As(err, &b.left) {
		return before, fmt.Errorf("encoding a batch: %w", err)
	}
	w.countLosses()
	last = w.encoder.Writer.Stats().Records
	if last == before {
		if b.left == nil {
			return before, &stefgrpc.BatchError{Err: errNoItems}
		}
		return before, &stefgrpc.BatchError{Err: b.left}
	}
	return last, nil
}

var errNoItems = errors.New("the batch has no items")

func (w *batchWriter[B]) countLosses() {
	if total := w.encoder.Losses().Total(); total > w.losses {
		w.telemetry.builder.ExporterStefSchemaLosses.Add(context.Background(), int64(total-w.losses), w.telemetry.plain)
		w.losses = total
	}
}

// Flush sends what was written.
func (w *batchWriter[B]) Flush() error { return w.encoder.Writer.Flush() }

// BufferedBytes estimates what Flush will send, from the size of records in earlier frames. The session
// counts it toward max_unacked_mib, together with the bytes that were sent. BufferedBytes of the writer
// is exact, but before compression: up to 30 times as much.
func (w *batchWriter[B]) BufferedBytes() int {
	stats := w.encoder.Writer.Stats()
	records := stats.Records - stats.Flushed
	if records == 0 {
		return 0
	}
	return max(1, int(float64(records)*w.meter.perRecord))
}

// Close implements io.Closer: it returns the memory of the writer to the pools. A
// writer whose encoder panicked may be in any state, so the garbage collector frees it.
func (w *batchWriter[B]) Close() error {
	if w.panicked {
		return nil
	}
	return w.encoder.Writer.Close()
}

type frameMeter struct {
	dst       stef.RecordWriter
	telemetry *telemetry
	last      uint64
	perRecord float64 // bytes per record in the latest frames
}

// guessPerRecord is the assumed size of a record in bytes, after compression, before the first frame.
const guessPerRecord = 16

func newFrameMeter(dst stef.RecordWriter, t *telemetry) *frameMeter {
	return &frameMeter{dst: dst, telemetry: t, perRecord: guessPerRecord}
}

// Write implements io.Writer. The writers of this package call WriteRecords instead.
func (m *frameMeter) Write(chunk []byte) (int, error) { return m.WriteRecords(chunk, m.last) }

// WriteRecords forwards a chunk.
//
// spec: #frame
func (m *frameMeter) WriteRecords(chunk []byte, last uint64) (int, error) {
	n, err := m.dst.WriteRecords(chunk, last)
	if err != nil || last <= m.last || len(chunk) < 2 {
		return n, err // nothing was sent, or only a header
	}
	m.perRecord += (float64(len(chunk))/float64(last-m.last) - m.perRecord) / 2
	m.last = last
	if size, read := binary.Uvarint(chunk[1:]); read > 0 {
		m.telemetry.frame(int(size), len(chunk), stef.FrameFlags(chunk[0])&stef.RestartDictionaries != 0)
	}
	return n, err
}
