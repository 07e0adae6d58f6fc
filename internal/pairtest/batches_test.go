// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/teltest"
)

// benchItems is how many items a batch of a benchmark has.
const benchItems = 8192

// traceBatches, metricBatches and logBatches cut recorded telemetry into
// batches of benchItems. What is left at the end is dropped, unless it is all
// there is.
func traceBatches(b *testing.B, path string) []ptrace.Traces {
	var list []ptrace.Traces
	out, n := ptrace.NewTraces(), 0
	for _, part := range teltest.Parts(b, teltest.Data(b, "traces", path)) {
		td, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(part)
		require.NoError(b, err)
		for _, rs := range td.ResourceSpans().All() {
			var to ptrace.ResourceSpans
			fresh := true
			for _, ss := range rs.ScopeSpans().All() {
				var scope ptrace.ScopeSpans
				newScope := true
				for _, span := range ss.Spans().All() {
					if n == benchItems {
						list = append(list, out)
						out, n, fresh, newScope = ptrace.NewTraces(), 0, true, true
					}
					if fresh {
						to = out.ResourceSpans().AppendEmpty()
						rs.Resource().CopyTo(to.Resource())
						to.SetSchemaUrl(rs.SchemaUrl())
						fresh, newScope = false, true
					}
					if newScope {
						scope = to.ScopeSpans().AppendEmpty()
						ss.Scope().CopyTo(scope.Scope())
						scope.SetSchemaUrl(ss.SchemaUrl())
						newScope = false
					}
					span.CopyTo(scope.Spans().AppendEmpty())
					n++
				}
			}
		}
	}
	return list
}

func metricBatches(b *testing.B, path string) []pmetric.Metrics {
	var list []pmetric.Metrics
	out, n := pmetric.NewMetrics(), 0
	for _, part := range teltest.Parts(b, teltest.Data(b, "metrics", path)) {
		md, err := new(pmetric.ProtoUnmarshaler).UnmarshalMetrics(part)
		require.NoError(b, err)
		for _, rm := range md.ResourceMetrics().All() {
			// A resource at a time is close enough: they have some hundred points.
			one := pmetric.NewMetrics()
			rm.CopyTo(one.ResourceMetrics().AppendEmpty())
			points := one.DataPointCount()
			if n > 0 && n+points > benchItems {
				list = append(list, out)
				out, n = pmetric.NewMetrics(), 0
			}
			one.ResourceMetrics().MoveAndAppendTo(out.ResourceMetrics())
			n += points
		}
	}
	return list
}

func logBatches(b *testing.B, path string) []plog.Logs {
	var list []plog.Logs
	out, n := plog.NewLogs(), 0
	for _, part := range teltest.Parts(b, teltest.Data(b, "logs", path)) {
		ld, err := new(plog.ProtoUnmarshaler).UnmarshalLogs(part)
		require.NoError(b, err)
		for _, rl := range ld.ResourceLogs().All() {
			one := plog.NewLogs()
			rl.CopyTo(one.ResourceLogs().AppendEmpty())
			records := one.LogRecordCount()
			if n > 0 && n+records > benchItems {
				list = append(list, out)
				out, n = plog.NewLogs(), 0
			}
			one.ResourceLogs().MoveAndAppendTo(out.ResourceLogs())
			n += records
		}
	}
	if len(list) == 0 {
		list = append(list, out)
	}
	return list
}
