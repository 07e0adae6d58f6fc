// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
)

// Values of the attribute outcome.
const (
	complete = "complete" // the file ends after a whole frame or message
	cut      = "cut"      // the last frame or message is incomplete
	damaged  = "damaged"  // the file cannot be read further
	removed  = "removed"  // another process removed or replaced the file
)

// meter records the metrics of one signal.
type meter struct {
	telemetry *metadata.TelemetryBuilder
	own       []attribute.KeyValue
	signal    metric.MeasurementOption
	waiting   int64 // the backlog at the last call of backlog
}

func newMeter(telemetry *metadata.TelemetryBuilder, receiver component.ID, signal string) *meter {
	own := []attribute.KeyValue{attribute.String("receiver", receiver.String()), attribute.String("signal", signal)}
	return &meter{telemetry: telemetry, own: own, signal: metric.WithAttributeSet(attribute.NewSet(own...))}
}

// with returns the attributes of the signal and one additional attribute.
func (m *meter) with(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(m.own[:2:2], attribute.String(key, value))...))
}

func (m *meter) delivered() {
	m.telemetry.ReceiverSteffileBatches.Add(context.Background(), 1, m.signal)
}

func (m *meter) retried() {
	m.telemetry.ReceiverSteffileRetries.Add(context.Background(), 1, m.signal)
}

func (m *meter) read(bytes int64) {
	m.telemetry.ReceiverSteffileBytesRead.Add(context.Background(), bytes, m.signal)
}

func (m *meter) opened(change int64) {
	m.telemetry.ReceiverSteffileFilesOpen.Add(context.Background(), change, m.signal)
}

// backlog sets the metric of the bytes that were not delivered yet. Only one goroutine may
// call it.
func (m *meter) backlog(bytes int64) {
	m.telemetry.ReceiverSteffileBacklogBytes.Add(context.Background(), bytes-m.waiting, m.signal)
	m.waiting = bytes
}

func (m *meter) finished(outcome string) {
	m.telemetry.ReceiverSteffileFilesFinished.Add(context.Background(), 1, m.with("outcome", outcome))
}

func (m *meter) failed(operation string) {
	m.telemetry.ReceiverSteffileErrors.Add(context.Background(), 1, m.with("operation", operation))
}

func (m *meter) rejected(records int, reason string) {
	m.telemetry.ReceiverSteffileRecordsRejected.Add(context.Background(), int64(records), m.with("reason", reason))
}
