// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// injectedSignal is the attribute with which the Collector says for which signal it created a
// component. The Collector adds it to log lines, and to the scopes of spans and metrics.
const injectedSignal = "otelcol.signal"

// The Collector's telemetry implements these interfaces. The helper of the Collector that uses
// them is internal to the Collector.
type (
	injectedCore interface {
		DropInjectedAttributes(keys ...string) zapcore.Core
	}
	injectedTracers interface {
		DropInjectedAttributes(keys ...string) trace.TracerProvider
	}
	injectedMeters interface {
		DropInjectedAttributes(keys ...string) metric.MeterProvider
	}
)

// withoutSignal returns the settings without the signal of the component. The server and its
// limits belong to all signals, but they have the settings of the component that was created
// first.
func withoutSignal(settings component.TelemetrySettings) component.TelemetrySettings {
	settings.Logger = settings.Logger.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		if injected, ok := c.(injectedCore); ok {
			return injected.DropInjectedAttributes(injectedSignal)
		}
		return c
	}))
	if injected, ok := settings.TracerProvider.(injectedTracers); ok {
		settings.TracerProvider = injected.DropInjectedAttributes(injectedSignal)
	}
	if injected, ok := settings.MeterProvider.(injectedMeters); ok {
		settings.MeterProvider = injected.DropInjectedAttributes(injectedSignal)
	}
	return settings
}
