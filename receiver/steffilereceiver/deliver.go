// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otelstef/stef/internal/backoff"
	"github.com/otelstef/stef/internal/fanout"
)

// sink is the pipeline of a signal.
type sink[T any] struct {
	consume func(context.Context, T) error
	mutates bool // consume may change the batch
	// rest returns the part of a batch that an error reports as not accepted.
	rest  func(error) (T, bool)
	start func(*receiverhelper.ObsReport, context.Context) context.Context
	end   func(obs *receiverhelper.ObsReport, ctx context.Context, format string, items int, err error)
}

const (
	format    = "stef"
	transport = "file"
)

// errStopped means that the shutdown of the receiver ended a delivery.
var errStopped = errors.New("the receiver shuts down")

// errGivenUp means that retry_on_failure does not retry a temporary refusal any more.
var errGivenUp = errors.New("the pipeline refused the batch for too long")

// deliver passes a batch to the pipeline. It returns errStopped if the receiver stopped before
// the batch was accepted or given up. It returns nil even if the pipeline refused the batch.
func (f *follower[T]) deliver(batch T) error {
	items := f.sig.Items(batch)
	if items == 0 {
		return nil
	}
	ctx := f.sink.start(f.obs, f.ctx)
	left := items
	err := f.retry(ctx, batch, &left)
	f.sink.end(f.obs, ctx, format, items, err)
	switch {
	case err == nil:
		f.meter.delivered()
		return nil
	case errors.Is(err, errStopped):
		return err
	}
	f.meter.rejected(left, "pipeline")
	f.log.Warn("The pipeline permanently refused records of a file", zap.Int("records", left), zap.Error(err))
	return nil
}

// retry passes a batch to the pipeline until the pipeline accepts it or refuses it permanently.
// It also ends if retry_on_failure gives up or the receiver stops. left is the number of items
// that the pipeline did not accept.
func (f *follower[T]) retry(ctx context.Context, batch T, left *int) error {
	pauses := backoff.BackOff{Config: f.config.RetryConfig}
	began := time.Now()
	for {
		attempt := batch
		if f.sink.mutates {
			attempt = f.clone(batch)
		}
		err := f.consume(ctx, attempt)
		rest, part := f.sink.rest(err)
		if part {
			*left = f.sig.Items(rest)
		}
		if err == nil || permanent(err) {
			return err
		}
		if part {
			batch = f.clone(rest)
		}
		if f.stopping() {
			return errors.Join(errStopped, err)
		}
		wait := pauses.Next()
		if !f.retries(time.Since(began) + wait) {
			return errors.Join(errGivenUp, err)
		}
		f.log.Debug("The pipeline temporarily refused a batch", zap.Duration("wait", wait), zap.Error(err))
		if !f.sleep(wait) {
			return errors.Join(errStopped, err)
		}
		f.meter.retried()
	}
}

// permanent reports whether all consumers that refused a batch did so permanently. If one
// refusal is temporary, the batch must be retried.
//
// Only a mark of the pipeline (consumererror.NewPermanent) makes an error permanent, as in the retries
// of exporterhelper. The receiver of streams also treats an unmarked error with a status, such as
// INVALID_ARGUMENT, as permanent: it sends this status to its client, and the client still has the
// data. Here no client has it: to skip the batch loses it, and to retry it only costs time.
func permanent(err error) bool {
	parts := fanout.Parts(err)
	for _, cp := range parts {
		if !permanent(cp) {
			return false
		}
	}
	return len(parts) > 0 || consumererror.IsPermanent(err)
}

// clone returns a deep copy of a batch.
func (f *follower[T]) clone(batch T) T {
	c := f.sig.New()
	f.sig.CopyTo(batch, c)
	return c
}

// consume passes a batch to the pipeline. It converts a panic of the pipeline to a
// permanent error.
func (f *follower[T]) consume(ctx context.Context, batch T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.meter.failed("panic")
			f.log.Error("The pipeline panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = consumererror.NewPermanent(fmt.Errorf("panic: %v", p))
		}
	}()
	if err = f.sink.consume(ctx, batch); err != nil {
		_, _ = err.Error(), permanent(err) // the methods of err may panic
	}
	return err
}

// retries reports whether retry_on_failure allows an attempt at this time after the first one.
func (f *follower[T]) retries(elapsed time.Duration) bool {
	c := &f.config.RetryConfig
	return c.Enabled && (c.MaxElapsedTime == 0 || elapsed <= c.MaxElapsedTime)
}
