// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// Values of the attribute reason.
const (
	// for streams that ended
	endClosed   = "closed"   // the client ended the stream gracefully
	endServer   = "server"   // the stream is too old or idle, or the receiver shuts down
	endLost     = "lost"     // the client disconnected
	endTimeout  = "timeout"  // the client took too long
	endRefused  = "refused"  // the pipeline is temporarily full
	endMemory   = "memory"   // the stream held the most memory while all streams together held too much
	endPressure = "pressure" // too much waits for admission
	endInvalid  = "invalid"  // the stream cannot be decoded
	endLimit    = "limit"    // the stream exceeds a limit
	endPanic    = "panic"

	// for rejected records
	badForPipeline = "pipeline"   // the pipeline refuses the records permanently
	badForOTLP     = "conversion" // OTLP cannot represent the records

	// for refused requests
	requestSize    = "size"    // the request is too large after decompression
	requestWindow  = "window"  // it needs too large a window of zstd
	requestMemory  = "memory"  // its pdata would need more memory than admission allows
	requestNesting = "nesting" // its values are nested too deep
	requestInvalid = "invalid" // it cannot be decompressed or decoded

	// for refused streams; endServer is also used
	refusedFull   = "full"          // there are too many streams
	refusedSignal = "signal"        // the signal of the stream has no pipeline
	refusedAuth   = "auth"          // the authenticator refuses it; also for refused requests
	refusedFirst  = "first_message" // the client sent no valid first message in time
	refusedOther  = "other"         // a middleware refuses it
)

type meter struct {
	telemetry *metadata.TelemetryBuilder
	name      string // of the signal
	signal    metric.MeasurementOption
	reasons   map[string]metric.MeasurementOption // attributes by reason
	protocols map[string]metric.MeasurementOption // attributes by protocol
}

func newMeter(telemetry *metadata.TelemetryBuilder, receiver component.ID, signal string) *meter {
	own := []attribute.KeyValue{attribute.String("receiver", receiver.String()), attribute.String("signal", signal)}
	with := func(key string, values ...string) map[string]metric.MeasurementOption {
		options := map[string]metric.MeasurementOption{}
		for _, value := range values {
			options[value] = metric.WithAttributeSet(attribute.NewSet(append(own, attribute.String(key, value))...))
		}
		return options
	}
	return &meter{
		telemetry: telemetry,
		name:      signal,
		signal:    metric.WithAttributeSet(attribute.NewSet(own...)),
		reasons: with("reason", endClosed, endServer, endLost, endTimeout, endRefused, endMemory, endPressure, endInvalid, endLimit, endPanic,
			badForPipeline, badForOTLP, requestSize, requestWindow, requestMemory, requestNesting, requestInvalid, refusedAuth),
		protocols: with("protocol", "stef", "otlp"),
	}
}

// publish adds 0 to the counters that alerts use. Without publish, a series would begin with
// its first event, and the rate of a series with one value is 0.
func (m *meter) publish() {
	ctx := context.Background()
	for _, reason := range []string{endInvalid, endLimit, endPanic} {
		m.telemetry.ReceiverStefStreamsClosed.Add(ctx, 0, m.reasons[reason])
	}
	for _, reason := range []string{badForPipeline, badForOTLP} {
		m.telemetry.ReceiverStefRecordsRejected.Add(ctx, 0, m.reasons[reason])
	}
	for _, reason := range []string{requestSize, requestWindow, requestMemory, requestNesting, requestInvalid, refusedAuth} {
		m.telemetry.ReceiverStefRequestsRefused.Add(ctx, 0, m.reasons[reason])
	}
	for _, protocol := range m.protocols {
		m.telemetry.ReceiverStefAdmissionRefused.Add(ctx, 0, protocol)
	}
}

// opened counts a stream as open until ended is called.
func (m *meter) opened() {
	m.telemetry.ReceiverStefStreamsOpened.Add(context.Background(), 1, m.signal)
	m.telemetry.ReceiverStefStreamsActive.Add(context.Background(), 1, m.signal)
}

func (m *meter) ended(reason string) {
	m.telemetry.ReceiverStefStreamsActive.Add(context.Background(), -1, m.signal)
	m.telemetry.ReceiverStefStreamsClosed.Add(context.Background(), 1, m.reasons[reason])
}

// received counts a batch and its bytes: on the wire, decompressed, and as OTLP. If records is 0,
// such as for the headers of an empty stream, it counts only bytes.
func (m *meter) received(records uint64, wire, encoded, asOTLP int64) {
	ctx := context.Background()
	if records > 0 {
		m.telemetry.ReceiverStefBatches.Add(ctx, 1, m.signal)
	}
	m.telemetry.ReceiverStefBytesCompressed.Add(ctx, wire, m.signal)
	m.telemetry.ReceiverStefBytesEncoded.Add(ctx, encoded, m.signal)
	m.telemetry.ReceiverStefBytesAsOtlp.Add(ctx, asOTLP, m.signal)
}

// dictionaries records a change of the memory of dictionaries, and whether they
// were reset.
func (m *meter) dictionaries(change int64, anew bool) {
	if change != 0 {
		m.telemetry.ReceiverStefDictBytes.Add(context.Background(), change, m.signal)
	}
	if anew {
		m.telemetry.ReceiverStefDictResets.Add(context.Background(), 1, m.signal)
	}
}

// unacked records a change in the number of decoded, unacknowledged records.
func (m *meter) unacked(change int64) {
	if change != 0 {
		m.telemetry.ReceiverStefUnackedRecords.Add(context.Background(), change, m.signal)
	}
}

func (m *meter) consumed(took time.Duration) {
	m.telemetry.ReceiverStefConsumeDuration.Record(context.Background(), took.Seconds(), m.signal)
}

func (m *meter) rejected(records uint64, reason string) {
	m.telemetry.ReceiverStefRecordsRejected.Add(context.Background(), int64(records), m.reasons[reason])
}

func (m *meter) notAdmitted(protocol string) {
	m.telemetry.ReceiverStefAdmissionRefused.Add(context.Background(), 1, m.protocols[protocol])
}

// refused counts an OTLP request that exceeds a limit, that cannot be decoded, or whose client
// is not authenticated.
func (m *meter) refused(reason string) {
	m.telemetry.ReceiverStefRequestsRefused.Add(context.Background(), 1, m.reasons[reason])
}

func (m *meter) panicked() {
	m.telemetry.ReceiverStefPanics.Add(context.Background(), 1, m.signal)
}
