// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// spansOf is the number of spans of a trace: each service of the trace sends spansPerService spans.
const (
	servicesPerTrace = 5
	spansPerService  = 4
	spansOf          = servicesPerTrace * spansPerService
)

// part is the spans that one service reports for one trace. It has only numbers; batch creates
// the spans.
type part struct {
	due     time.Time
	trace   int
	service int
}

// parts is a priority queue of parts, ordered by time.
type parts []part

func (p parts) Len() int           { return len(p) }
func (p parts) Less(i, j int) bool { return p[i].due.Before(p[j].due) }
func (p parts) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *parts) Push(x any)        { *p = append(*p, x.(part)) }
func (p *parts) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// load generates traces whose services report at different times: most within half
// a second, in any order. One report in 200 arrives after the processors have
// released its trace.
type load struct {
	random *rand.Rand
	late   time.Duration
	queue  parts
	traces int
}

func (l *load) begin(now time.Time) {
	for service := range servicesPerTrace {
		delay := time.Duration(l.random.Int64N(int64(500 * time.Millisecond)))
		if l.random.IntN(200) == 0 {
			delay += l.late
		}
		heap.Push(&l.queue, part{now.Add(delay), l.traces, service})
	}
	l.traces++
}

// batch returns the spans that are due, and their number. The argument most bounds the number
// of parts.
func (l *load) batch(now time.Time, most int) (ptrace.Traces, int) {
	td := ptrace.NewTraces()
	services := map[int]ptrace.SpanSlice{}
	n := 0
	for n < most && len(l.queue) > 0 && !l.queue[0].due.After(now) {
		p := heap.Pop(&l.queue).(part)
		spans, ok := services[p.service]
		if !ok {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", fmt.Sprintf("service-%d", p.service))
			rs.Resource().Attributes().PutStr("host.name", fmt.Sprintf("host-%d", p.service%3))
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName("study")
			spans = ss.Spans()
			services[p.service] = spans
		}
		for i := range spansPerService {
			l.span(spans.AppendEmpty(), p, i, now)
		}
		n++
	}
	return td, n * spansPerService
}

func (l *load) span(s ptrace.Span, p part, i int, now time.Time) {
	number := uint64(p.trace)*spansOf + uint64(p.service*spansPerService+i)
	var trace pcommon.TraceID
	binary.BigEndian.PutUint64(trace[:8], uint64(p.trace+1)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(trace[8:], uint64(p.trace))
	var id, parent pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], number+1)
	binary.BigEndian.PutUint64(parent[:], number)
	s.SetTraceID(trace)
	s.SetSpanID(id)
	if i > 0 {
		s.SetParentSpanID(parent)
	}
	s.SetName([]string{"GET /cart", "SELECT orders", "publish order", "render"}[i])
	s.SetKind(ptrace.SpanKind(1 + i%4))
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(now.Add(-time.Duration(l.random.IntN(int(20 * time.Millisecond))))))
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(now))
	s.Attributes().PutStr("http.request.method", "GET")
	s.Attributes().PutInt("http.response.status_code", []int64{200, 200, 200, 404, 500}[l.random.IntN(5)])
	s.Attributes().PutStr("url.path", fmt.Sprintf("/cart/%d", l.random.IntN(1000)))
}
