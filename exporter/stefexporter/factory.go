// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	"github.com/otelstef/stef/internal/confkeys"
	"github.com/otelstef/stef/internal/signal"
)

// NewFactory returns the factory of the exporter.
func NewFactory() exporter.Factory {
	return xexporter.NewFactory(metadata.Type, createDefaultConfig,
		xexporter.WithTraces(createTraces, metadata.TracesStability),
		xexporter.WithMetrics(createMetrics, metadata.MetricsStability),
		xexporter.WithLogs(createLogs, metadata.LogsStability),
		xexporter.WithProfiles(createProfiles, component.StabilityLevelUndefined),
	)
}

var errProfiles = errors.New("STEF has no profiles yet: send them with the otlp_grpc exporter")

func createProfiles(context.Context, exporter.Settings, component.Config) (xexporter.Profiles, error) {
	return nil, errProfiles
}

func createTraces(ctx context.Context, settings exporter.Settings, config component.Config) (exporter.Traces, error) {
	x, err := newExporter(config.(*Config), signal.Traces, tracesSplitter, settings)
	if err != nil {
		return nil, err
	}
	helped, err := exporterhelper.NewTraces(ctx, settings, config, x.push, x.options()...)
	if err != nil {
		return nil, err
	}
	return struct {
		consumer.ConsumeTracesFunc
		capable
		*lifecycle
	}{x.watched(helped.ConsumeTraces), helped, x.lifecycle(helped)}, nil
}

func createMetrics(ctx context.Context, settings exporter.Settings, config component.Config) (exporter.Metrics, error) {
	x, err := newExporter(config.(*Config), signal.Metrics, metricsSplitter, settings)
	if err != nil {
		return nil, err
	}
	helped, err := exporterhelper.NewMetrics(ctx, settings, config, x.push, x.options()...)
	if err != nil {
		return nil, err
	}
	return struct {
		consumer.ConsumeMetricsFunc
		capable
		*lifecycle
	}{x.watched(helped.ConsumeMetrics), helped, x.lifecycle(helped)}, nil
}

func createLogs(ctx context.Context, settings exporter.Settings, config component.Config) (exporter.Logs, error) {
	x, err := newExporter(config.(*Config), signal.Logs, logsSplitter, settings)
	if err != nil {
		return nil, err
	}
	helped, err := exporterhelper.NewLogs(ctx, settings, config, x.push, x.options()...)
	if err != nil {
		return nil, err
	}
	return struct {
		consumer.ConsumeLogsFunc
		capable
		*lifecycle
	}{x.watched(helped.ConsumeLogs), helped, x.lifecycle(helped)}, nil
}

// capable is the part of exporters that is the same for all signals, besides lifecycle.
type capable interface{ Capabilities() consumer.Capabilities }

// minHelperPause is the minimum pause of exporterhelper after an error of push, if push makes all attempts.
// It is longer than a busy machine may stop a goroutine between beginStop and the shutdown of exporterhelper.
const minHelperPause = 5 * time.Second

func (x *stefExporter[B]) options() []exporterhelper.Option {
	timeout, retries := x.config.TimeoutConfig, x.config.RetryConfig
	if x.config.retriesItself() {
		timeout.Timeout = 0 // push bounds each attempt itself
		// After push has counted a batch as dropped at a shutdown, exporterhelper must not call
		// push again for this batch. The shutdown ends the pauses of exporterhelper, so a pause
		// that still lasts prevents this call. A pause that is already over does not, so pauses
		// must not be too short.
		retries.InitialInterval, retries.RandomizationFactor = max(retries.InitialInterval, minHelperPause), 0
		retries.MaxInterval = max(retries.MaxInterval, retries.InitialInterval)
	}
	return []exporterhelper.Option{
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}),
		exporterhelper.WithTimeout(timeout),
		exporterhelper.WithRetry(retries),
		exporterhelper.WithQueue(x.config.QueueConfig),
		exporterhelper.WithStart(x.start),
		exporterhelper.WithShutdown(x.shutdown),
	}
}

func (x *stefExporter[B]) lifecycle(helped component.Component) *lifecycle {
	queue := x.config.QueueConfig
	l := &lifecycle{Component: helped, beginStop: x.beginStop, signal: x.signal.Name}
	if queue.HasValue() && queue.Get().StorageID != nil {
		l.storage = queue.Get().StorageID.String()
	}
	return l
}

// lifecycle wraps the component of exporterhelper. It explains an error of Start, signals
// the start of Shutdown, and allows Shutdown to be called more than once.
type lifecycle struct {
	component.Component
	beginStop func(context.Context)
	storage   string // the id of the storage of the queue, or ""
	signal    string
	once      sync.Once
	err       error
}

// Start starts the exporter. It explains errors of the storage.
func (l *lifecycle) Start(ctx context.Context, host component.Host) error {
	err := l.Component.Start(ctx, host)
	if err == nil || l.storage == "" {
		return err
	}
	return confkeys.Storage(err, "the storage of sending_queue", l.storage, l.signal, "what was queued in it is lost")
}

// Shutdown ends the exporter.
func (l *lifecycle) Shutdown(ctx context.Context) error {
	l.once.Do(func() {
		l.beginStop(ctx)
		l.err = l.Component.Shutdown(ctx)
	})
	return l.err
}
