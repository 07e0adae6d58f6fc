// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"time"

	"go.uber.org/zap"
)

// outage limits the log lines about failing attempts to resolve the backends: an attempt follows every
// resolve_interval, and a DNS server may be unavailable for hours.
type outage struct {
	lasts  bool      // the last attempt failed
	logged bool      // a warning about this outage was logged
	warned time.Time // the last warning
}

// outagePause is the minimum time between the warnings of two outages.
const outagePause = time.Minute

// begin notes a failed attempt. It logs a warning for the first failed attempt of an outage, and
// repeats it after repeatPeriod.
func (o *outage) begin(logger *zap.Logger, text string, err error) {
	if !o.lasts {
		o.lasts, o.logged = true, false
	}
	pause := outagePause
	if o.logged {
		pause = repeatPeriod
	}
	if !o.warned.IsZero() && time.Since(o.warned) < pause {
		return
	}
	o.logged, o.warned = true, time.Now()
	logger.Warn(text, zap.Error(err))
}

// end notes a successful attempt.
func (o *outage) end(logger *zap.Logger) {
	if o.lasts && o.logged {
		logger.Info("The backends can be resolved again.")
	}
	o.lasts = false
}
