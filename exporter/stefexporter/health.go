// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// failuresUntilBad is after how many failures in a row, with no success in
// between, something is wrong: one is a peer that restarts.
const failuresUntilBad = 2

// health tells the Collector how the exporter is, and the log when that
// changes.
type health struct {
	host   component.Host
	logger *zap.Logger

	mu       sync.Mutex
	failures int
	status   componentstatus.Status
}

func newHealth(host component.Host, logger *zap.Logger) *health {
	return &health{host: host, logger: logger, status: componentstatus.StatusStarting}
}

// good notes that data get through.
func (h *health) good(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = 0
	if h.change(componentstatus.StatusOK) {
		h.logger.Info(why)
		componentstatus.ReportStatus(h.host, componentstatus.NewEvent(componentstatus.StatusOK))
	}
}

// bad notes that they do not, which may pass.
func (h *health) bad(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures++
	if h.failures >= failuresUntilBad && h.change(componentstatus.StatusRecoverableError) {
		err = hinted(err)
		h.logger.Warn("Nothing can be sent at present.", zap.Error(err))
		componentstatus.ReportStatus(h.host, componentstatus.NewRecoverableErrorEvent(err))
	}
}

// broken notes that they never will as things are.
func (h *health) broken(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.change(componentstatus.StatusPermanentError) {
		err = hinted(err)
		h.logger.Error("Nothing can be sent to this peer.", zap.Error(err))
		componentstatus.ReportStatus(h.host, componentstatus.NewPermanentErrorEvent(err))
	}
}

// change sets the status. A permanent error is the last one.
func (h *health) change(to componentstatus.Status) bool {
	if h.status == to || h.status == componentstatus.StatusPermanentError {
		return false
	}
	h.status = to
	return true
}
