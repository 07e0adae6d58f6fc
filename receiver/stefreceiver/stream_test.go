// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
)

func timeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func requireEnd(t *testing.T, err error, code codes.Code, message string) *stefgrpc.Error {
	t.Helper()
	var known *stefgrpc.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, code, known.Code, "%v", err)
	require.ErrorContains(t, err, message)
	return known
}

func TestStreamsOfAllSignalsSideBySide(t *testing.T) {
	to, traces, metrics, logs := everything()
	r := startRig(t, testConfig(), to)
	conn := r.dial()
	ts, ms, ls := traceKind.mustOpen(t, conn), metricKind.mustOpen(t, conn), logKind.mustOpen(t, conn)
	for i := range 20 {
		require.NoError(t, ts.deliver(traceKind.one("a")))
		require.NoError(t, ms.deliver(points(100)))
		require.NoError(t, ls.deliver(logKind.one("b")))
		require.Equal(t, i+1, traces.SpanCount())
		require.Equal(t, 100*(i+1), metrics.DataPointCount())
		require.Equal(t, i+1, logs.LogRecordCount())
	}
	require.Equal(t, points(100), metrics.AllMetrics()[7])
	for _, s := range []*stefgrpc.Stream{ts.stream, ms.stream, ls.stream} {
		require.NoError(t, s.Drain(timeout(t)))
		require.NoError(t, endOf(t, s))
	}
}

// The receiver reports exactly the records of refused batches as bad. The number of points of a batch
// decides whether the pipeline refuses it, so the order of the calls does not matter.
func TestExactBadRanges(t *testing.T) {
	for _, consumers := range []int{1, 4, 64} {
		t.Run(fmt.Sprint(consumers), func(t *testing.T) {
			r := startRig(t, testConfig(func(c *Config) { c.ConsumersPerStream = consumers }),
				sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
					n := md.DataPointCount()
					time.Sleep(time.Duration(n%5) * time.Millisecond)
					if n%3 == 0 {
						return consumererror.NewPermanent(fmt.Errorf("a batch of %d", n))
					}
					return nil
				})})
			s := metricKind.mustOpen(t, r.dial())
			want := map[uint64]bool{}
			var id uint64
			for i := range 60 {
				n := 1 + i*7%23
				_, err := s.send(points(n))
				require.NoError(t, err)
				for range n {
					id++
					want[id] = n%3 == 0
				}
			}
			require.NoError(t, s.stream.AwaitAll(timeout(t)))
			require.Equal(t, id, s.stream.Acked())
			got := map[uint64]bool{}
			for _, bad := range s.stream.Rejected() {
				for i := bad.From; i <= bad.To; i++ {
					got[i] = true
				}
			}
			for i := range id {
				require.Equal(t, want[i+1], got[i+1], "record %d", i+1)
			}
			require.NoError(t, s.stream.Drain(timeout(t)))
			r.requireIdle()
		})
	}
}

func TestTemporaryErrorEndsTheStreamAfterAcceptedRecords(t *testing.T) {
	f := func(name string, consumers int, err error, delay time.Duration) {
		t.Run(name, func(t *testing.T) {
			var seen sync.Map
			r := startRig(t, testConfig(func(c *Config) { c.ConsumersPerStream, c.RetryAfter = consumers, 3*time.Second }),
				sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
					n := md.DataPointCount()
					seen.Store(n, true)
					if n == 3 {
						return err
					}
					time.Sleep(time.Duration(10-n) * time.Millisecond)
					return nil
				})})
			s := metricKind.mustOpen(t, r.dial())
			for n := 1; n <= 9; n++ {
				if _, err := s.send(points(n)); err != nil {
					break // the stream may have ended
				}
			}
			end := requireEnd(t, endOf(t, s.stream), codes.Unavailable, "full")
			require.True(t, end.HasRetryInfo)
			require.Equal(t, delay, end.RetryDelay)
			require.EqualValues(t, 1+2, s.stream.Acked())
			require.Empty(t, s.stream.Rejected())
			if consumers == 1 {
				for n := 4; n <= 9; n++ {
					_, ok := seen.Load(n)
					require.False(t, ok, "the pipeline got batch %d after a failure", n)
				}
			}
			r.requireIdle()
		})
	}
	f("one consumer", 1, errors.New("full"), 3*time.Second)
	f("many consumers", 8, errors.New("full"), 3*time.Second)
	f("the pipeline names a delay", 1, withMessage(withRetryInfo(codes.ResourceExhausted, time.Second), "full"), time.Second)
}

func withMessage(err error, message string) error { return fmt.Errorf("%s: %w", message, err) }

// If the pipeline fails while a stream waits for data of its client, the receiver ends the stream with
// this error immediately. It does not wait until the client sends more data.
func TestTemporaryErrorOnIdleStream(t *testing.T) {
	proceed := make(chan struct{})
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error {
		<-proceed
		return errors.New("full")
	})})
	s := metricKind.mustOpen(t, r.dial())
	_, err := s.send(points(1))
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond)
	close(proceed)
	requireEnd(t, endOf(t, s.stream), codes.Unavailable, "full")
}

// Records that OTLP cannot represent are always reported as bad. The other records are
// reported as bad only if the pipeline refuses them permanently.
func TestRecordsThatAreNoOTLP(t *testing.T) {
	f := func(name string, refuse error, want []stefgrpc.IDRange) {
		t.Run(name, func(t *testing.T) {
			var items atomic.Int64
			r := startRig(t, testConfig(), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
				items.Add(int64(md.DataPointCount()))
				return refuse
			})})
			c, err := stefgrpc.NewClient(r.dial())
			require.NoError(t, err)
			stream, err := c.Open(timeout(t), otelstef.MetricsRoot())
			require.NoError(t, err)
			w, err := otelstef.NewMetricsWriter(stream, stream.WriterOptions()...)
			require.NoError(t, err)
			for id := 1; id <= 10; id++ {
				kind := otelstef.MetricTypeGauge
				if id == 4 || id == 5 || id == 8 {
					kind = 99
				}
				w.Record().EditMetric().SetType(kind)
				w.Record().Point().SetTimestamp(uint64(id))
				w.Record().Point().Value().SetInt64(1)
				require.NoError(t, w.Write())
			}
			require.NoError(t, w.Flush())
			require.NoError(t, stream.AwaitAck(timeout(t), 10))
			require.EqualValues(t, 7, items.Load())
			require.Equal(t, want, stream.Rejected())
			require.NoError(t, stream.Drain(timeout(t)))
			r.requireIdle()
		})
	}
	f("accepted", nil, []stefgrpc.IDRange{{From: 4, To: 5}, {From: 8, To: 8}})
	f("refused", consumererror.NewPermanent(errors.New("no")), []stefgrpc.IDRange{{From: 1, To: 10}})
}

// TestTooLargeRecordsAreNotAcknowledged: a record that exceeds the maximum size of a batch ends the
// stream. The record reaches no consumer, so it is not acknowledged, even if bad records precede it.
func TestTooLargeRecordsAreNotAcknowledged(t *testing.T) {
	f := func(name string, acked int, kinds ...otelstef.MetricType) {
		t.Run(name, func(t *testing.T) {
			to, _, metrics, _ := everything()
			r := startRig(t, testConfig(), to)
			var chunks chunkList
			w, err := otelstef.NewMetricsWriter(&chunks, stef.WithFrameBytes(16*mib))
			require.NoError(t, err)
			for _, kind := range append(kinds, otelstef.MetricTypeGauge, otelstef.MetricTypeGauge) {
				w.Record().EditMetric().SetType(kind)
				attrs := w.Record().Attributes()
				attrs.SetLen(0)
				if w.Stats().Records == uint64(len(kinds)) { // the repeated text is in the dictionary, so the stream is small
					for key := range 6 {
						attrs.AppendString(strings.Repeat("k", key+1), strings.Repeat("x", 7*mib))
					}
				}
				w.Record().Point().Value().SetInt64(1)
				require.NoError(t, w.Write())
			}
			require.NoError(t, w.Flush())
			p := rawOpen(t, r, "Metrics")
			for _, chunk := range chunks {
				for part := range slices.Chunk(chunk, mib) {
					p.data(part, false)
				}
				p.data(nil, true)
			}
			last, st := p.endAcked()
			require.Equal(t, codes.ResourceExhausted, st.Code(), st.Message())
			require.Contains(t, st.Message(), fmt.Sprintf("record %d takes about 44", len(kinds)+1))
			require.EqualValues(t, acked, last)
			require.Equal(t, sumOf(t, r.telemetry, "otelcol_receiver_stef_records_rejected", "", ""), int64(acked-metrics.DataPointCount()))
			r.requireIdle()
		})
	}
	const good, bad = otelstef.MetricTypeGauge, otelstef.MetricType(99)
	f("first", 0)
	f("after good records", 2, good, good)
	f("after bad records", 2, bad, bad)
	f("after both", 2, good, bad)
}

func TestPipelineKnowsTheClient(t *testing.T) {
	infos := make(chan client.Info, 2)
	ended := make(chan error, 1)
	r := startRig(t, testConfig(func(c *Config) { c.ServerConfig.IncludeMetadata = true }),
		sinks{metrics: acting(t, func(ctx context.Context, md pmetric.Metrics) error {
			infos <- client.FromContext(ctx)
			if md.DataPointCount() == 2 {
				// The client disconnects during the sleep. The data that it has sent is
				// still consumed, and ctx does not end.
				time.Sleep(50 * time.Millisecond)
				ended <- ctx.Err()
			}
			return nil
		})})
	c, err := stefgrpc.NewClient(r.dial())
	require.NoError(t, err)
	stream, err := c.Open(metadata.AppendToOutgoingContext(timeout(t), "tenant", "blue"), otelstef.MetricsRoot())
	require.NoError(t, err)
	s := &sender[pmetric.Metrics]{stream: stream}
	require.NoError(t, metricKind.make(s, stream.WriterOptions()...))
	require.NoError(t, s.deliver(points(1)))
	info := <-infos
	require.Equal(t, []string{"blue"}, info.Metadata.Get("tenant"))
	require.NotNil(t, info.Addr)

	_, err = s.send(points(2))
	require.NoError(t, err)
	<-infos
	require.NoError(t, stream.Close())
	require.NoError(t, <-ended)
	r.requireIdle()
}

// If the pipeline panics, only the batch is lost: the stream and the Collector
// continue.
func TestPipelinePanics(t *testing.T) {
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
		if md.DataPointCount() == 2 {
			panic("odd batch")
		}
		return nil
	})})
	s := metricKind.mustOpen(t, r.dial())
	for n := 1; n <= 3; n++ {
		require.NoError(t, s.deliver(points(n)))
	}
	require.Equal(t, []stefgrpc.IDRange{{From: 2, To: 3}}, s.stream.Rejected())
	require.NoError(t, s.stream.Drain(timeout(t)))
	r.requireIdle()
}

// An error of the pipeline can panic when its methods are called, for example a nil pointer of an
// error type. This counts as a panic of the pipeline.
func TestErrorsPanic(t *testing.T) {
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
		if md.DataPointCount() == 2 {
			return (*stef.FormatError)(nil)
		}
		return nil
	})})
	s := metricKind.mustOpen(t, r.dial())
	for n := 1; n <= 3; n++ {
		require.NoError(t, s.deliver(points(n)))
	}
	require.Equal(t, []stefgrpc.IDRange{{From: 2, To: 3}}, s.stream.Rejected())
	require.Equal(t, codes.Internal, status.Code(export(r.dial(), points(2))))
	require.EqualValues(t, 2, sumOf(t, r.telemetry, "otelcol_receiver_stef_panics", "signal", "metrics"))
}

// The pipeline may process several batches of a stream at the same time, up to
// consumers_per_stream.
func TestConsumersPerStream(t *testing.T) {
	var now, most atomic.Int64
	proceed := make(chan struct{})
	r := startRig(t, testConfig(func(c *Config) { c.ConsumersPerStream = 3 }),
		sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-proceed
			time.Sleep(5 * time.Millisecond)
			now.Add(-1)
			return nil
		})})
	s := metricKind.mustOpen(t, r.dial())
	for range 30 {
		_, err := s.send(points(10))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return now.Load() == 3 }, time.Minute, time.Millisecond)
	close(proceed)
	require.NoError(t, s.stream.AwaitAll(timeout(t)))
	require.EqualValues(t, 3, most.Load())
}

// While admission is full, streams wait before they decode. If the waiting data reaches the waiting
// limit, further streams are refused.
func TestAdmissionOfStreams(t *testing.T) {
	f := func(name string, waitingMiB int, end codes.Code) {
		t.Run(name, func(t *testing.T) {
			busy, proceed := make(chan struct{}, 1), make(chan struct{})
			r := startRig(t, testConfig(func(c *Config) {
				c.Admission = AdmissionConfig{RequestLimitMiB: 1, WaitingLimitMiB: waitingMiB}
			}), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
				if md.DataPointCount() == 1 {
					busy <- struct{}{}
					<-proceed
				}
				return nil
			})})
			first, second := metricKind.mustOpen(t, r.dial()), metricKind.mustOpen(t, r.dial())
			_, err := first.send(largePoint())
			require.NoError(t, err)
			<-busy
			_, err = second.send(points(50))
			require.NoError(t, err)
			if end == codes.OK {
				require.Eventually(t, func() bool { _, waiting := r.shared.admission.state(); return waiting > 0 },
					time.Minute, time.Millisecond)
				close(proceed)
				require.NoError(t, second.stream.AwaitAll(timeout(t)))
			} else {
				known := requireEnd(t, endOf(t, second.stream), end, "too much data waits to be processed, more than admission::waiting_limit_mib of the receiver")
				require.True(t, known.HasRetryInfo)
				require.Eventually(t, func() bool {
					return sumOf(t, r.telemetry, "otelcol_receiver_stef_streams_closed", "reason", endPressure) == 1
				}, time.Minute, time.Millisecond)
				r.shared.clients.mu.Lock()
				for _, client := range r.shared.clients.byAddress {
					require.Greater(t, client.credit.balance(), int64(-errorCost/2), "the client did nothing wrong")
				}
				r.shared.clients.mu.Unlock()
				close(proceed)
			}
			require.NoError(t, first.stream.AwaitAll(timeout(t)))
			r.requireIdle()
			refused := map[codes.Code]int64{codes.OK: 0, codes.Unavailable: 50}[end]
			require.Equal(t, refused, sumOf(t, r.telemetry, "otelcol_receiver_refused_metric_points", "transport", "stef"))
		})
	}
	f("room to wait", 1, codes.OK)
	f("no room to wait", 0, codes.Unavailable)
}

// A large frame becomes several batches. Each batch is acknowledged or rejected separately.
func TestMaxBatchItems(t *testing.T) {
	f := func(most int, sizes []int, rejected []stefgrpc.IDRange) {
		t.Helper()
		var got []int
		r := startRig(t, testConfig(func(c *Config) { c.MaxBatchItems, c.ConsumersPerStream = most, 1 }),
			sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
				got = append(got, md.DataPointCount())
				if len(got) == 2 {
					return consumererror.NewPermanent(errors.New("no"))
				}
				return nil
			})})
		s := metricKind.mustOpen(t, r.dial())
		require.NoError(t, s.deliver(points(20)))
		require.Equal(t, sizes, got)
		require.Equal(t, rejected, s.stream.Rejected())
	}
	f(8, []int{8, 8, 4}, []stefgrpc.IDRange{{From: 9, To: 16}})
	f(0, []int{20}, nil)
}

// A client of the reference implementation sends each of the two headers in a message of its own, and
// metrics in the published schema.
func TestReferenceStyleClient(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(), to)
	p := rawOpen(t, r, "Metrics")
	var chunks chunkList
	w, err := otelstef.NewMetricsWriter(&chunks, otelstef.PublishedMetrics(), stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	s := sender[pmetric.Metrics]{}
	s.encode, s.flush, s.sent = newMetricsEncoder(w), w.Flush, func() uint64 { return w.Stats().Records }
	_, err = s.send(points(5), points(7))
	require.NoError(t, err)
	require.Len(t, chunks, 4, "two headers and two frames")
	for _, chunk := range chunks {
		p.data(chunk, true)
	}
	require.EqualValues(t, 12, p.awaitAck(12))
	require.Equal(t, 12, metrics.DataPointCount())
	require.NoError(t, p.stream.CloseSend())
	require.Equal(t, codes.OK, p.end().Code())
}
