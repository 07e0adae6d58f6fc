// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import "go.opentelemetry.io/collector/pdata/ptrace"

// MergeTraces is like MergeMetrics for the resources and scopes of spans.
func (o Options) MergeTraces(tds ...ptrace.Traces) ptrace.Traces {
	out := ptrace.NewTraces()
	var resource, scope container
	var rsOut ptrace.ResourceSpans
	var ssOut ptrace.ScopeSpans
	for _, td := range tds {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				if ss.Spans().Len() == 0 {
					continue
				}
				if !resource.same(o.content(func(t *text) { t.resource(rs.Resource(), rs.SchemaUrl()) })) {
					rsOut = out.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(rsOut.Resource())
					rsOut.SetSchemaUrl(rs.SchemaUrl())
					o.sort(rsOut.Resource().Attributes())
					scope.open = false
				}
				if !scope.same(o.content(func(t *text) { t.scope(ss.Scope(), ss.SchemaUrl()) })) {
					ssOut = rsOut.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(ssOut.Scope())
					ssOut.SetSchemaUrl(ss.SchemaUrl())
					o.sort(ssOut.Scope().Attributes())
				}
				for _, s := range ss.Spans().All() {
					c := ssOut.Spans().AppendEmpty()
					s.CopyTo(c)
					o.sortSpan(c)
				}
			}
		}
	}
	return out
}
