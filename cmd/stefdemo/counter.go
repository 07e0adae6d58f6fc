// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// counter is an exporter that counts the items that reach the backend.
type counter struct {
	items [len(signals)]atomic.Int64
}

var _ component.Component = (*counter)(nil)

func (c *counter) Start(context.Context, component.Host) error { return nil }
func (c *counter) Shutdown(context.Context) error              { return nil }
func (c *counter) Capabilities() consumer.Capabilities         { return consumer.Capabilities{} }

func (c *counter) ConsumeMetrics(_ context.Context, md pmetric.Metrics) error {
	c.items[metrics].Add(int64(md.DataPointCount()))
	return nil
}

func (c *counter) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	c.items[traces].Add(int64(td.SpanCount()))
	return nil
}

func (c *counter) ConsumeLogs(_ context.Context, ld plog.Logs) error {
	c.items[logs].Add(int64(ld.LogRecordCount()))
	return nil
}

// factory registers the counter with a Collector, as an exporter called count.
func (c *counter) factory() exporter.Factory {
	return exporter.NewFactory(component.MustNewType("count"), func() component.Config { return &struct{}{} },
		exporter.WithMetrics(func(context.Context, exporter.Settings, component.Config) (exporter.Metrics, error) { return c, nil },
			component.StabilityLevelDevelopment),
		exporter.WithTraces(func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) { return c, nil },
			component.StabilityLevelDevelopment),
		exporter.WithLogs(func(context.Context, exporter.Settings, component.Config) (exporter.Logs, error) { return c, nil },
			component.StabilityLevelDevelopment))
}
