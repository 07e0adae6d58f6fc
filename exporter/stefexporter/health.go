// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// failuresUntilBad is the number of consecutive failures to open a stream or to send a
// request that indicate a problem. A single failure may be a peer that restarts.
const failuresUntilBad = 2

// repeatPeriod is the time after which a warning may be repeated while a problem lasts.
const repeatPeriod = 5 * time.Minute

// answerTimeout is the time after which the log says that the peer has not answered, or accepts no requests.
const answerTimeout = 3 * time.Second

// health reports the status of the exporter to the Collector, and logs when the status
// changes. The texts of its log lines contain signal and endpoint: by default, the Collector logs
// only 10 equal texts in 10 seconds, and several exporters often fail at the same time.
type health struct {
	config *Config
	host   component.Host
	logger *zap.Logger
	signal string

	warnings *warnings // of all signals; nil in tests

	mu          sync.Mutex
	failures    int       // consecutive failed attempts to open a stream or to send a request
	returned    time.Time // when a stream first handed back a batch since the last acknowledgement
	undelivered bool      // the problem is that open streams hand batches back
	silent      bool      // the peer did not answer when the problem was last noticed
	status      componentstatus.Status
	cause       string    // cause of the last warning and of the status
	said        []string  // causes of all warnings about the problem
	warned      time.Time // time of the last warning
	noticed     time.Time // when the problem was last noticed
	quiet       bool      // the problem began without a warning, so its end is not logged either

	acceptedAt time.Time // when the peer last accepted a request or acknowledged a batch

	worked map[string]bool // endpoints to which a stream was open, or that accepted a request
}

func newHealth(c *Config, signal string, host component.Host, logger *zap.Logger) *health {
	return &health{config: c, signal: signal, host: host, logger: logger, status: componentstatus.StatusStarting, worked: map[string]bool{}}
}

// opened records that a stream is open. This ends a problem, unless open streams hand batches
// back: then only an acknowledgement ends the problem.
func (h *health) opened() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = 0
	h.worked[h.config.ClientConfig.Endpoint] = true
	if !h.undelivered {
		h.good("A STEF stream is open", h.config.ClientConfig.Endpoint)
	}
}

func (h *health) accepted() {
	h.mu.Lock()
	h.worked[h.config.otlpEndpoint()] = true
	h.mu.Unlock()
	h.recovered("OTLP requests are accepted", h.config.otlpEndpoint())
}

// answered reports false while nothing can be delivered because the peer does not answer.
func (h *health) answered() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.silent
}

func (h *health) explain(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.config.explainAfter(err, h.worked)
}

// recovered records that data is delivered.
func (h *health) recovered(why, endpoint string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acceptedAt = time.Now()
	h.failures, h.returned, h.undelivered = 0, time.Time{}, false
	h.good(why, endpoint)
}

// good reports StatusOK if the status was different. The caller must hold the lock.
func (h *health) good(why, endpoint string) {
	h.silent = false
	h.warnings.answers(endpoint)
	if !h.change(componentstatus.StatusOK) {
		return
	}
	h.warnings.end(h)
	if !h.quiet {
		h.logger.Info(fmt.Sprintf("%s: %s to %s.", why, h.signal, endpoint))
	}
	h.quiet = false
	componentstatus.ReportStatus(h.host, componentstatus.NewEvent(componentstatus.StatusOK))
}

// failing records a failure that may be temporary.
func (h *health) failing(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures++
	if h.failures >= failuresUntilBad {
		h.bad(err, false)
	}
}

// works reports whether the peer still accepts data, although it has just refused a batch: it accepted
// data less than answerTimeout ago. Then the failure does not change the status. If, for example, half of the
// servers behind one name are overloaded, the status would otherwise change with almost every batch. The
// caller must hold the lock.
func (h *health) works(code codes.Code) bool {
	return !h.acceptedAt.IsZero() && time.Since(h.acceptedAt) < answerTimeout && !refusesCredentials(code)
}

// requestFailed records a failed OTLP request.
func (h *health) requestFailed(err error, code codes.Code) {
	h.mu.Lock()
	works := h.works(code)
	h.mu.Unlock()
	if !works {
		h.failing(err)
	}
}

// streamFailed records that a stream was lost or could not be opened. If the failure is an answer
// of the peer, it may be ignored, as in requestFailed. Without an answer, it is always recorded:
// then all streams fail, even if the peer accepted data a moment ago.
func (h *health) streamFailed(err error) {
	h.mu.Lock()
	works := h.works(stefgrpc.FromStatus(err).Code) && answerOf(err) != nil
	h.mu.Unlock()
	if !works {
		h.failing(err)
	}
}

// handedBack records a batch that a stream did not deliver; opened is when the stream was
// opened. A stream may hand back many batches when it ends. This becomes a problem only if a
// later stream, opened after the first failure, also hands back a batch.
func (h *health) handedBack(opened time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.returned.IsZero():
		h.returned = time.Now()
	case opened.After(h.returned) && !h.works(stefgrpc.FromStatus(err).Code):
		h.bad(err, true)
	}
}

// bad reports a problem, if it is new. The caller must hold the lock.
func (h *health) bad(err error, undelivered bool) {
	h.silent = answerOf(err) == nil
	cause := causeOf(err)
	lately := cause == h.cause && time.Since(h.warned) < logPeriod
	changed := h.change(componentstatus.StatusRecoverableError)
	// Without batches, an exporter of OTLP does not notice the end of an outage. So after a long time without a
	// failure, this may be another outage.
	again := h.status == componentstatus.StatusRecoverableError && time.Since(h.noticed) >= repeatPeriod
	h.noticed = time.Now()
	if !changed && !again && !h.newCause(cause, stefgrpc.FromStatus(err).Kind == stefgrpc.KindAuth) {
		return
	}
	h.undelivered = undelivered
	err = plain(err)
	endpoint := h.config.endpointOf(err)
	err = h.config.explainAfter(err, h.worked)
	// Each report restarts the recovery_duration of health_check, so do not report the same
	// cause twice in a row.
	if changed || cause != h.cause {
		componentstatus.ReportStatus(h.host, componentstatus.NewRecoverableErrorEvent(err))
	}
	// A peer may accept and refuse batches in turn: do not log every change.
	quiet := h.quiet
	if h.quiet = changed && undelivered && lately; h.quiet {
		return
	}
	what := "sent"
	if undelivered {
		what = "delivered"
	}
	if changed || again {
		h.said = nil
	}
	h.cause, h.said, h.warned = cause, append(h.said, cause), time.Now()
	if !h.silent {
		h.warnings.end(h)
	} else if !undelivered && !h.warnings.first(endpoint, h) { // another signal logged it
		h.quiet = changed || again || quiet
		return
	}
	h.logger.Warn(fmt.Sprintf("No %s can be %s to %s at present.", h.signal, what, endpoint), zap.Error(err))
}

// refused records an answer of the peer that refuses all streams. One such answer is
// enough for a warning.
func (h *health) refused(err error) {
	h.mu.Lock()
	h.failures = max(h.failures, failuresUntilBad-1)
	h.mu.Unlock()
	h.failing(err)
}

// newCause reports whether to log the cause of a failure while a problem lasts. The cause of
// the last warning is not logged again. A new cause that is not vague is logged if the last
// warning is older than logPeriod. An earlier cause is logged again if the last warning is
// older than repeatPeriod. A new refusal of credentials is logged at once: the last warning
// often says that the peer is down. If the problem was not logged, any cause is logged after
// logPeriod.
func (h *health) newCause(cause string, refused bool) bool {
	switch {
	case h.status != componentstatus.StatusRecoverableError:
		return false
	case h.quiet:
		return time.Since(h.warned) >= logPeriod
	case cause == h.cause:
		return false
	case slices.Contains(h.said, cause):
		return time.Since(h.warned) >= repeatPeriod
	}
	return refused || !vague(cause) && time.Since(h.warned) >= logPeriod
}

// vague reports whether a cause only says that the connection broke. A peer that refuses
// connections sometimes causes only such an error.
func vague(cause string) bool {
	return cause == stefgrpc.KindUnavailable.String()+" "+codeName(codes.Unavailable)
}

// known sets the status for a failure that the caller logs. A nil err ends the failure. It reports
// whether to log the failure or its end.
func (h *health) known(err error) (log bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	status, event := componentstatus.StatusOK, componentstatus.NewEvent(componentstatus.StatusOK)
	log = !h.quiet
	h.failures, h.returned, h.undelivered, h.silent, h.quiet = 0, time.Time{}, false, false, false
	if err == nil {
		h.warnings.end(h)
	} else {
		log = answerOf(err) != nil || h.warnings.first(h.config.ClientConfig.Endpoint, h)
		h.failures, h.cause, h.warned, h.noticed, h.quiet = failuresUntilBad, causeOf(err), time.Now(), time.Now(), !log
		h.said = []string{h.cause}
		status, event = componentstatus.StatusRecoverableError, componentstatus.NewRecoverableErrorEvent(err)
	}
	if h.change(status) {
		componentstatus.ReportStatus(h.host, event)
	}
	return log
}

// stalled is called when the time answerTimeout has passed since a route was created, unless the peer
// has refused streams. It logs a warning if nothing has succeeded and no problem was reported.
func (h *health) stalled() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.status == componentstatus.StatusStarting {
		h.logger.Warn(fmt.Sprintf("No stream of %s to %s is open yet. Batches wait until the peer answers.", h.signal, h.config.ClientConfig.Endpoint),
			zap.Stringer("waiting", answerTimeout))
	}
}

// failedPermanently records a failure that is permanent with this configuration.
func (h *health) failedPermanently(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.change(componentstatus.StatusPermanentError) {
		err = plain(err)
		endpoint := h.config.endpointOf(err)
		err = h.config.explain(err)
		h.logger.Error(fmt.Sprintf("No %s can be sent to %s.", h.signal, endpoint), zap.Error(err))
		componentstatus.ReportStatus(h.host, componentstatus.NewPermanentErrorEvent(err))
	}
}

// change sets the status and reports whether it changed. A permanent error is never replaced.
func (h *health) change(to componentstatus.Status) bool {
	if h.status == to || h.status == componentstatus.StatusPermanentError {
		return false
	}
	h.status = to
	return true
}
