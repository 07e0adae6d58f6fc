// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/otelstef/stef/internal/backoff"
)

// retriesItself reports whether push sends the batches of the queue again, as retry_on_failure
// says. If not, exporterhelper sends them again. At a shutdown, exporterhelper ends all its waits
// between two attempts. Without a storage, the waiting batches would then be lost, although the
// shutdown still has time and the peer may be back.
func (c *Config) retriesItself() bool {
	if !c.QueueConfig.HasValue() || !c.RetryConfig.Enabled {
		return false
	}
	queue := c.QueueConfig.Get()
	return queue.StorageID == nil && !queue.WaitForResult
}

// A shutdown has only some seconds, so the pauses between its attempts are short.
const (
	minDrainPause = 100 * time.Millisecond
	maxDrainPause = 400 * time.Millisecond
)

// unsent is a batch, or the part of a batch, that may be sent again.
type unsent[B any] struct {
	batch B
	whole bool          // it is the whole batch
	err   error         // why it was not delivered
	delay time.Duration // requested by the peer
}

// asError returns an error that makes exporterhelper send the items again.
func (u *unsent[B]) asError(c *Config, s splitter[B]) error {
	err := u.err
	if most := c.RetryConfig.MaxElapsedTime; c.RetryConfig.Enabled && most > 0 && u.delay > most {
		err = c.tooLate(err, u.delay)
	}
	if !u.whole {
		err = s.rest(err, u.batch)
	}
	if u.delay > 0 {
		return exporterhelper.NewThrottleRetry(err, u.delay)
	}
	return err
}

// pushAgain sends a batch until it is delivered or refused for good, and as long as
// retry_on_failure allows. During a shutdown, it sends the batch again until the time of the
// shutdown is over. If pushAgain returns an error, exporterhelper makes no further attempt either.
func (x *stefExporter[B]) pushAgain(ctx context.Context, b B) error {
	pauses := backoff.BackOff{Config: x.config.RetryConfig}
	began, drainPause := time.Now(), minDrainPause
	for {
		attempt, cancel := context.WithTimeout(ctx, x.config.TimeoutConfig.Timeout)
		rest, err := x.try(attempt, b)
		cancel()
		if rest == nil {
			return err
		}
		b = rest.batch
		failed := time.Now()
		if !x.isStopping() {
			pause := max(pauses.Next(), rest.delay)
			if most := x.config.RetryConfig.MaxElapsedTime; most > 0 && pause > most-time.Since(began) {
				return exporterhelper.NewThrottleRetry(x.config.tooLate(rest.err, pause), pause) // too late for exporterhelper, too
			}
			x.noteRetry(ctx, rest.err, pause)
			if stopped := wait(x.stopped, pause); !stopped || time.Since(failed) >= rest.delay {
				continue // a shutdown ends the pause, but not the delay that the peer named
			}
		}
		pause := max(drainPause, rest.delay-time.Since(failed))
		drainPause = min(2*drainPause, maxDrainPause)
		if time.Now().Add(pause).After(x.until) || wait(x.life.Done(), pause) {
			x.telemetry.dropped(ctx, dropShutdown, x.signal.Items(b))
			return rest.err
		}
	}
}

// tooLate explains why exporterhelper drops a batch that might be sent again: its own text is only "no
// more retries left".
func (c *Config) tooLate(err error, pause time.Duration) error {
	return fmt.Errorf("%w (the next attempt would be after %s, and retry_on_failure::max_elapsed_time is %s)", err, pause, c.RetryConfig.MaxElapsedTime)
}

// noteRetry logs what exporterhelper logs before a retry.
func (x *stefExporter[B]) noteRetry(ctx context.Context, err error, pause time.Duration) {
	const text = "Exporting failed. Will retry the request after interval."
	trace.SpanFromContext(ctx).AddEvent(text, trace.WithAttributes(attribute.String("interval", pause.String()), attribute.String("error", err.Error())))
	x.settings.Logger.Info(text, zap.Error(err), zap.String("interval", pause.String()))
}

// wait waits for the pause. It returns true as soon as end is closed.
func wait(end <-chan struct{}, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-end:
		return true
	case <-timer.C:
		return false
	}
}
