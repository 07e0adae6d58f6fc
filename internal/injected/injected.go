// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package injected removes attributes that the Collector adds to the telemetry of components.
package injected

import (
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Signal is the attribute that names the signal for which the Collector created a
// component. The Collector adds it to log lines, and to the scopes of spans and metrics.
const Signal = "otelcol.signal"

// The Collector's telemetry implements these interfaces. The Collector declares them in an internal
// package, so they are declared here again.
type (
	cores interface {
		DropInjectedAttributes(keys ...string) zapcore.Core
	}
	tracers interface {
		DropInjectedAttributes(keys ...string) trace.TracerProvider
	}
	meters interface {
		DropInjectedAttributes(keys ...string) metric.MeterProvider
	}
)

// WithoutSignal returns the settings of a component without its signal. Use it for an object that
// the components of several signals share. With the original settings, the telemetry of the object
// would name the signal of the component that created it.
func WithoutSignal(settings component.TelemetrySettings) component.TelemetrySettings {
	settings.Logger = settings.Logger.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		if injected, ok := c.(cores); ok {
			return injected.DropInjectedAttributes(Signal)
		}
		return c
	}))
	if injected, ok := settings.TracerProvider.(tracers); ok {
		settings.TracerProvider = injected.DropInjectedAttributes(Signal)
	}
	if injected, ok := settings.MeterProvider.(meters); ok {
		settings.MeterProvider = injected.DropInjectedAttributes(Signal)
	}
	return settings
}
