// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
)

// begin is the time of the first synthetic item.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Spans generates the n-th batch of a client: spans with small attributes, as in the
// benchmark in appendix B of OTEP 0035.
func Spans(spans, attributes int, n uint64) otlpfile.Batch {
	return spansOf(longTrace, spans, attributes, n)
}

// longTrace is the number of spans of a trace in appendix B of OTEP 0035.
const longTrace = 10

// spansOf generates the same batch as Spans, but with inTrace spans in each trace.
func spansOf(inTrace, spans, attributes int, n uint64) otlpfile.Batch {
	random := rand.New(rand.NewPCG(35, n))
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "load-generator")
	rs.Resource().Attributes().PutStr("service.instance.id", "instance-1")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("benchmark")
	var trace pcommon.TraceID
	var parent pcommon.SpanID
	now := begin.Add(time.Duration(n) * time.Second)
	for i := range spans {
		if i%inTrace == 0 {
			fill(random, trace[:])
			parent = pcommon.SpanID{}
		}
		span := ss.Spans().AppendEmpty()
		var id pcommon.SpanID
		fill(random, id[:])
		span.SetTraceID(trace)
		span.SetSpanID(id)
		span.SetParentSpanID(parent)
		parent = id
		span.SetName("load-generator-span")
		span.SetKind(ptrace.SpanKindClient)
		start := now.Add(time.Duration(i) * 137 * time.Microsecond)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(random.IntN(5e6)))))
		span.Attributes().PutInt("load_generator.span_seq_num", int64(n)*int64(spans)+int64(i))
		span.Attributes().PutInt("load_generator.trace_seq_num", int64(n)*int64(spans)/int64(inTrace)+int64(i/inTrace))
		for k := 2; k < attributes; k++ {
			span.Attributes().PutStr("attribute_"+strconv.Itoa(k), fmt.Sprintf("value %d of %d", random.IntN(20), k))
		}
	}
	return otlpfile.TracesBatch(td)
}

func fill(random *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(random.Uint32())
	}
}
