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

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	_ "google.golang.org/grpc/encoding/gzip" // a compression of OTLP requests
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/signal/anysignal"
	stef "github.com/otelstef/stef/stef-go"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// Sender sends batches over a connection. Send is safe for concurrent use.
type Sender struct {
	// Retries is how often a batch is sent again if the endpoint cannot accept
	// it yet, and how often opening a stream is retried. Set it before the first Send.
	Retries int
	// Waiting is called, concurrently, when a batch cannot be sent yet and is tried again. cause
	// is nil if there is no stream after NoStreamAfter, or no connection after
	// UnansweredAfter. Waiting may be nil. Set it before the first Send.
	Waiting func(cause error)
	// Unanswered is called, concurrently, when the endpoint has not answered a batch for
	// UnansweredAfter, and again after each further UnansweredAfter. batches is the number of
	// all unanswered batches, and waited is how long this batch has waited. Unanswered may be
	// nil. Set it before the first Send.
	Unanswered func(batches int, waited time.Duration)
	// Final reports whether an error is permanent, so that a retry cannot help. After such an
	// error the other batches are not tried again either. Final may be nil. Set it before the
	// first Send.
	Final func(cause error) bool

	signals map[otlpfile.Signal]*signalSender

	// ended is canceled by the first permanent error. Its cause is this error.
	ended context.Context
	end   context.CancelCauseFunc

	rejected atomic.Uint64
	answers  answers
}

type signalSender struct {
	send  func(ctx context.Context, s *Sender, batch otlpfile.Batch) (rejected uint64, err error)
	close func(context.Context) error
}

// NewOTLPSender returns a sender of OTLP export requests. Compression is the
// name of a gRPC compressor, "gzip" or "".
func NewOTLPSender(conn *grpc.ClientConn, compression string) *Sender {
	var options []grpc.CallOption
	if compression != "" {
		options = append(options, grpc.UseCompressor(compression))
	}
	return newSender(func(d *anysignal.Descriptor) *signalSender { return otlpSender(conn, d, options) })
}

func newSender(newOne func(*anysignal.Descriptor) *signalSender) *Sender {
	s := &Sender{Retries: DefaultRetries, signals: map[otlpfile.Signal]*signalSender{}}
	s.ended, s.end = context.WithCancelCause(context.Background())
	for _, of := range otlpfile.Signals() {
		s.signals[of] = newOne(anysignal.Of(of))
	}
	return s
}

func otlpSender(conn *grpc.ClientConn, d *anysignal.Descriptor, options []grpc.CallOption) *signalSender {
	export := d.OTLP.NewClient(conn)
	return &signalSender{
		send: func(ctx context.Context, s *Sender, batch otlpfile.Batch) (rejected uint64, err error) {
			err = s.retry(ctx, func() (bool, error) {
				defer s.await(func() bool {
					connected := conn.GetState() == connectivity.Ready
					if !connected {
						s.waiting(nil)
					}
					return connected
				})()
				partial, err := export(ctx, batch, options...)
				rejected = uint64(max(partial.Rejected, 0))
				return err != nil && stefgrpc.FromStatus(err).Retryable() || status.Code(err) == codes.ResourceExhausted, err
			})
			return rejected, err
		},
		close: func(context.Context) error { return nil },
	}
}

// NewSTEFSender returns a sender of STEF streams, one stream for each signal.
func NewSTEFSender(conn *grpc.ClientConn, compression stef.Compression) (*Sender, error) {
	client, err := stefgrpc.NewClient(conn, stefgrpc.WithHandshakeTimeout(openTimeout))
	if err != nil {
		return nil, err
	}
	return newSender(func(d *anysignal.Descriptor) *signalSender { return stefSender(client, d, compression) }), nil
}

const (
	// NoStreamAfter is how long opening a stream may take before Sender.Waiting is called.
	NoStreamAfter = 1500 * time.Millisecond
	// openTimeout bounds each attempt to open a stream.
	openTimeout = 5 * time.Second
)

// opening counts the attempts to open the streams of a signal.
type opening struct {
	sender  *Sender
	pending *atomic.Int64 // number of batches that are being sent
	silent  *time.Timer   // fires when the endpoint counts as silent

	mu       sync.Mutex
	live     int  // number of open streams
	failures int  // failed attempts since a stream was open
	before   bool // whether a stream was open before
	ctx      context.Context
	giveUp   context.CancelCauseFunc
}

func newOpening(s *Sender, pending *atomic.Int64) *opening {
	o := &opening{sender: s, pending: pending, silent: time.AfterFunc(NoStreamAfter, func() { s.waiting(nil) })}
	o.ctx, o.giveUp = context.WithCancelCause(context.Background())
	return o
}

func (o *opening) opened() {
	o.silent.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live++
	o.failures = 0
	o.before = true
}

func (o *opening) closed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live--
}

func (o *opening) isLive() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.live > 0
}

// failed counts a failed attempt. After too many failures, batches no longer wait for a stream.
func (o *opening) failed(err *stefgrpc.Error) {
	o.silent.Stop()
	if !err.Retryable() {
		return // Send returns err
	}
	if o.pending.Load() == 0 { // no batch needs the stream; the peer may have ended after the last batch
		return
	}
	o.mu.Lock()
	if o.live > 0 { // the attempt is for a replacement, and the old stream still accepts batches
		o.mu.Unlock()
		return
	}
	o.failures++
	failures := o.failures
	final, yet := "no STEF stream", "no STEF stream yet"
	if o.before {
		final, yet = "the STEF stream was lost", "the STEF stream was lost"
	}
	o.mu.Unlock()
	if failures > o.sender.Retries || o.sender.final(err) {
		o.giveUp(fmt.Errorf("%s: %w", final, err))
		return
	}
	o.sender.waiting(fmt.Errorf("%s: %w", yet, err))
}

// bound returns a context that also ends when no stream could be opened, or after a permanent
// error of another batch.
func (o *opening) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(o.ctx, func() { cancel(context.Cause(o.ctx)) })
	ended := context.AfterFunc(o.sender.ended, func() { cancel(context.Cause(o.sender.ended)) })
	return ctx, func() {
		stop()
		ended()
		cancel(nil)
	}
}

// backoff is the wait between attempts to open a stream, the same as between
// attempts to send a batch.
var backoff = stefgrpc.Backoff{Initial: firstWait, Max: 64 * firstWait, Multiplier: 2, Jitter: -1}

func stefSender(client *stefgrpc.Client, d *anysignal.Descriptor, compression stef.Compression) *signalSender {
	// A session opens a stream immediately, so the session is created when the first batch is sent.
	var session *stefgrpc.Session[otlpfile.Batch]
	var open *opening
	var once sync.Once
	var failed error
	var pending atomic.Int64
	start := func(s *Sender) (err error) {
		open = newOpening(s, &pending)
		// Each batch is flushed immediately, because the player sets the pace.
		config := stefgrpc.SessionConfig{FlushInterval: -1, Backoff: backoff, Events: stefgrpc.SessionEvents{
			StreamOpened: func(int, time.Duration) { open.opened() },
			StreamClosed: func(int, stefgrpc.CloseReason, time.Duration, *stefgrpc.Error) { open.closed() },
			OpenFailed:   func(_ int, err *stefgrpc.Error, _ time.Duration) { open.failed(err) },
		}}
		session, err = stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
			return client.Open(ctx, d.Compact())
		}, func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[otlpfile.Batch], error) {
			e, err := d.NewEncoder(s, nil, append(s.WriterOptions(), stef.WithCompression(compression))...)
			return &batchWriter{e}, err
		}, config)
		return err
	}
	return &signalSender{
		send: func(ctx context.Context, s *Sender, batch otlpfile.Batch) (rejected uint64, err error) {
			if d.Items(batch) == 0 {
				return 0, nil
			}
			pending.Add(1)
			defer pending.Add(-1)
			once.Do(func() { failed = start(s) })
			if failed != nil {
				return 0, failed
			}
			ctx, release := open.bound(ctx)
			defer release()
			err = s.retry(ctx, func() (bool, error) {
				defer s.await(open.isLive)()
				err := session.Send(ctx, batch)
				var bad *stefgrpc.RejectedError
				var left *stefgrpc.BatchError
				if errors.As(err, &bad) {
					rejected = bad.Records
					if !errors.As(err, &left) {
						err = nil
					}
				}
				var unsent *stefgrpc.UnsentError
				return errors.As(err, &unsent) && unsent.Cause.Retryable(), err
			})
			if err != nil && s.ended.Err() != nil {
				err = context.Cause(s.ended)
			}
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
// double, from 100 ms to 6.4 s, unless the endpoint asks for a longer delay.
const DefaultRetries = 7

const firstWait = 100 * time.Millisecond

func (s *Sender) waiting(cause error) {
	if s.Waiting != nil {
		s.Waiting(cause)
	}
}

// await watches a batch until the returned function is called. sent reports whether the batch is sent.
func (s *Sender) await(sent func() bool) (done func()) {
	return s.answers.await(sent, func(batches int, waited time.Duration) {
		if s.Unanswered != nil {
			s.Unanswered(batches, waited)
		}
	})
}

// final calls Final. If the error is permanent, all other batches end with the same error.
func (s *Sender) final(cause error) bool {
	if s.Final == nil || !s.Final(cause) {
		return false
	}
	s.end(cause)
	return true
}

// retry calls send until it succeeds, fails permanently, or fails too often.
func (s *Sender) retry(ctx context.Context, send func() (again bool, err error)) error {
	wait := firstWait
	for try := 0; ; try++ {
		again, err := send()
		if err == nil || !again || try == s.Retries || ctx.Err() != nil || s.final(err) {
			return err
		}
		asked := ""
		pause := max(wait, stefgrpc.FromStatus(err).RetryDelay)
		if pause > wait {
			asked = fmt.Sprintf(", the endpoint asks for a wait of %v", pause)
		}
		s.waiting(fmt.Errorf("not accepted yet%s: %w", asked, err))
		select {
		case <-time.After(pause):
			wait *= 2
		case <-ctx.Done():
			return err
		case <-s.ended.Done():
			return context.Cause(s.ended)
		}
	}
}

// Connect connects to the endpoint, with the retries of Send. Without Connect, only the first
// Send shows whether the endpoint can be reached, possibly long after the start. If the
// endpoint does not answer for some seconds, Connect returns nil, and Send tries again and
// returns the error.
func (s *Sender) Connect(ctx context.Context, conn *grpc.ClientConn) error {
	return s.retry(ctx, func() (bool, error) {
		answer, stop := context.WithTimeout(ctx, openTimeout)
		defer stop()
		err := connected(answer, conn)
		if errors.Is(err, context.DeadlineExceeded) {
			s.waiting(nil)
			return false, nil
		}
		return ctx.Err() == nil, err
	})
}

// Check calls Waiting if the endpoint cannot be reached any more. Without Check, a long wait for
// the next batch would hide a lost connection.
func (s *Sender) Check(ctx context.Context, conn *grpc.ClientConn) {
	ctx, stop := context.WithTimeout(ctx, openTimeout)
	defer stop()
	conn.ResetConnectBackoff() // repeated checks must not delay the connection for the next batch
	if err := connected(ctx, conn); err != nil && ctx.Err() == nil {
		s.waiting(err)
	}
}

// connected returns nil when the connection is ready, and the reason when it fails.
func connected(ctx context.Context, conn *grpc.ClientConn) error {
	for {
		conn.Connect()
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure:
			// The state of the connection does not contain the cause. The error of a call does;
			// this call fails without sending anything.
			if _, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, nil); status.Code(err) == codes.Unavailable {
				return err
			}
			return nil // connected in the meantime
		}
		if !conn.WaitForStateChange(ctx, state) {
			return context.Cause(ctx)
		}
	}
}

// Send sends a batch and returns when it is acknowledged.
func (s *Sender) Send(ctx context.Context, b otlpfile.Batch) error {
	l := s.signals[b.Signal]
	if l == nil {
		return fmt.Errorf("a batch has the unknown signal %s", b.Signal)
	}
	rejected, err := l.send(ctx, s, b)
	s.rejected.Add(rejected)
	return err
}

// Rejected is the number of items that the endpoint rejected permanently.
func (s *Sender) Rejected() uint64 { return s.rejected.Load() }

// Close ends the streams after all batches are acknowledged.
func (s *Sender) Close(ctx context.Context) error {
	var errs []error
	for _, of := range otlpfile.Signals() {
		errs = append(errs, s.signals[of].close(ctx))
	}
	return errors.Join(errs...)
}

type batchWriter struct {
	encoder *signal.Encoder[otlpfile.Batch]
}

// WriteBatch implements stefgrpc.BatchWriter.
func (w *batchWriter) WriteBatch(batch otlpfile.Batch) (last uint64, err error) {
	err = w.encoder.Encode(batch)
	return w.encoder.Writer.Stats().Records, err
}

// Flush implements stefgrpc.BatchWriter.
func (w *batchWriter) Flush() error { return w.encoder.Writer.Flush() }

// Close implements io.Closer.
func (w *batchWriter) Close() error { return w.encoder.Writer.Close() }

// BufferedBytes implements stefgrpc.BatchWriter.
func (w *batchWriter) BufferedBytes() int { return w.encoder.Writer.BufferedBytes() }
