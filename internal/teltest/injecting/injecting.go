// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package injecting makes settings of components for tests. As in a Collector, their
// telemetry has the attribute otelcol.signal.
package injecting

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Each of these types wraps telemetry with the attribute otelcol.signal. source is the same telemetry
// without this attribute.
type (
	core struct {
		zapcore.Core
		source zapcore.Core
	}
	tracers struct {
		trace.TracerProvider
		source trace.TracerProvider
	}
	meters struct {
		metric.MeterProvider
		source metric.MeterProvider
	}
)

const key = "otelcol.signal"

// Settings returns the settings of the component of a signal. Its log lines go to logs.
func Settings(settings component.TelemetrySettings, logs zapcore.Core, signal string) component.TelemetrySettings {
	settings.Logger = zap.New(core{logs.With([]zap.Field{zap.String(key, signal)}), logs})
	settings.TracerProvider = tracers{settings.TracerProvider, settings.TracerProvider}
	settings.MeterProvider = meters{settings.MeterProvider, settings.MeterProvider}
	return settings
}

func check(keys []string) {
	if !slices.Equal(keys, []string{key}) {
		panic(fmt.Sprint("drops ", keys))
	}
}

// DropInjectedAttributes is called by package injected.
func (c core) DropInjectedAttributes(keys ...string) zapcore.Core {
	check(keys)
	return c.source
}

// DropInjectedAttributes is called by package injected.
func (p tracers) DropInjectedAttributes(keys ...string) trace.TracerProvider {
	check(keys)
	return p.source
}

// DropInjectedAttributes is called by package injected.
func (p meters) DropInjectedAttributes(keys ...string) metric.MeterProvider {
	check(keys)
	return p.source
}
