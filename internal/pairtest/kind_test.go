// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver"
)

// idKey is the attribute with the unique id of each item.
const idKey = "test_id"

type kind[T any] struct {
	signal pipeline.Signal
	// batch makes a batch of items with the given ids. ids returns the ids of a batch.
	batch func(ids []string) T
	ids   func(T) []string
	// exporter creates an exporter, and returns the function that passes a batch to it.
	// receiver creates a receiver that passes batches to its last argument.
	exporter func(context.Context, exporter.Factory, exporter.Settings, component.Config) (component.Component, func(context.Context, T) error, error)
	receiver func(context.Context, receiver.Factory, receiver.Settings, component.Config, func(context.Context, T) error) (component.Component, error)
}

func id(attributes pcommon.Map) string {
	v, _ := attributes.Get(idKey)
	return v.Str()
}

// service distributes items over a few resources, by the last character of their id.
func service(id string) string { return "service-" + id[len(id)-1:] }

var traceKind = kind[ptrace.Traces]{
	signal: pipeline.SignalTraces,
	batch: func(ids []string) ptrace.Traces {
		td := ptrace.NewTraces()
		for _, id := range ids {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", service(id))
			s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			s.SetName("GET /" + service(id))
			s.SetTraceID([16]byte{1})
			s.SetSpanID([8]byte{2})
			s.Attributes().PutStr(idKey, id)
		}
		return td
	},
	ids: func(td ptrace.Traces) []string {
		var list []string
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					list = append(list, id(s.Attributes()))
				}
			}
		}
		return list
	},
	exporter: func(ctx context.Context, f exporter.Factory, set exporter.Settings, c component.Config) (component.Component, func(context.Context, ptrace.Traces) error, error) {
		x, err := f.CreateTraces(ctx, set, c)
		if err != nil {
			return nil, nil, err
		}
		return x, x.ConsumeTraces, nil
	},
	receiver: func(ctx context.Context, f receiver.Factory, set receiver.Settings, c component.Config, consume func(context.Context, ptrace.Traces) error) (component.Component, error) {
		next, err := consumer.NewTraces(consume)
		if err != nil {
			return nil, err
		}
		return f.CreateTraces(ctx, set, c, next)
	},
}

var metricKind = kind[pmetric.Metrics]{
	signal: pipeline.SignalMetrics,
	batch: func(ids []string) pmetric.Metrics {
		md := pmetric.NewMetrics()
		for i, id := range ids {
			rm := md.ResourceMetrics().AppendEmpty()
			rm.Resource().Attributes().PutStr("service.name", service(id))
			m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
			m.SetName("http.requests")
			p := m.SetEmptyGauge().DataPoints().AppendEmpty()
			p.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + int64(i)))
			p.SetIntValue(int64(i))
			p.Attributes().PutStr(idKey, id)
		}
		return md
	},
	ids: func(md pmetric.Metrics) []string {
		var list []string
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					for _, p := range m.Gauge().DataPoints().All() {
						list = append(list, id(p.Attributes()))
					}
				}
			}
		}
		return list
	},
	exporter: func(ctx context.Context, f exporter.Factory, set exporter.Settings, c component.Config) (component.Component, func(context.Context, pmetric.Metrics) error, error) {
		x, err := f.CreateMetrics(ctx, set, c)
		if err != nil {
			return nil, nil, err
		}
		return x, x.ConsumeMetrics, nil
	},
	receiver: func(ctx context.Context, f receiver.Factory, set receiver.Settings, c component.Config, consume func(context.Context, pmetric.Metrics) error) (component.Component, error) {
		next, err := consumer.NewMetrics(consume)
		if err != nil {
			return nil, err
		}
		return f.CreateMetrics(ctx, set, c, next)
	},
}

var logKind = kind[plog.Logs]{
	signal: pipeline.SignalLogs,
	batch: func(ids []string) plog.Logs {
		ld := plog.NewLogs()
		for i, id := range ids {
			rl := ld.ResourceLogs().AppendEmpty()
			rl.Resource().Attributes().PutStr("service.name", service(id))
			r := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
			r.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + int64(i)))
			r.Body().SetStr("took " + strings.Repeat("long ", i%4))
			r.Attributes().PutStr(idKey, id)
		}
		return ld
	},
	ids: func(ld plog.Logs) []string {
		var list []string
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, r := range sl.LogRecords().All() {
					list = append(list, id(r.Attributes()))
				}
			}
		}
		return list
	},
	exporter: func(ctx context.Context, f exporter.Factory, set exporter.Settings, c component.Config) (component.Component, func(context.Context, plog.Logs) error, error) {
		x, err := f.CreateLogs(ctx, set, c)
		if err != nil {
			return nil, nil, err
		}
		return x, x.ConsumeLogs, nil
	},
	receiver: func(ctx context.Context, f receiver.Factory, set receiver.Settings, c component.Config, consume func(context.Context, plog.Logs) error) (component.Component, error) {
		next, err := consumer.NewLogs(consume)
		if err != nil {
			return nil, err
		}
		return f.CreateLogs(ctx, set, c, next)
	},
}
