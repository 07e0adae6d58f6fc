// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // a compression of OTLP requests
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Sender sends batches over a connection. Send is safe for concurrent use.
type Sender struct {
	// Retries is how often a batch is sent again if the endpoint cannot accept
	// it yet, and how often a stream that cannot be opened is tried again. Set it
	// before the first Send.
	Retries int
	// Waiting is called, concurrently, when a batch cannot be sent yet and is tried
	// again: with the cause, or with nil if the endpoint has not answered for
	// PatienceForStream. It may be nil. Set it before the first Send.
	Waiting func(cause error)

	metrics *lane[pmetric.Metrics]
	traces  *lane[ptrace.Traces]
	logs    *lane[plog.Logs]

	rejected atomic.Uint64
}

// lane holds the sending state of one signal.
type lane[T any] struct {
	send  func(ctx context.Context, s *Sender, batch T) (rejected uint64, err error)
	close func(context.Context) error
}

// NewOTLPSender returns a sender of OTLP export requests. Compression is the
// name of a gRPC compressor, "gzip" or "".
func NewOTLPSender(conn *grpc.ClientConn, compression string) *Sender {
	var options []grpc.CallOption
	if compression != "" {
		options = append(options, grpc.UseCompressor(compression))
	}
	return &Sender{
		Retries: DefaultRetries,
		metrics: otlpLane(conn, signal.Metrics, options),
		traces:  otlpLane(conn, signal.Traces, options),
		logs:    otlpLane(conn, signal.Logs, options),
	}
}

func otlpLane[T any](conn *grpc.ClientConn, d *signal.Descriptor[T], options []grpc.CallOption) *lane[T] {
	export := d.OTLP.NewClient(conn)
	return &lane[T]{
		send: func(ctx context.Context, s *Sender, batch T) (rejected uint64, err error) {
			err = s.retry(ctx, func() (bool, error) {
				partial, err := export(ctx, batch, options...)
				rejected = uint64(max(partial.Rejected, 0))
				return status.Code(err) == codes.Unavailable || status.Code(err) == codes.ResourceExhausted, err
			})
			return rejected, err
		},
		close: func(context.Context) error { return nil },
	}
}

// NewSTEFSender returns a sender of STEF streams, one for each signal.
func NewSTEFSender(conn *grpc.ClientConn, compression stef.Compression) (*Sender, error) {
	client, err := stefgrpc.NewClient(conn, stefgrpc.WithHandshakeTimeout(openTimeout))
	if err != nil {
		return nil, err
	}
	return &Sender{
		Retries: DefaultRetries,
		metrics: stefLane(client, signal.Metrics, compression),
		traces:  stefLane(client, signal.Traces, compression),
		logs:    stefLane(client, signal.Logs, compression),
	}, nil
}

const (
	// PatienceForStream is how long a stream may take to open before
	// Sender.Waiting is called.
	PatienceForStream = 1500 * time.Millisecond
	// openTimeout bounds each attempt to open a stream.
	openTimeout = 5 * time.Second
)

// opening counts the attempts to open the streams of a lane.
type opening struct {
	sender *Sender
	silent *time.Timer // fires when the endpoint counts as silent

	mu       sync.Mutex
	live     int // number of open streams
	failures int // failed attempts since a stream was open
	ctx      context.Context
	giveUp   context.CancelCauseFunc
}

func newOpening(s *Sender) *opening {
	o := &opening{sender: s, silent: time.AfterFunc(PatienceForStream, func() { s.waiting(nil) })}
	o.ctx, o.giveUp = context.WithCancelCause(context.Background())
	return o
}

func (o *opening) opened() {
	o.silent.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live++
	o.failures = 0
}

func (o *opening) closed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live--
}

// failed counts a failed attempt. After too many, no batch waits for a stream any
// more.
func (o *opening) failed(err *stefgrpc.Error) {
	o.silent.Stop()
	if !err.Retryable() {
		return // Send returns it.
	}
	o.mu.Lock()
	if o.live > 0 { // a replacement of a stream that still accepts batches
		o.mu.Unlock()
		return
	}
	o.failures++
	failures := o.failures
	o.mu.Unlock()
	if failures > o.sender.Retries {
		o.giveUp(fmt.Errorf("no STEF stream: %w", err))
		return
	}
	o.sender.waiting(fmt.Errorf("no STEF stream yet: %w", err))
}

// bound returns a context that also ends when no stream could be opened.
func (o *opening) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(o.ctx, func() { cancel(context.Cause(o.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// backoff is the wait between attempts to open a stream, the same as between
// attempts to send a batch.
var backoff = stefgrpc.Backoff{Initial: firstWait, Max: 64 * firstWait, Multiplier: 2, Jitter: -1}

func stefLane[T any](client *stefgrpc.Client, d *signal.Descriptor[T], compression stef.Compression) *lane[T] {
	// A session opens a stream immediately, so it is created for the first
	// batch.
	var session *stefgrpc.Session[T]
	var open *opening
	var once sync.Once
	var failed error
	start := func(s *Sender) (err error) {
		open = newOpening(s)
		// Each batch is flushed immediately, because the player sets the pace.
		config := stefgrpc.SessionConfig{FlushInterval: -1, Backoff: backoff, Events: stefgrpc.SessionEvents{
			StreamOpened: func(int, time.Duration) { open.opened() },
			StreamClosed: func(int, stefgrpc.CloseReason, time.Duration, *stefgrpc.Error) { open.closed() },
			OpenFailed:   func(_ int, err *stefgrpc.Error, _ time.Duration) { open.failed(err) },
		}}
		session, err = stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
			return client.Open(ctx, d.Compact())
		}, func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[T], error) {
			e, err := d.NewEncoder(s, nil, append(s.WriterOptions(), stef.WithCompression(compression))...)
			return &batchWriter[T]{encoder: e}, err
		}, config)
		return err
	}
	return &lane[T]{
		send: func(ctx context.Context, s *Sender, batch T) (rejected uint64, err error) {
			if d.Items(batch) == 0 {
				return 0, nil
			}
			once.Do(func() { failed = start(s) })
			if failed != nil {
				return 0, failed
			}
			ctx, release := open.bound(ctx)
			defer release()
			err = s.retry(ctx, func() (bool, error) {
				err := session.Send(ctx, batch)
				var bad *stefgrpc.RejectedError
				if errors.As(err, &bad) {
					rejected, err = bad.Records, nil
				}
				var unsent *stefgrpc.UnsentError
				return errors.As(err, &unsent) && unsent.Cause.Retryable(), err
			})
			if err != nil && open.ctx.Err() != nil {
				err = context.Cause(open.ctx)
			}
			return rejected, err
		},
		close: func(ctx context.Context) error {
			if session == nil {
				return nil
			}
			open.silent.Stop()
			return session.Shutdown(ctx)
		},
	}
}

// DefaultRetries is the default of Sender.Retries. The delays between retries
// double, from 100 ms to 6.4 s.
const DefaultRetries = 7

const firstWait = 100 * time.Millisecond

// waiting calls Waiting.
func (s *Sender) waiting(cause error) {
	if s.Waiting != nil {
		s.Waiting(cause)
	}
}

// retry calls send until it succeeds, fails permanently, or fails too often.
func (s *Sender) retry(ctx context.Context, send func() (again bool, err error)) error {
	wait := firstWait
	for try := 0; ; try++ {
		again, err := send()
		if err == nil || !again || try == s.Retries || ctx.Err() != nil {
			return err
		}
		s.waiting(fmt.Errorf("not accepted yet: %w", err))
		select {
		case <-time.After(wait):
			wait *= 2
		case <-ctx.Done():
			return err
		}
	}
}

// Send sends a batch and returns when it is acknowledged.
func (s *Sender) Send(ctx context.Context, b otlpfile.Batch) error {
	var rejected uint64
	var err error
	switch b.Signal {
	case otlpfile.Metrics:
		rejected, err = s.metrics.send(ctx, s, b.Metrics)
	case otlpfile.Traces:
		rejected, err = s.traces.send(ctx, s, b.Traces)
	case otlpfile.Logs:
		rejected, err = s.logs.send(ctx, s, b.Logs)
	default:
		err = fmt.Errorf("a batch has the unknown signal %s", b.Signal)
	}
	s.rejected.Add(rejected)
	return err
}

// Rejected is the number of items that the endpoint rejected permanently.
func (s *Sender) Rejected() uint64 { return s.rejected.Load() }

// Close ends the streams after everything is acknowledged.
func (s *Sender) Close(ctx context.Context) error {
	return errors.Join(s.metrics.close(ctx), s.traces.close(ctx), s.logs.close(ctx))
}

// batchWriter writes batches to a stream.
type batchWriter[T any] struct{ encoder *signal.Encoder[T] }

// WriteBatch implements stefgrpc.BatchWriter.
func (w *batchWriter[T]) WriteBatch(batch T) (last uint64, err error) {
	err = w.encoder.Encode(batch)
	last = w.encoder.Writer.Stats().Records
	var items stefpdata.ItemErrors
	if errors.As(err, &items) {
		err = &stefgrpc.BatchError{Err: err}
	}
	return last, err
}

// Flush implements stefgrpc.BatchWriter.
func (w *batchWriter[T]) Flush() error { return w.encoder.Writer.Flush() }

// Close implements io.Closer.
func (w *batchWriter[T]) Close() error { return w.encoder.Writer.Close() }

// BufferedBytes implements stefgrpc.BatchWriter.
func (w *batchWriter[T]) BufferedBytes() int {
	s := w.encoder.Writer.Stats()
	return int(s.Records - s.Flushed)
}
