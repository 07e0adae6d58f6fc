// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"

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
		rest:    rest[consumererror.Traces],
		start:   (*receiverhelper.ObsReport).StartTracesOp,
		end:     (*receiverhelper.ObsReport).EndTracesOp,
	})
}

func createMetrics(_ context.Context, settings receiver.Settings, config component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return newFollower(signal.Metrics, settings, config.(*Config), sink[pmetric.Metrics]{
		consume: next.ConsumeMetrics,
		mutates: next.Capabilities().MutatesData,
		rest:    rest[consumererror.Metrics],
		start:   (*receiverhelper.ObsReport).StartMetricsOp,
		end:     (*receiverhelper.ObsReport).EndMetricsOp,
	})
}

func createLogs(_ context.Context, settings receiver.Settings, config component.Config, next consumer.Logs) (receiver.Logs, error) {
	return newFollower(signal.Logs, settings, config.(*Config), sink[plog.Logs]{
		consume: next.ConsumeLogs,
		mutates: next.Capabilities().MutatesData,
		rest:    rest[consumererror.Logs],
		start:   (*receiverhelper.ObsReport).StartLogsOp,
		end:     (*receiverhelper.ObsReport).EndLogsOp,
	})
}

// rest returns the part of a batch that was not accepted, if err wraps an E of package
// consumererror. It reports false for the errors of several consumers: the part of one consumer
// may lack items that another consumer did not accept.
func rest[E interface {
	error
	Data() T
}, T any](err error) (part T, ok bool) {
	for err != nil {
		if e, ok := err.(E); ok {
			return e.Data(), true
		}
		cp, ok := err.(interface{ Unwrap() error })
		if !ok {
			break
		}
		err = cp.Unwrap()
	}
	return part, false
}
