// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/otelstef/stef/sdk/internal/settings"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// Sender exports the batches of one signal.
type Sender[B any] struct {
	config  *settings.Endpoint
	signal  *Signal[B]
	conn    *grpc.ClientConn
	session *stefgrpc.Session[*batch[B]]
	calls   calls
	stats   counters

	// life ends when all exports must return, including waiting exports.
	life context.Context
	end  context.CancelCauseFunc

	usingOTLP atomic.Bool               // batches are sent by OTLP
	failing   atomic.Bool               // the last attempt to open a stream failed
	retriedAt atomic.Pointer[time.Time] // when retrySTEF last failed to open a stream
	mu        sync.Mutex
	otlp      *OTLP[B]      // created on first use
	attempt   chan struct{} // closed after the next attempt to open a stream
}

type counters struct {
	Delivered, Omitted, Rejected, Failed, ByOTLP atomic.Uint64
	Retries, Streams, Downgrades                 atomic.Uint64
}

// ErrShutdown is the error of an export that begins after Shutdown, or that Shutdown
// interrupts.
var ErrShutdown = errors.New("stef: the exporter is shut down")

var errTimeout = errors.New("stef: the export timed out")

const (
	// idleTimeout is longer than the usual export interval of metrics, so that their
	// stream stays open between exports.
	idleTimeout = 2 * time.Minute
	// encodingGrace is how long an export may continue to encode after its context has
	// ended. A stream that is still encoding after this time is blocked by its peer.
	encodingGrace = 50 * time.Millisecond
	// backoffMultiplier is the factor by which each further wait grows.
	backoffMultiplier = 1.5
)

// OfSDK returns err. If err is ErrShutdown, it returns after instead: the error that the SDK defines for
// an export after Shutdown.
func OfSDK(err, after error) error {
	if errors.Is(err, ErrShutdown) {
		return after
	}
	return err
}

// New starts a sender. It does not wait for a connection. New also returns the settings of the
// streams.
func New[B any](options []settings.Option, signal *Signal[B]) (*Sender[B], *settings.Stream, error) {
	c, err := settings.ForEndpoint(signal.Name, options)
	if err != nil {
		return nil, nil, err
	}
	s := &Sender[B]{config: c, signal: signal, conn: c.Conn, attempt: make(chan struct{})}
	if s.conn == nil {
		if s.conn, err = dial(c); err != nil {
			return nil, nil, fmt.Errorf("stef: endpoint %q: %w", c.Target, err)
		}
	}
	client, err := stefgrpc.NewClient(s.conn,
		stefgrpc.WithHandshakeTimeout(c.Timeout),
		// OTLP requests may be compressed by gRPC. Streams are compressed by STEF
		// itself.
		stefgrpc.WithCallOptions(grpc.UseCompressor("identity")))
	if err != nil {
		return nil, nil, errors.Join(err, s.closeConn())
	}
	headers := metadata.New(c.Headers)
	open := func(ctx context.Context) (*stefgrpc.Stream, error) {
		if len(headers) > 0 {
			own, _ := metadata.FromOutgoingContext(ctx)
			ctx = metadata.NewOutgoingContext(ctx, metadata.Join(own, headers))
		}
		return client.Open(ctx, signal.Root())
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.session, err = stefgrpc.NewSession(open, s.newWriter, s.sessionConfig())
	if err != nil {
		s.end(ErrShutdown)
		return nil, nil, errors.Join(err, s.closeConn())
	}
	return s, &c.Stream, nil
}

func dial(c *settings.Endpoint) (*grpc.ClientConn, error) {
	security := grpc.WithTransportCredentials(c.Credentials)
	if c.Insecure {
		security = grpc.WithTransportCredentials(insecure.NewCredentials())
	}
	// Attempts to connect have the same pauses as attempts to open a stream. The
	// defaults of gRPC are 1 to 120 seconds.
	wait := backoff.Config{
		BaseDelay:  c.Retry.InitialInterval,
		Multiplier: backoffMultiplier,
		Jitter:     backoff.DefaultConfig.Jitter,
		MaxDelay:   max(c.Retry.InitialInterval, c.Retry.MaxInterval),
	}
	options := []grpc.DialOption{
		security, grpc.WithUserAgent("OTel-STEF-Exporter-Go"),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: wait, MinConnectTimeout: c.Timeout}),
	}
	if c.OTLPCompressor != "" {
		options = append(options, grpc.WithDefaultCallOptions(grpc.UseCompressor(c.OTLPCompressor)))
	}
	return grpc.NewClient(c.Target, append(options, c.DialOptions...)...)
}

func (s *Sender[B]) sessionConfig() stefgrpc.SessionConfig {
	retry := s.config.Retry
	return stefgrpc.SessionConfig{
		MaxLifetime:   s.config.StreamLifetime,
		IdleTimeout:   idleTimeout,
		FlushInterval: -1, // flush each batch immediately: processors export one batch at a time
		FlushBytes:    -1,
		AckTimeout:    s.config.Timeout,
		Backoff: stefgrpc.Backoff{
			Initial:    retry.InitialInterval,
			Max:        max(retry.InitialInterval, retry.MaxInterval),
			Multiplier: backoffMultiplier,
			Jitter:     0.5,
		},
		Events: stefgrpc.SessionEvents{
			StreamOpened: func(int, time.Duration) { s.opened() },
			OpenFailed: func(int, *stefgrpc.Error, time.Duration) {
				s.failing.Store(true)
				s.attempted()
			},
		},
	}
}

func (s *Sender[B]) newWriter(stream *stefgrpc.Stream) (stefgrpc.BatchWriter[*batch[B]], error) {
	e, err := s.signal.NewEncoder(stream, append(s.config.Writer(), stream.WriterOptions()...)...)
	if err != nil {
		return nil, err
	}
	return &batchWriter[B]{encoder: e, stream: stream}, nil
}

// Stats returns the counts so far.
func (s *Sender[B]) Stats() settings.Stats {
	c := &s.stats
	return settings.Stats{
		Delivered: c.Delivered.Load(), Omitted: c.Omitted.Load(), Rejected: c.Rejected.Load(), Failed: c.Failed.Load(),
		ByOTLP: c.ByOTLP.Load(), Retries: c.Retries.Load(), Streams: c.Streams.Load(), Downgrades: c.Downgrades.Load(),
	}
}

// Export sends a batch. It returns nil when the peer has acknowledged the batch.
func (s *Sender[B]) Export(ctx context.Context, data B) error {
	items := s.signal.Items(data)
	done, ok := s.calls.enter()
	if !ok {
		s.stats.Failed.Add(uint64(items))
		return ErrShutdown
	}
	defer done()
	if items == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.Timeout, errTimeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.life, func() { stop(context.Cause(s.life)) })()

	failed, err := s.deliver(ctx, data, items)
	s.stats.Failed.Add(uint64(failed))
	return err
}

// ForceFlush waits for the exports that have begun. Each export waits for its
// acknowledgement, so there is nothing else to flush.
func (s *Sender[B]) ForceFlush(ctx context.Context) error { return s.calls.wait(ctx) }

// Shutdown waits for the exports that have begun, until ctx ends, and closes the
// streams and the connection. Exports that have not ended by then return an error.
// Calls after the first call do nothing.
func (s *Sender[B]) Shutdown(ctx context.Context) error {
	if !s.calls.close() {
		return nil
	}
	err := s.calls.wait(ctx)
	s.end(ErrShutdown)
	if err != nil {
		err = fmt.Errorf("stef: shutdown did not wait for all exports: %w", err)
		// The calls return soon, because their contexts have ended.
		_ = s.calls.wait(context.Background())
	}
	errs := []error{err}
	if end := s.session.Shutdown(ctx); errors.Is(end, context.DeadlineExceeded) {
		errs = append(errs, end)
	}
	s.mu.Lock()
	otlp := s.otlp
	s.mu.Unlock()
	if otlp != nil {
		errs = append(errs, otlp.Shutdown(ctx))
	}
	return errors.Join(append(errs, s.closeConn())...)
}

// closeConn closes the connection, unless the caller of New provided it.
func (s *Sender[B]) closeConn() error {
	if s.config.Conn != nil {
		return nil
	}
	return s.conn.Close()
}
