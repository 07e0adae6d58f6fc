// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// loss is the number of spans that were lost in one place: a component accepted them but did
// not pass them on, or the next component did not count them.
type loss struct {
	where string
	spans int
	why   string
}

// stage is a component with the numbers of spans that it accepted and passed on.
type stage struct {
	name    string
	in, out int
}

// stages returns the components in the order in which spans pass them: from the
// receiver, which has acknowledged them, to the sink.
func (r *result) stages(final map[string]float64) []stage {
	list := []stage{{"receiver", r.acknowledged, r.accepted}}
	for _, p := range r.processors {
		list = append(list, stage{p, int(final[itemsOf(metricConsumed, p)]), int(final[itemsOf(metricProduced, p)])})
	}
	return append(list, stage{"exporter", int(final[itemsOf(metricExported, "stef")]), r.sent}, stage{"sink", r.sent, r.arrived + r.twice})
}

// account says which component lost spans. The sum of the losses is the number of
// acknowledged spans that did not arrive.
func (r *result) account(final map[string]float64) []loss {
	var losses []loss
	before := r.acknowledged
	for _, s := range r.stages(final) {
		if n := before - s.in; n != 0 {
			losses = append(losses, loss{"before " + s.name, n, "not counted by it"})
		}
		if n := s.in - s.out; n != 0 {
			losses = append(losses, loss{s.name, n, r.reason(s.name, final)})
		}
		before = s.out
	}
	if r.twice > 0 {
		losses = append(losses, loss{"sink", r.twice, "arrived twice"})
	}
	return losses
}

// reason returns what the counters of a component say about its loss.
func (r *result) reason(name string, final map[string]float64) string {
	evicted := int(final[metricEvicted])
	if name == "tail_sampling" {
		evicted = int(final[metricTooEarly])
	}
	switch {
	case name != "groupbytrace" && name != "tail_sampling":
		return "no counter explains it"
	case evicted > 0:
		return fmt.Sprintf("%d traces evicted", evicted)
	case name == "groupbytrace" && r.wholly == 0:
		return "added to traces that were being released, no counter of its own"
	}
	return "no counter explains it"
}

func (r *result) lossText() string {
	if len(r.losses) == 0 {
		return "-"
	}
	var list []string
	for _, l := range r.losses {
		list = append(list, fmt.Sprintf("%s: %d (%s)", l.where, l.spans, l.why))
	}
	return strings.Join(list, "; ")
}

// sample holds what the Collector and the sink report at one time.
type sample struct {
	at      time.Duration
	metrics map[string]float64
	arrived int
	cpu     time.Duration
}

// sample reads the metrics of the Collector each second until ctx ends. It stores a sample after
// each interval r.every.
func (r *result) sample(ctx context.Context, url string, pid int, to *sink) {
	begin := time.Now()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for next := time.Duration(0); ; {
		if m, err := scrape(url); err == nil {
			r.heap = max(r.heap, int64(m[metricHeap]))
			if at := time.Since(begin); at >= next {
				next += r.every
				cpu, _ := cpuTime(pid) // 0 if the process has ended
				to.mu.Lock()
				arrived := to.got
				to.mu.Unlock()
				r.series = append(r.series, sample{at, m, arrived, cpu})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
