// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/internal/streamerr"
	"github.com/otelstef/stef/sdk/internal/records"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// deliver sends a batch until it is delivered, or until it must not be sent again. failed is
// the number of items that were neither delivered nor omitted nor rejected.
//
// It does not wait between two attempts by STEF, because the session waits until a
// stream is open, and waits longer after each failure.
func (s *Sender[B]) deliver(ctx context.Context, data B, items int) (failed int, err error) {
	start := time.Now()
	ctx, stop := s.limitRetries(ctx, start)
	defer stop()
	b := &batch[B]{data: data}
	for {
		if s.usingOTLP.Load() {
			if err, again := s.sendOTLP(ctx, data, items); !again {
				if isFailure(err) {
					failed = items
				}
				return failed, err
			}
		}
		attempt := s.nextAttempt()
		err := s.send(ctx, b)
		if !isFailure(err) {
			return 0, s.arrived(b, items, err)
		}
		if s.outdated(err, start) && s.tryNow(ctx, attempt) {
			continue
		}
		if s.config.OTLP && streamerr.WithoutSTEF(err) {
			s.fallBack()
			continue
		}
		if why := s.finalError(ctx, err, start); why != nil {
			return s.unanswered(b, items, err), why
		}
		s.stats.Retries.Add(1)
	}
}

// send sends a batch by STEF. If encoding continues for longer than encodingGrace after the end of
// ctx, send assumes that the peer blocks the stream, and closes the stream: the SDK may reuse the
// data of the batch as soon as the export returns.
func (s *Sender[B]) send(ctx context.Context, b *batch[B]) error {
	done := make(chan struct{})
	defer close(done)
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(encodingGrace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			if stream := b.encoding.Load(); stream != nil {
				_ = stream.Close()
			}
		}
	})
	defer stop()
	return s.session.Send(ctx, b)
}

// finalError returns the error of the export, or nil if the batch is to be sent again.
func (s *Sender[B]) finalError(ctx context.Context, err error, start time.Time) error {
	if ctx.Err() != nil {
		return s.gaveUp(ctx, err)
	}
	var panicked *panicError
	if errors.As(err, &panicked) || !s.config.Retry.Enabled || !streamerr.Retryable(err) {
		return fmt.Errorf("stef: endpoint %s: %w", s.config.Target, err)
	}
	most := s.config.Retry.MaxElapsedTime
	if most > 0 && time.Since(start)+stefgrpc.FromStatus(err).RetryDelay > most {
		return fmt.Errorf("stef: endpoint %s: not retried, because the next retry would exceed MaxElapsedTime (%v): %w", s.config.Target, most, err)
	}
	return nil
}

// limitRetries returns a context for an export that began at start. The context ends when MaxElapsedTime is over
// and no stream can be opened: the session would wait for a stream until ctx ends.
func (s *Sender[B]) limitRetries(ctx context.Context, start time.Time) (_ context.Context, stop func()) {
	most := s.config.Retry.MaxElapsedTime
	if end, ok := ctx.Deadline(); !s.config.Retry.Enabled || most == 0 || ok && !end.After(start.Add(most)) {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(most, func() {
		for {
			attempt := s.nextAttempt()
			if s.withoutStream() {
				cancel(fmt.Errorf("stef: MaxElapsedTime (%v) is over", most))
				return
			}
			select {
			case <-attempt:
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// withoutStream reports whether batches wait because the last attempt to open a stream failed.
func (s *Sender[B]) withoutStream() bool {
	if s.usingOTLP.Load() || !s.failing.Load() {
		return false
	}
	stats := s.session.Stats()
	return stats.Live == 0 && stats.Draining == 0
}

// gaveUp returns the error of an export whose context ended. err says why no stream was open, if
// that is known.
func (s *Sender[B]) gaveUp(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) {
		return fmt.Errorf("stef: endpoint %s: %w", s.config.Target, err)
	}
	return fmt.Errorf("stef: endpoint %s: %w: %w", s.config.Target, cause, err)
}

// isFailure reports whether a delivery failed. If err is only a warning of the peer, or is only
// about omitted or rejected items, the delivery did not fail.
func isFailure(err error) bool {
	var rejected *stefgrpc.RejectedError
	var bad *stefgrpc.BatchError
	var left *records.OmittedError
	var partial *partialError
	return err != nil && !errors.As(err, &rejected) && !errors.As(err, &bad) && !errors.As(err, &left) && !errors.As(err, &partial)
}

// arrived counts the delivered, omitted and rejected items of a batch that did not fail
// (isFailure). It returns nil, or an error about the omitted and rejected items.
func (s *Sender[B]) arrived(b *batch[B], items int, err error) error {
	omitted, rejected := 0, 0
	var bad *stefgrpc.BatchError
	var refused *stefgrpc.RejectedError
	var errs []error
	switch {
	case errors.As(err, &bad):
		omitted = items
		if b.omitted != nil {
			errs = append(errs, b.omitted)
		} else if !errors.Is(err, errNoItems) {
			errs = append(errs, err)
		}
	case b.omitted != nil:
		omitted = b.omitted.Items
		errs = append(errs, b.omitted)
	}
	if errors.As(err, &refused) {
		rejected = int(min(refused.Records, uint64(items-omitted)))
		errs = append(errs, err)
	}
	s.stats.Omitted.Add(uint64(omitted))
	s.stats.Rejected.Add(uint64(rejected))
	s.stats.Delivered.Add(uint64(items - omitted - rejected))
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("stef: endpoint %s: %w", s.config.Target, errors.Join(errs...))
}

// unanswered returns the number of failed items of a batch whose delivery failed. If the peer
// answered some of the records, their items did not fail: unanswered adds the delivered, rejected
// and omitted items to the statistics.
func (s *Sender[B]) unanswered(b *batch[B], items int, err error) int {
	var e *stefgrpc.UnsentError
	if !errors.As(err, &e) || e.Acknowledged == 0 && len(e.Rejected) == 0 {
		return items
	}
	omitted := 0
	if b.omitted != nil {
		omitted = b.omitted.Items
	}
	sent := uint64(items - omitted)
	delivered, rejected := e.Settled(sent)
	s.stats.Omitted.Add(uint64(omitted))
	s.stats.Rejected.Add(rejected)
	s.stats.Delivered.Add(delivered)
	return int(sent - delivered - rejected)
}

// sendOTLP sends a batch by OTLP. again means that the peer now supports STEF, so the
// caller must send the batch by STEF.
func (s *Sender[B]) sendOTLP(ctx context.Context, data B, items int) (err error, again bool) {
	otlp, err := s.openOTLP()
	if err != nil {
		return err, false
	}
	err = otlp.Export(ctx, data)
	if err != nil && stefgrpc.FromStatus(err).Code == codes.Unimplemented && s.retrySTEF(ctx) {
		return nil, true
	}
	rejected, accepted := uint64(0), err == nil
	if err != nil {
		rejected, accepted = rejectedItems(err)
		rejected = min(rejected, uint64(items))
		err = fmt.Errorf("stef: endpoint %s, by OTLP: %w", s.config.Target, err)
	}
	if !accepted {
		return err, false
	}
	s.stats.Rejected.Add(rejected)
	s.stats.Delivered.Add(uint64(items) - rejected)
	s.stats.ByOTLP.Add(uint64(items) - rejected)
	if err != nil {
		err = &partialError{err}
	}
	return err, false
}

// partialError is the error of an OTLP request that the peer accepted. The peer rejected some
// of the items, or sent a warning.
type partialError struct{ error }

// Unwrap returns the error of the OTLP exporter.
func (e *partialError) Unwrap() error { return e.error }

// rejectedItems returns the number of items that the peer rejected, if err says that the peer
// accepted the request. Each OTLP exporter has its own internal type for this error, so only
// the name of the type identifies it.
func rejectedItems(err error) (n uint64, accepted bool) {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Struct && v.Type().Name() == "PartialSuccess" {
		if f := v.FieldByName("RejectedItems"); f.IsValid() && f.CanInt() {
			return uint64(max(0, f.Int())), true
		}
	}
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		return rejectedItems(x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range x.Unwrap() {
			if n, accepted := rejectedItems(one); accepted {
				return n, true
			}
		}
	}
	return 0, false
}

func (s *Sender[B]) openOTLP() (*OTLP[B], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.otlp != nil {
		return s.otlp, nil
	}
	otlp, err := s.signal.NewOTLP(s.life, s.conn, s.config)
	if err != nil {
		return nil, fmt.Errorf("stef: OTLP exporter: %w", err)
	}
	s.otlp = &otlp
	return s.otlp, nil
}

// An export does not try to open a stream within refusalGrace after a refusal. This limits the
// attempts at a peer that refuses all streams.
const refusalGrace = time.Second

// outdated reports whether err is an old refusal: the peer refused streams before the export
// began, but may accept a stream now, for example with a renewed token. The session itself
// would try again only after a minute. outdated returns false if the export can fall back to
// OTLP.
func (s *Sender[B]) outdated(err error, start time.Time) bool {
	var unsent *stefgrpc.UnsentError
	return errors.As(err, &unsent) && !unsent.Refused.IsZero() && start.Sub(unsent.Refused) > refusalGrace &&
		!(s.config.OTLP && streamerr.WithoutSTEF(err))
}

// tryNow makes the session try to open a stream, and waits for the result of the attempt. It
// reports whether there was a result before ctx ended.
func (s *Sender[B]) tryNow(ctx context.Context, attempt <-chan struct{}) bool {
	s.session.Probe()
	select {
	case <-attempt:
		return true
	case <-ctx.Done():
		return false
	}
}

// nextAttempt returns a channel that is closed after the next attempt to open a stream.
func (s *Sender[B]) nextAttempt() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempt
}

// fallBack switches to OTLP, unless a stream has been opened in the meantime. The
// session tries STEF again every minute.
func (s *Sender[B]) fallBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session.Stats().Live == 0 && s.usingOTLP.CompareAndSwap(false, true) {
		s.stats.Downgrades.Add(1)
	}
}

// retrySTEF tries STEF immediately, for a batch that the peer does not accept by OTLP. It does not try
// again within refusalGrace. It reports whether a stream was opened.
func (s *Sender[B]) retrySTEF(ctx context.Context) bool {
	// Another export may have opened the stream since the request began. Then the session does
	// not try to open one, and there is nothing to wait for.
	attempt := s.nextAttempt()
	if last := s.retriedAt.Load(); s.usingOTLP.Load() && (last == nil || time.Since(*last) > refusalGrace) && s.tryNow(ctx, attempt) && s.usingOTLP.Load() {
		now := time.Now()
		s.retriedAt.Store(&now)
	}
	return !s.usingOTLP.Load()
}

func (s *Sender[B]) opened() {
	s.stats.Streams.Add(1)
	s.failing.Store(false)
	s.mu.Lock()
	s.usingOTLP.Store(false)
	s.mu.Unlock()
	s.attempted()
}

// attempted wakes the exports that wait for the result of an attempt.
func (s *Sender[B]) attempted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.attempt)
	s.attempt = make(chan struct{})
}
