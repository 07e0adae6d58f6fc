// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import "github.com/otelstef/stef/internal/otlpfile"

// emptyContainers counts the resources, scopes and metrics of a batch that have no items. The
// encoders of streams count them in the same way.
func emptyContainers(b otlpfile.Batch) (n uint64) {
	count := func(items int) {
		if items == 0 {
			n++
		}
	}
	switch b.Signal {
	case otlpfile.Metrics:
		for _, r := range b.Metrics.ResourceMetrics().All() {
			count(r.ScopeMetrics().Len())
			for _, s := range r.ScopeMetrics().All() {
				count(s.Metrics().Len())
				for _, m := range s.Metrics().All() {
					count(otlpfile.Points(m))
				}
			}
		}
	case otlpfile.Traces:
		for _, r := range b.Traces.ResourceSpans().All() {
			count(r.ScopeSpans().Len())
			for _, s := range r.ScopeSpans().All() {
				count(s.Spans().Len())
			}
		}
	case otlpfile.Logs:
		for _, r := range b.Logs.ResourceLogs().All() {
			count(r.ScopeLogs().Len())
			for _, s := range r.ScopeLogs().All() {
				count(s.LogRecords().Len())
			}
		}
	}
	return n
}
