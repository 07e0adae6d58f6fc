// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// weighed returns the number of messages in a message, as a reader counts them.
func weighed(t *testing.T, s Signal, message []byte, err error) int {
	require.NoError(t, err)
	c := &columns{otlps: maxTotal}
	require.NoError(t, guard(func() error {
		c.checkOTLP(0, message, rowMessages[s], 0)
		return nil
	}))
	return maxTotal - c.otlps
}

// fill puts values of all types into a map: 24 messages with n = 2.
func fill(m pcommon.Map, n int) {
	m.PutStr("text", "v")
	m.PutInt("number", 1)
	m.PutEmpty("none")
	list := m.PutEmptySlice("list")
	for range n {
		list.AppendEmpty().SetEmptySlice().AppendEmpty().SetEmptyMap().PutEmpty("k").SetBool(true)
	}
	m.PutEmptyMap("map").PutEmptySlice("list").AppendEmpty()
}

// TestWeight: a writer counts as many messages of OTLP as a reader does, or up to baseMessages more.
func TestWeight(t *testing.T) {
	b, err := NewBuilder(Arrow, Metrics, nil)
	require.NoError(t, err)
	defer b.Release()
	r := b.rows
	container := func(res pcommon.Resource, scope pcommon.InstrumentationScope) {
		fill(res.Attributes(), 2)
		for range 3 {
			entity.ResourceEntityRefs(res).AppendEmpty().SetType("host")
		}
		fill(scope.Attributes(), 3)
		r.setResource(res, "")
		r.setScope(scope, "")
	}
	check := func(w weight, count int) {
		t.Helper()
		w.add(r.ofResource)
		w.add(r.ofScope)
		require.GreaterOrEqual(t, w.messages, count)
		require.LessOrEqual(t, w.messages, count+baseMessages)
	}
	point := func(set func(pmetric.Metric) weight) {
		t.Helper()
		md := pmetric.NewMetrics()
		rm := md.ResourceMetrics().AppendEmpty()
		sm := rm.ScopeMetrics().AppendEmpty()
		container(rm.Resource(), sm.Scope())
		m := sm.Metrics().AppendEmpty()
		fill(m.Metadata(), 4)
		w := set(m)
		b.points.enter(m)
		w.add(b.points.ofMetric)
		message, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
		check(w, weighed(t, Metrics, message, err))
	}
	exemplars := func(e pmetric.ExemplarSlice) {
		for range 5 {
			fill(e.AppendEmpty().FilteredAttributes(), 2)
		}
	}
	point(func(m pmetric.Metric) (w weight) {
		p := m.SetEmptySum().DataPoints().AppendEmpty()
		fill(p.Attributes(), 5)
		exemplars(p.Exemplars())
		weighNumber(&w, p)
		return w
	})
	point(func(m pmetric.Metric) (w weight) {
		p := m.SetEmptyHistogram().DataPoints().AppendEmpty()
		fill(p.Attributes(), 5)
		exemplars(p.Exemplars())
		weighHistogram(&w, p)
		return w
	})
	point(func(m pmetric.Metric) (w weight) {
		p := m.SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
		p.Positive().SetOffset(1)
		p.Negative().SetOffset(1)
		fill(p.Attributes(), 5)
		exemplars(p.Exemplars())
		weighExponential(&w, p)
		return w
	})
	point(func(m pmetric.Metric) (w weight) {
		p := m.SetEmptySummary().DataPoints().AppendEmpty()
		fill(p.Attributes(), 5)
		for range 20 {
			p.QuantileValues().AppendEmpty().SetValue(1)
		}
		weighSummary(&w, p)
		return w
	})

	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	container(td.ResourceSpans().At(0).Resource(), ss.Scope())
	s := ss.Spans().AppendEmpty()
	s.Status().SetMessage("m")
	fill(s.Attributes(), 5)
	for i := range 9 {
		fill(s.Events().AppendEmpty().Attributes(), i)
		fill(s.Links().AppendEmpty().Attributes(), i)
	}
	var w weight
	weighSpan(&w, s)
	message, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	check(w, weighed(t, Traces, message, err))

	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	container(ld.ResourceLogs().At(0).Resource(), sl.Scope())
	lr := sl.LogRecords().AppendEmpty()
	fill(lr.Attributes(), 5)
	fill(lr.Body().SetEmptyMap(), 30)
	w = weight{}
	weighLog(&w, lr)
	message, err = (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	check(w, weighed(t, Logs, message, err))

	w = weight{messages: 2*maxItemElements + baseMessages}
	require.NoError(t, w.refusal(1))
	w.messages++
	require.ErrorContains(t, w.refusal(7), "item 7 has more than ")
	require.ErrorIs(t, w.refusal(7), ErrLimit)
}
