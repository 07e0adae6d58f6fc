// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// failuresUntilBad is the number of consecutive failures that indicate a problem.
// A single failure may be a peer that restarts.
const failuresUntilBad = 2

// firstWord is the time after which the log says that the peer has not answered.
const firstWord = 3 * time.Second

// health reports the status of the exporter to the Collector, and logs when it
// changes.
type health struct {
	config *Config
	host   component.Host
	logger *zap.Logger
	target string // where nothing can be sent to

	mu       sync.Mutex
	failures int
	status   componentstatus.Status
	cause    string    // cause of the last warning
	warned   time.Time // time of the last warning
}

func newHealth(c *Config, host component.Host, logger *zap.Logger) *health {
	return &health{config: c, host: host, logger: logger, status: componentstatus.StatusStarting}
}

// recovered records that data is delivered.
func (h *health) recovered(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = 0
	if h.change(componentstatus.StatusOK) {
		h.logger.Info(why)
		componentstatus.ReportStatus(h.host, componentstatus.NewEvent(componentstatus.StatusOK))
	}
}

// failing records a failure that may be temporary.
func (h *health) failing(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures++
	if h.failures < failuresUntilBad {
		return
	}
	changed := h.change(componentstatus.StatusRecoverableError)
	if !changed && !h.newCause(err) {
		return
	}
	h.cause, h.warned = causeOf(err), time.Now()
	err = h.config.explain(plain(err))
	h.logger.Warn(fmt.Sprintf("Nothing can be sent%s at present.", h.target), zap.Error(err))
	if changed {
		componentstatus.ReportStatus(h.host, componentstatus.NewRecoverableErrorEvent(err))
	}
}

// refused records an answer of the peer that ends the attempts until the next
// probe, minutes later. So one is enough for a warning.
func (h *health) refused(err error) {
	h.mu.Lock()
	h.failures = max(h.failures, failuresUntilBad-1)
	h.mu.Unlock()
	h.failing(err)
}

// newCause reports whether a failure has another cause than the one that was
// logged. Causes that alternate are not logged each time.
func (h *health) newCause(err error) bool {
	return h.status == componentstatus.StatusRecoverableError && causeOf(err) != h.cause && time.Since(h.warned) >= logPeriod
}

// known records a failure that the caller logs; a nil err records its end.
func (h *health) known(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	status, event := componentstatus.StatusOK, componentstatus.NewEvent(componentstatus.StatusOK)
	h.failures = 0
	if err != nil {
		h.failures, h.cause, h.warned = failuresUntilBad, causeOf(err), time.Now()
		status, event = componentstatus.StatusRecoverableError, componentstatus.NewRecoverableErrorEvent(err)
	}
	if h.change(status) {
		componentstatus.ReportStatus(h.host, event)
	}
}

// stalled records that nothing was delivered since the start, and that nothing
// failed.
func (h *health) stalled() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.status == componentstatus.StatusStarting {
		h.logger.Warn("No stream is open yet. Batches wait until the peer answers.",
			zap.String("endpoint", h.config.ClientConfig.Endpoint), zap.Stringer("waiting", firstWord))
	}
}

// failedPermanently records a failure that is permanent with this configuration.
func (h *health) failedPermanently(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.change(componentstatus.StatusPermanentError) {
		err = h.config.explain(plain(err))
		h.logger.Error("Nothing can be sent to this peer.", zap.Error(err))
		componentstatus.ReportStatus(h.host, componentstatus.NewPermanentErrorEvent(err))
	}
}

// change sets the status. No status follows a permanent error.
func (h *health) change(to componentstatus.Status) bool {
	if h.status == to || h.status == componentstatus.StatusPermanentError {
		return false
	}
	h.status = to
	return true
}
