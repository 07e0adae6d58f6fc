// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import "go.opentelemetry.io/collector/pdata/plog"

// MergeLogs is like MergeMetrics for the resources and scopes of log records.
func (o Options) MergeLogs(lds ...plog.Logs) plog.Logs {
	out := plog.NewLogs()
	var resource, scope container
	var rlOut plog.ResourceLogs
	var slOut plog.ScopeLogs
	for _, ld := range lds {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				if sl.LogRecords().Len() == 0 {
					continue
				}
				if !resource.same(o.content(func(t *text) { t.resource(rl.Resource(), rl.SchemaUrl()) })) {
					rlOut = out.ResourceLogs().AppendEmpty()
					rl.Resource().CopyTo(rlOut.Resource())
					rlOut.SetSchemaUrl(rl.SchemaUrl())
					o.sort(rlOut.Resource().Attributes())
					scope.open = false
				}
				if !scope.same(o.content(func(t *text) { t.scope(sl.Scope(), sl.SchemaUrl()) })) {
					slOut = rlOut.ScopeLogs().AppendEmpty()
					sl.Scope().CopyTo(slOut.Scope())
					slOut.SetSchemaUrl(sl.SchemaUrl())
					o.sort(slOut.Scope().Attributes())
				}
				for _, r := range sl.LogRecords().All() {
					c := slOut.LogRecords().AppendEmpty()
					r.CopyTo(c)
					o.sort(c.Attributes())
				}
			}
		}
	}
	return out
}
