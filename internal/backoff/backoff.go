// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package backoff computes the pauses of retry_on_failure as exporterhelper does. Components use it
// where they retry by themselves.
package backoff

import (
	"cmp"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/config/configretry"
)

// BackOff computes the pauses between the attempts to deliver one batch. It uses the intervals, the
// multiplier and the random part of Config. The caller observes Enabled and MaxElapsedTime.
type BackOff struct {
	Config   configretry.BackOffConfig
	interval time.Duration // of the next pause, without its random part; 0: initial_interval
}

// Next returns the next pause. The first pause is initial_interval, even if max_interval is shorter.
func (b *BackOff) Next() time.Duration {
	c := &b.Config
	interval := cmp.Or(b.interval, c.InitialInterval)
	if float64(interval)*c.Multiplier >= float64(c.MaxInterval) { // as floats, because the product may overflow
		b.interval = c.MaxInterval // if it is 0, all pauses are initial_interval
	} else {
		b.interval = time.Duration(float64(interval) * c.Multiplier)
	}
	return time.Duration(float64(interval) * (1 + c.RandomizationFactor*(2*rand.Float64()-1)))
}
