// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
)

// NewFactory returns the factory of the receiver.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		receiver.WithTraces(createTraces, metadata.TracesStability),
		receiver.WithMetrics(createMetrics, metadata.MetricsStability),
		receiver.WithLogs(createLogs, metadata.LogsStability),
	)
}

func createTraces(_ context.Context, settings receiver.Settings, config component.Config, next consumer.Traces) (receiver.Traces, error) {
	return newFollower(signal.Traces, settings, config.(*Config), sink[ptrace.Traces]{
		consume: next.ConsumeTraces,
		mutates: next.Capabilities().MutatesData,
		clone: func(batch ptrace.Traces) ptrace.Traces {
			c := ptrace.NewTraces()
			batch.CopyTo(c)
			return c
		},
		rest: func(err error) (ptrace.Traces, bool) {
			var part consumererror.Traces
			if errors.As(err, &part) {
				return part.Data(), true
			}
			return ptrace.Traces{}, false
		},
		start: (*receiverhelper.ObsReport).StartTracesOp,
		end:   (*receiverhelper.ObsReport).EndTracesOp,
	})
}

func createMetrics(_ context.Context, settings receiver.Settings, config component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return newFollower(signal.Metrics, settings, config.(*Config), sink[pmetric.Metrics]{
		consume: next.ConsumeMetrics,
		mutates: next.Capabilities().MutatesData,
		clone: func(batch pmetric.Metrics) pmetric.Metrics {
			c := pmetric.NewMetrics()
			batch.CopyTo(c)
			return c
		},
		rest: func(err error) (pmetric.Metrics, bool) {
			var part consumererror.Metrics
			if errors.As(err, &part) {
				return part.Data(), true
			}
			return pmetric.Metrics{}, false
		},
		start: (*receiverhelper.ObsReport).StartMetricsOp,
		end:   (*receiverhelper.ObsReport).EndMetricsOp,
	})
}

func createLogs(_ context.Context, settings receiver.Settings, config component.Config, next consumer.Logs) (receiver.Logs, error) {
	return newFollower(signal.Logs, settings, config.(*Config), sink[plog.Logs]{
		consume: next.ConsumeLogs,
		mutates: next.Capabilities().MutatesData,
		clone: func(batch plog.Logs) plog.Logs {
			c := plog.NewLogs()
			batch.CopyTo(c)
			return c
		},
		rest: func(err error) (plog.Logs, bool) {
			var part consumererror.Logs
			if errors.As(err, &part) {
				return part.Data(), true
			}
			return plog.Logs{}, false
		},
		start: (*receiverhelper.ObsReport).StartLogsOp,
		end:   (*receiverhelper.ObsReport).EndLogsOp,
	})
}
