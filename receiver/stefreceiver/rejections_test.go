// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc/codes"

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
