// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// NewFactory returns the factory of the receiver.
func NewFactory() receiver.Factory {
	return xreceiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xreceiver.WithTraces(createTraces, metadata.TracesStability),
		xreceiver.WithMetrics(createMetrics, metadata.MetricsStability),
		xreceiver.WithLogs(createLogs, metadata.LogsStability),
		xreceiver.WithProfiles(createProfiles, component.StabilityLevelUndefined),
	)
}

var errProfiles = errors.New("STEF has no profiles yet: receive them with the otlp receiver, on another port")

func createProfiles(context.Context, receiver.Settings, component.Config, xconsumer.Profiles) (xreceiver.Profiles, error) {
	return nil, errProfiles
}

func createTraces(_ context.Context, settings receiver.Settings, config component.Config, next consumer.Traces) (receiver.Traces, error) {
	return create(signal.Traces, tracesOperation, settings, config, next.ConsumeTraces)
}

func createMetrics(_ context.Context, settings receiver.Settings, config component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return create(signal.Metrics, metricsOperation, settings, config, next.ConsumeMetrics)
}

func createLogs(_ context.Context, settings receiver.Settings, config component.Config, next consumer.Logs) (receiver.Logs, error) {
	return create(signal.Logs, logsOperation, settings, config, next.ConsumeLogs)
}

// These are the operations of each signal: the Collector has separate methods for each signal.
var (
	tracesOperation = operation{
		start: (*receiverhelper.ObsReport).StartTracesOp,
		end:   (*receiverhelper.ObsReport).EndTracesOp,
	}
	metricsOperation = operation{
		start: (*receiverhelper.ObsReport).StartMetricsOp,
		end:   (*receiverhelper.ObsReport).EndMetricsOp,
	}
	logsOperation = operation{
		start: (*receiverhelper.ObsReport).StartLogsOp,
		end:   (*receiverhelper.ObsReport).EndLogsOp,
	}
)

// stefReceiver is the component of one signal. The components of a configuration
// share a server.
type stefReceiver struct {
	shared *shared
	left   bool
}

func create[T any](sig *signal.Descriptor[T], op operation, settings receiver.Settings, config component.Config,
	consume func(context.Context, T) error,
) (*stefReceiver, error) {
	s, err := share(config.(*Config), settings)
	if err != nil {
		return nil, err
	}
	p, err := newPipe(sig, op, s.core, settings, consume)
	if err != nil {
		s.leave()
		return nil, err
	}
	s.add(p)
	return &stefReceiver{shared: s}, nil
}

// Start implements component.Component.
func (r *stefReceiver) Start(ctx context.Context, host component.Host) error {
	return r.shared.start(ctx, host)
}

// Shutdown implements component.Component. The shutdown of the first component of a
// configuration ends the server for all its components, because the Collector shuts
// down all components or none.
func (r *stefReceiver) Shutdown(ctx context.Context) error {
	err := r.shared.shutdown(ctx)
	if !r.left {
		r.left = true
		r.shared.leave()
	}
	return err
}
