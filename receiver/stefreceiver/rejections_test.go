// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// TestRejectedCountOnce: the pipeline refuses a batch for good, and then an earlier batch for now. The client does
// not learn of the rejection, so it sends both batches again. The counter counts the rejected records once.
func TestRejectedCountOnce(t *testing.T) {
	var again atomic.Bool
	refused := make(chan struct{})
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
		switch {
		case md.DataPointCount() == 2 && again.Load():
			return consumererror.NewPermanent(errors.New("bad"))
		case md.DataPointCount() == 2:
			defer close(refused)
			return consumererror.NewPermanent(errors.New("bad"))
		case again.Load():
			return nil
		}
		<-refused
		return errors.New("full")
	})})
	s := metricKind.mustOpen(t, r.dial())
	_, err := s.send(points(1), points(2))
	require.NoError(t, err)
	requireEnd(t, endOf(t, s.stream), codes.Unavailable, "full")
	require.Empty(t, s.stream.Rejected())
	count := func() int64 {
		return sumOf(t, r.telemetry, "otelcol_receiver_stef_records_rejected", "reason", badForPipeline)
	}
	require.Zero(t, count())

	again.Store(true)
	s = metricKind.mustOpen(t, r.dial())
	_, err = s.send(points(1), points(2))
	require.NoError(t, err)
	require.NoError(t, s.stream.AwaitAll(timeout(t)))
	require.EqualValues(t, 2, count())
	r.requireIdle()
}

// TestBadCountOnce: the pipeline refuses a batch for now whose first record OTLP cannot express. The client sends the
// batch again. The counter counts the record once.
func TestBadCountOnce(t *testing.T) {
	var again atomic.Bool
	to, err := consumer.NewLogs(func(context.Context, plog.Logs) error {
		if again.Load() {
			return nil
		}
		return errors.New("full")
	})
	require.NoError(t, err)
	r := startRig(t, testConfig(), sinks{logs: to})
	send := func() *raw {
		p := rawOpen(t, r, otelstef.LogsRootName)
		for _, chunk := range badLogs(t, 3, 1, 60) {
			p.data(chunk, true)
		}
		return p
	}
	acked, end := send().endAcked()
	require.Equal(t, codes.Unavailable, end.Code())
	require.Zero(t, acked, "the client sends the batch again")
	again.Store(true)
	send().awaitAck(3)
	require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_records_rejected", "reason", badForOTLP))
	r.requireIdle()
}

// TestRejectionsAreBounded: a batch stays in the pipeline while many later batches are rejected. The stream stores a
// bounded number of rejections, and counts each once.
func TestRejectionsAreBounded(t *testing.T) {
	telemetry := componenttest.NewTelemetry()
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.TelemetrySettings = telemetry.NewTelemetrySettings()
	shared, err := newShared(testConfig(), settings)
	require.NoError(t, err)
	p, err := newPipe(signal.Metrics, metricsOperation, shared.core, settings, consumertest.NewNop().ConsumeMetrics)
	require.NoError(t, err)
	s := newStream(p, &fakeTransport{ctx: t.Context(), settled: map[uint64]int{}})
	const batches = maxRejections + 100
	for id := uint64(2); id < 2+batches; id++ {
		s.answer(&batch[pmetric.Metrics]{from: id, to: id}, permanentlyRefused)
		require.LessOrEqual(t, len(s.rejections.list), maxRejections)
	}
	s.answer(&batch[pmetric.Metrics]{from: 1, to: 1}, accepted)
	require.Empty(t, s.rejections.list)
	require.EqualValues(t, batches, sumOf(t, telemetry, "otelcol_receiver_stef_records_rejected", "reason", badForPipeline))
	require.NoError(t, telemetry.Shutdown(t.Context()))
}
