// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// TestTracesOfManyKeys: spans with three attributes, in any order, keep their attributes while
// other spans have thousands of different keys.
func TestTracesOfManyKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var tds []ptrace.Traces
	for n := range 20 {
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := range 500 {
			span := spans.AppendEmpty()
			span.SetName("many")
			span.Attributes().PutStr(fmt.Sprint("key", n, ".", i), "value")
			span = spans.AppendEmpty()
			span.SetName("few")
			for _, k := range r.Perm(3) {
				span.Attributes().PutStr(fmt.Sprint("k", k), fmt.Sprint("value of ", k))
			}
		}
		tds = append(tds, td)
	}
	for _, mode := range modes {
		requireSameTraces(t, mode, tds, decodeTraces(t, encodeTraces(t, tds, mode)))
	}
}
