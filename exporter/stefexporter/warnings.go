// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"sync"
	"time"
)

// warnings has the warnings that a peer does not answer. All signals of an exporter notice this, and
// one line in the log is enough.
type warnings struct {
	mu    sync.Mutex
	about map[string]warning // by endpoint; "" for all backends
}

type warning struct {
	by    any       // the signal that logged the warning
	ended time.Time // zero while this signal has the problem and the endpoint answers no signal
}

// first reports whether to log that the endpoint does not answer. It returns false if another signal
// has logged it, and the problem lasts or has ended less than logPeriod ago.
func (w *warnings) first(endpoint string, by any) bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, one := range w.about { // endpoints of backends may change for ever
		if !one.ended.IsZero() && time.Since(one.ended) >= logPeriod {
			delete(w.about, key)
		}
	}
	if last, ok := w.about[endpoint]; ok && last.by != by {
		return false
	}
	if w.about == nil {
		w.about = map[string]warning{}
	}
	w.about[endpoint] = warning{by: by}
	return true
}

// answers notes that the endpoint answers one of the signals. This ends the warning about the
// endpoint, also if another signal logged the warning. The other signal may have no batches, so it
// does not notice that its problem is over. Then its old warning would suppress the warnings about
// all later problems.
func (w *warnings) answers(endpoint string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, ok := w.about[endpoint]; ok && one.ended.IsZero() {
		one.ended = time.Now()
		w.about[endpoint] = one
	}
}

// end notes that the problem of the signal by is over.
func (w *warnings) end(by any) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, one := range w.about {
		if one.by == by && one.ended.IsZero() {
			one.ended = time.Now()
			w.about[key] = one
		}
	}
}
