// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelstef/stef/internal/teltest/alerts"
	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadatatest"
)

func dataPoint(value int64, attributes ...string) []metricdata.DataPoint[int64] {
	set := []attribute.KeyValue{attribute.String("receiver", "stef")}
	for i := 0; i < len(attributes); i += 2 {
		set = append(set, attribute.String(attributes[i], attributes[i+1]))
	}
	return []metricdata.DataPoint[int64]{{Value: value, Attributes: attribute.NewSet(set...)}}
}

// TestBatchesHaveRecords checks that a stream which ends after its headers increases the byte
// counter, but not the batch counter.
func TestBatchesHaveRecords(t *testing.T) {
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error { return nil })})
	s := metricKind.mustOpen(t, r.dial())
	require.NoError(t, s.stream.Drain(timeout(t)))
	count := func(name string) int64 {
		return sumOf(t, r.telemetry, "otelcol_receiver_stef_"+name, "signal", "metrics")
	}
	require.Eventually(t, func() bool { return count("streams_active") == 0 }, time.Minute, time.Millisecond)
	require.Positive(t, count("bytes_compressed"), "the headers arrived")
	require.Zero(t, count("batches"))
}

func TestTelemetryOfStreams(t *testing.T) {
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
		switch md.DataPointCount() {
		case 2:
			return consumererror.NewPermanent(errors.New("no"))
		case 3:
			return errors.New("full")
		}
		return nil
	})})
	s := metricKind.mustOpen(t, r.dial())
	for range 3 {
		require.NoError(t, s.deliver(points(100)))
	}
	require.NoError(t, s.deliver(points(2)))

	tt, ignore := r.telemetry, metricdatatest.IgnoreTimestamp()
	require.Eventually(t, func() bool {
		return sumOf(t, tt, "otelcol_receiver_stef_unacked_records", "signal", "metrics") == 0
	}, time.Minute, time.Millisecond)
	metadatatest.AssertEqualReceiverStefStreamsActive(t, tt, dataPoint(1, "signal", "metrics"), ignore)
	metadatatest.AssertEqualReceiverStefBatches(t, tt, dataPoint(4, "signal", "metrics"), ignore)
	require.EqualValues(t, 2, sumOf(t, tt, "otelcol_receiver_stef_records_rejected", "reason", badForPipeline))
	require.EqualValues(t, 2, sumOf(t, tt, "otelcol_receiver_stef_records_rejected", "signal", "metrics"))
	metadatatest.AssertEqualReceiverStefUnackedRecords(t, tt, dataPoint(0, "signal", "metrics"), ignore)
	wire := sumOf(t, tt, "otelcol_receiver_stef_bytes_compressed", "signal", "metrics")
	decoded := sumOf(t, tt, "otelcol_receiver_stef_bytes_as_otlp", "signal", "metrics")
	require.Positive(t, wire)
	encoded := sumOf(t, tt, "otelcol_receiver_stef_bytes_encoded", "signal", "metrics")
	require.Greater(t, encoded, wire)
	require.Less(t, encoded, decoded)
	metadatatest.AssertEqualReceiverStefStreamsOpened(t, tt, dataPoint(1, "signal", "metrics"), ignore)
	require.Greater(t, decoded, 3*wire)
	require.Positive(t, sumOf(t, tt, "otelcol_receiver_stef_dict_bytes", "signal", "metrics"))
	require.EqualValues(t, 300, sumOf(t, tt, "otelcol_receiver_accepted_metric_points", "transport", "stef"))
	require.EqualValues(t, 2, sumOf(t, tt, "otelcol_receiver_refused_metric_points", "transport", "stef"))

	_, err := s.send(points(3))
	require.NoError(t, err)
	require.Error(t, endOf(t, s.stream))
	require.Eventually(t, func() bool {
		return sumOf(t, tt, "otelcol_receiver_stef_streams_closed", "reason", endRefused) == 1
	}, time.Minute, time.Millisecond)
	metadatatest.AssertEqualReceiverStefStreamsActive(t, tt, dataPoint(0, "signal", "metrics"), ignore)
	require.EqualValues(t, 1, sumOf(t, tt, "otelcol_receiver_stef_streams_closed", "signal", "metrics"))
	metadatatest.AssertEqualReceiverStefDictBytes(t, tt, dataPoint(0, "signal", "metrics"), ignore)
	metadatatest.AssertEqualReceiverStefUnackedRecords(t, tt, dataPoint(0, "signal", "metrics"), ignore)
	metadatatest.AssertEqualReceiverStefAdmissionInFlightBytes(t, tt, dataPoint(0), ignore)
	metadatatest.AssertEqualReceiverStefAdmissionWaitingBytes(t, tt, dataPoint(0), ignore)
	metadatatest.AssertEqualReceiverStefBufferedBytes(t, tt, dataPoint(0), ignore)
	require.EqualValues(t, 5, sumOf(t, tt, "otelcol_receiver_refused_metric_points", "transport", "stef"))
	require.EqualValues(t, 300, sumOf(t, tt, "otelcol_receiver_accepted_metric_points", "transport", "stef"))
}

// The receiver creates spans about the batches that it receives. Their attributes say whether a batch
// arrived by STEF or by OTLP. A batch of a stream has its own span, with a link to the span of the
// stream.
func TestTracesOfBothFormats(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	require.NoError(t, metricKind.mustOpen(t, r.dial()).deliver(points(1)))
	require.NoError(t, export(r.dial(), points(2)))
	formats := map[string]string{}
	for _, span := range r.telemetry.SpanRecorder.Ended() {
		var format, transport string
		for _, attr := range span.Attributes() {
			switch attr.Key {
			case "format":
				format = attr.Value.AsString()
			case "transport":
				transport = attr.Value.AsString()
			}
		}
		if format != "" {
			formats[format] = transport
			if format == formatSTEF {
				require.Len(t, span.Links(), 1)
				require.False(t, span.Parent().IsValid())
			}
		}
	}
	require.Equal(t, map[string]string{formatSTEF: transportSTEF, formatOTLP: transportOTLP}, formats)
}

func TestSizer(t *testing.T) {
	z := sizer{}
	measured := 0
	size := func(estimate int64) int64 {
		return z.size(estimate, func() int { measured++; return int(estimate / 2) })
	}
	require.Zero(t, size(0))
	require.Zero(t, measured)
	for range sizerPeriod {
		require.EqualValues(t, 1000, size(2000))
	}
	require.Equal(t, 1, measured)
	require.EqualValues(t, 2000, size(4000))
	require.Equal(t, 2, measured, "one in so many")
	require.EqualValues(t, 2000, z.weight(2000, 4000))
	require.EqualValues(t, 2000, z.last)
	require.EqualValues(t, 3000, z.weight(100, 9000), "little as OTLP, but much memory")
}

// TestAlertsSeeTheFirstEvent starts a receiver and checks that all counters of alerts have series with
// the value 0. Without them, an alert would not see the first increase.
func TestAlertsSeeTheFirstEvent(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	for _, alert := range alerts.Read(t, "alerts.yaml") {
		for _, s := range alert.Selectors {
			if strings.HasPrefix(s.Metric, "receiver_refused_") { // metrics of the Collector: their alert waits 5 minutes, so it does not need the first event
				continue
			}
			m, err := r.telemetry.GetMetric("otelcol_" + s.Metric)
			require.NoError(t, err, "%s: %s does not exist", alert.Name, s.Metric)
			require.Zero(t, sumOf(t, r.telemetry, "otelcol_"+s.Metric, "", ""))
			for label, values := range s.Values {
				for _, value := range values {
					require.True(t, slices.ContainsFunc(m.Data.(metricdata.Sum[int64]).DataPoints, func(p metricdata.DataPoint[int64]) bool {
						got, _ := p.Attributes.Value(attribute.Key(label))
						return got.AsString() == value
					}), "%s: no %s with %s=%q", alert.Name, s.Metric, label, value)
				}
			}
		}
	}
}
