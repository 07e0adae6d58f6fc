// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelstef/stef/extension/stefencodingextension/internal/metadata"
)

// telemetry counts messages and omitted items. It logs at most once per logPeriod.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	own     attribute.KeyValue
	logger  *zap.Logger
	logged  atomic.Pointer[time.Time] // time of the last log line; nil: none
}

const logPeriod = 10 * time.Second

func newTelemetry(settings component.TelemetrySettings, id component.ID) (*telemetry, error) {
	b, err := metadata.NewTelemetryBuilder(settings)
	return &telemetry{builder: b, own: attribute.String("extension", id.String()), logger: settings.Logger}, err
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }

func (t *telemetry) attributes(pairs ...string) metric.MeasurementOption {
	list := make([]attribute.KeyValue, 0, 1+len(pairs)/2)
	list = append(list, t.own)
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, attribute.String(pairs[i], pairs[i+1]))
	}
	return metric.WithAttributeSet(attribute.NewSet(list...))
}

func (t *telemetry) marshaled(signal string, bytes int) {
	at := t.attributes("signal", signal)
	t.builder.ExtensionStefEncodingMessagesMarshaled.Add(context.Background(), 1, at)
	t.builder.ExtensionStefEncodingBytesMarshaled.Add(context.Background(), int64(bytes), at)
}

func (t *telemetry) unmarshaled(signal string, bytes int) {
	at := t.attributes("signal", signal)
	t.builder.ExtensionStefEncodingMessagesUnmarshaled.Add(context.Background(), 1, at)
	t.builder.ExtensionStefEncodingBytesUnmarshaled.Add(context.Background(), int64(bytes), at)
}

// dropped counts omitted items of a message whose other items are kept.
func (t *telemetry) dropped(signal string, items int, reason string, why error) {
	t.builder.ExtensionStefEncodingItemsDropped.Add(context.Background(), int64(items), t.attributes("signal", signal, "reason", reason))
	if t.mayLog() {
		t.logger.Warn("Items of a message were omitted; all others are delivered.",
			zap.String("signal", signal), zap.Int("items", items), zap.Error(why))
	}
}

// rejected counts the items of a batch that cannot be marshaled. It makes the error
// permanent, because the same batch would fail again.
func (t *telemetry) rejected(signal string, items int, err error) error {
	t.builder.ExtensionStefEncodingItemsDropped.Add(context.Background(), int64(items), t.attributes("signal", signal, "reason", reasonOf(err)))
	if t.mayLog() {
		t.logger.Warn("A batch cannot be marshaled.", zap.String("signal", signal), zap.Int("items", items), zap.Error(err))
	}
	return consumererror.NewPermanent(err)
}

// refused counts a message that cannot be decoded. It makes the error permanent, because
// the same bytes would fail again.
func (t *telemetry) refused(signal string, err error) error {
	t.builder.ExtensionStefEncodingMessagesRefused.Add(context.Background(), 1, t.attributes("signal", signal, "reason", reasonOf(err)))
	if t.mayLog() {
		t.logger.Warn("A message is refused.", zap.String("signal", signal), zap.Error(err))
	}
	return consumererror.NewPermanent(err)
}

func (t *telemetry) mayLog() bool {
	now, last := time.Now(), t.logged.Load()
	return (last == nil || now.Sub(*last) >= logPeriod) && t.logged.CompareAndSwap(last, &now)
}
