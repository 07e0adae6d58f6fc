// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// cutTraces copies the spans of batches to new batches of n spans. The last batch may be smaller.
func cutTraces(batches []ptrace.Traces, n int) []ptrace.Traces {
	var out []ptrace.Traces
	now, left := ptrace.NewTraces(), n
	for _, td := range batches {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				var dst ptrace.ScopeSpans
				open := false
				for _, span := range ss.Spans().All() {
					if !open {
						r := now.ResourceSpans().AppendEmpty()
						rs.Resource().CopyTo(r.Resource())
						r.SetSchemaUrl(rs.SchemaUrl())
						dst = r.ScopeSpans().AppendEmpty()
						ss.Scope().CopyTo(dst.Scope())
						dst.SetSchemaUrl(ss.SchemaUrl())
						open = true
					}
					span.CopyTo(dst.Spans().AppendEmpty())
					if left--; left == 0 {
						out, now, left, open = append(out, now), ptrace.NewTraces(), n, false
					}
				}
			}
		}
	}
	if left < n {
		out = append(out, now)
	}
	return out
}

// cutLogs is like cutTraces, but for logs.
func cutLogs(batches []plog.Logs, n int) []plog.Logs {
	var out []plog.Logs
	now, left := plog.NewLogs(), n
	for _, ld := range batches {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				var dst plog.ScopeLogs
				open := false
				for _, record := range sl.LogRecords().All() {
					if !open {
						r := now.ResourceLogs().AppendEmpty()
						rl.Resource().CopyTo(r.Resource())
						r.SetSchemaUrl(rl.SchemaUrl())
						dst = r.ScopeLogs().AppendEmpty()
						sl.Scope().CopyTo(dst.Scope())
						dst.SetSchemaUrl(sl.SchemaUrl())
						open = true
					}
					record.CopyTo(dst.LogRecords().AppendEmpty())
					if left--; left == 0 {
						out, now, left, open = append(out, now), plog.NewLogs(), n, false
					}
				}
			}
		}
	}
	if left < n {
		out = append(out, now)
	}
	return out
}

// cutMetrics is like cutTraces, but for metrics. It cuts only between metrics.
func cutMetrics(batches []pmetric.Metrics, n int) []pmetric.Metrics {
	var out []pmetric.Metrics
	now := pmetric.NewMetrics()
	for _, md := range batches {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				var dst pmetric.ScopeMetrics
				open := false
				for _, m := range sm.Metrics().All() {
					if !open {
						r := now.ResourceMetrics().AppendEmpty()
						rm.Resource().CopyTo(r.Resource())
						r.SetSchemaUrl(rm.SchemaUrl())
						dst = r.ScopeMetrics().AppendEmpty()
						sm.Scope().CopyTo(dst.Scope())
						dst.SetSchemaUrl(sm.SchemaUrl())
						open = true
					}
					m.CopyTo(dst.Metrics().AppendEmpty())
					if now.DataPointCount() >= n {
						out, now, open = append(out, now), pmetric.NewMetrics(), false
					}
				}
			}
		}
	}
	if now.DataPointCount() > 0 {
		out = append(out, now)
	}
	return out
}
