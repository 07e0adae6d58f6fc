// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
	"github.com/otelstef/stef/internal/teltest/canon"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

func batches(t *testing.T, s otlpfile.Signal, n int) []otlpfile.Batch {
	t.Helper()
	file := map[otlpfile.Signal]func() []byte{otlpfile.Metrics: fixtures.Metrics, otlpfile.Traces: fixtures.Traces, otlpfile.Logs: fixtures.Logs}[s]()
	parts, err := fixtures.Parts(file)
	require.NoError(t, err)
	var list []otlpfile.Batch
	for _, p := range parts[:n] {
		var b otlpfile.Batch
		switch s {
		case otlpfile.Metrics:
			md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(p)
			require.NoError(t, err)
			b = otlpfile.MetricsBatch(md)
		case otlpfile.Traces:
			td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(p)
			require.NoError(t, err)
			b = otlpfile.TracesBatch(td)
		default:
			ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(p)
			require.NoError(t, err)
			b = otlpfile.LogsBatch(ld)
		}
		list = append(list, b)
	}
	return list
}

// source yields fresh copies of the batches each time.
func source(t *testing.T, s otlpfile.Signal, n int) replay.Source {
	return func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) {
			for _, b := range batches(t, s, n) {
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

type sink struct {
	mu      sync.Mutex
	metrics []pmetric.Metrics
	traces  []ptrace.Traces
	logs    []plog.Logs
	refuse  int
}

func (s *sink) take(b otlpfile.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return errors.New("not now")
	}
	switch b.Signal {
	case otlpfile.Metrics:
		s.metrics = append(s.metrics, b.Metrics)
	case otlpfile.Traces:
		s.traces = append(s.traces, b.Traces)
	case otlpfile.Logs:
		s.logs = append(s.logs, b.Logs)
	}
	return nil
}

func serve(t *testing.T, s *sink) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(replay.Options()...)
	server, err := replay.Register(g, s.take)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, server.Shutdown(ctx))
		g.Stop()
		require.NoError(t, <-served)
	})
	return conn
}

// If a bad record ends a stream, the records before it in the same frame arrive and are
// acknowledged. Without the acknowledgement, the sender would drop the first batch of the frame
// instead of the batch of this record.
func TestRecordsBeforeDamage(t *testing.T) {
	s := &sink{}
	client, err := stefgrpc.NewClient(serve(t, s))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stream, err := client.Open(ctx, otelstef.MetricsRoot())
	require.NoError(t, err)
	defer stream.Close()
	w, err := otelstef.NewMetricsWriter(stream, append(stream.WriterOptions(), stef.WithFrameBytes(16<<20))...)
	require.NoError(t, err)
	for i := range 4 {
		attrs := w.Record().Attributes()
		attrs.SetLen(0)
		for key := range 6 * (i / 3) { // the last record has more than 32 MiB as OTLP
			attrs.AppendString(strings.Repeat("k", key+1), strings.Repeat("x", 7<<20))
		}
		w.Record().EditMetric().SetType(otelstef.MetricTypeGauge)
		w.Record().Point().Value().SetInt64(int64(i))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Flush())
	require.Equal(t, codes.ResourceExhausted, stefgrpc.FromStatus(stream.Drain(ctx)).Code)
	require.EqualValues(t, 3, stream.Acked())
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.metrics, 1)
	require.Equal(t, 3, s.metrics[0].DataPointCount())
}

// Everything that is sent arrives over both protocols, including batches that
// the endpoint refuses at first.
func TestSendAndReceive(t *testing.T) {
	senders := map[string]func(*grpc.ClientConn) *replay.Sender{
		"otlp":      func(c *grpc.ClientConn) *replay.Sender { return replay.NewOTLPSender(c, "") },
		"otlp gzip": func(c *grpc.ClientConn) *replay.Sender { return replay.NewOTLPSender(c, "gzip") },
		"stef": func(c *grpc.ClientConn) *replay.Sender {
			s, err := replay.NewSTEFSender(c, stef.Zstd)
			require.NoError(t, err)
			return s
		},
	}
	const n = 20
	for name, newSender := range senders {
		t.Run(name, func(t *testing.T) {
			s := &sink{refuse: 2}
			sender := newSender(serve(t, s))
			p := replay.Player{Send: sender.Send}
			counts, err := p.Play(t.Context(), source(t, otlpfile.Metrics, n), source(t, otlpfile.Traces, n), source(t, otlpfile.Logs, n))
			require.NoError(t, err)
			require.NoError(t, sender.Close(t.Context()))
			require.EqualValues(t, 3*n, counts.Batches)
			require.Zero(t, sender.Rejected())

			var md []pmetric.Metrics
			var td []ptrace.Traces
			var ld []plog.Logs
			for i := range n {
				md = append(md, batches(t, otlpfile.Metrics, n)[i].Metrics)
				td = append(td, batches(t, otlpfile.Traces, n)[i].Traces)
				ld = append(ld, batches(t, otlpfile.Logs, n)[i].Logs)
			}
			o := canon.Options{SortAttributes: true}
			want, got := o.Metrics(md...), o.Metrics(s.metrics...)
			require.Empty(t, canon.Diff(want, got))
			require.EqualValues(t, counts.Items, want.Len()+o.Traces(td...).Len()+o.Logs(ld...).Len())
			require.Empty(t, canon.Diff(o.Traces(td...), o.Traces(s.traces...)))
			require.Empty(t, canon.Diff(o.Logs(ld...), o.Logs(s.logs...)))
		})
	}
}

// OTLP requests are sent again after the answers that OTLP calls retryable, and after a proxy reset them.
func TestOTLPRetries(t *testing.T) {
	const reset = "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"
	f := func(answer error) error {
		t.Helper()
		calls := 0
		conn, err := grpc.NewClient("localhost:1", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithUnaryInterceptor(func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
				if calls++; calls == 1 {
					return answer
				}
				return nil
			}))
		require.NoError(t, err)
		defer conn.Close()
		return replay.NewOTLPSender(conn, "").Send(t.Context(), batches(t, otlpfile.Logs, 1)[0])
	}
	for _, answer := range []error{
		status.Error(codes.Internal, reset), status.Error(codes.Aborted, ""), status.Error(codes.DeadlineExceeded, ""),
		status.Error(codes.Unavailable, ""), status.Error(codes.ResourceExhausted, ""),
	} {
		require.NoError(t, f(answer))
	}
	for _, answer := range []error{status.Error(codes.Internal, "bug"), status.Error(codes.InvalidArgument, reset)} {
		require.ErrorIs(t, f(answer), answer)
	}

	const delay = 400 * time.Millisecond // longer than the sender's first wait
	later, err := status.New(codes.Unavailable, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	require.NoError(t, err)
	begin := time.Now()
	require.NoError(t, f(later.Err()))
	require.GreaterOrEqual(t, time.Since(begin), delay, "the endpoint asked for this delay")
}

// If a send never succeeds, the replay ends with the reason.
func TestPlayFails(t *testing.T) {
	failure := errors.New("gone")
	p := replay.Player{Send: func(context.Context, otlpfile.Batch) error { return failure }}
	_, err := p.Play(t.Context(), source(t, otlpfile.Logs, 10))
	require.ErrorIs(t, err, failure)
	require.ErrorContains(t, err, "batch ")

	// Only batches that were delivered count. The error names the batch in its source.
	n := len(batches(t, otlpfile.Logs, 10))
	all, sent := n+3, 0
	p = replay.Player{InFlight: 1, Rounds: 2, Delivered: func() { t.Error("the last batch failed") }, Send: func(_ context.Context, b otlpfile.Batch) error {
		if sent++; sent == all {
			return failure
		}
		return nil
	}}
	counts, err := p.Play(t.Context(), source(t, otlpfile.Logs, 10))
	require.EqualValues(t, all-1, counts.Batches)
	var at *replay.SendError
	require.ErrorAs(t, err, &at)
	require.Equal(t, replay.SendError{Source: 0, Round: 2, Batch: 3, Err: failure}, *at)

	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	p = replay.Player{Send: func(ctx context.Context, _ otlpfile.Batch) error { return ctx.Err() }, Pace: 1}
	_, err = p.Play(ctx, source(t, otlpfile.Logs, 10))
	require.ErrorIs(t, err, stopped)

	broken := func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) { yield(otlpfile.Batch{}, failure) }
	}
	_, err = (&replay.Player{}).Play(t.Context(), broken)
	require.ErrorIs(t, err, failure)
}

// Batches are sent at the pace of the recording, or at a number of items per second.
func TestPace(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	recording := func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) {
			for i := range 5 {
				ld := plog.NewLogs()
				r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
				r.SetTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(i) * 50 * time.Millisecond)))
				if !yield(otlpfile.LogsBatch(ld), nil) {
					return
				}
			}
		}
	}
	for _, pace := range []float64{replay.Original, 20} {
		var last time.Duration
		begin := time.Now()
		p := replay.Player{Pace: pace, InFlight: 1, Now: true, Send: func(_ context.Context, b otlpfile.Batch) error {
			last = time.Since(begin)
			at := b.Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Timestamp().AsTime()
			require.WithinDuration(t, time.Now(), at, 10*time.Second)
			return nil
		}}
		_, err := p.Play(t.Context(), recording)
		require.NoError(t, err)
		require.GreaterOrEqual(t, last, 190*time.Millisecond)
	}
}

// The rate holds over all sources and rounds, however large the batches are, and for the
// last batch as well.
func TestRate(t *testing.T) {
	f := func(rounds int, pace float64, sources ...replay.Source) (at []time.Duration, waits []string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var mu sync.Mutex
			sent := 0
			delivered := time.Duration(-1)
			p := replay.Player{Pace: pace, Rounds: rounds, Delivered: func() { delivered = time.Since(begin) }, Send: func(_ context.Context, b otlpfile.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(begin))
				require.LessOrEqual(t, float64(sent), pace*time.Since(begin).Seconds()+1)
				sent += b.Items()
				return nil
			}, Idle: func(left time.Duration, last bool) {
				waits = append(waits, fmt.Sprint(left, last))
			}}
			counts, err := p.Play(t.Context(), sources...)
			require.NoError(t, err)
			require.EqualValues(t, sent, counts.Items)
			require.EqualValues(t, len(at), counts.Batches)
			require.Equal(t, at[len(at)-1], delivered)
			require.InDelta(t, float64(sent)/pace, time.Since(begin).Seconds(), 1e-6)
		})
		return at, waits
	}
	at, _ := f(2, 1000, source(t, otlpfile.Logs, 20), source(t, otlpfile.Metrics, 1))
	require.Len(t, at, 42)

	large := func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) {
			ld := plog.NewLogs()
			records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
			for range 200 {
				records.AppendEmpty()
			}
			yield(otlpfile.LogsBatch(ld), nil)
		}
	}
	at, waits := f(3, 50, large)
	require.Equal(t, []time.Duration{0, 4 * time.Second, 8 * time.Second}, at)
	require.Empty(t, waits)
	_, waits = f(2, 20, large)
	require.Equal(t, []string{"10s false", "10s true"}, waits)
}

// At a very low rate, the second batch is not sent immediately.
func TestLowRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		p := replay.Player{Pace: 1e-12, Send: func(context.Context, otlpfile.Batch) error { return nil }}
		counts, err := p.Play(ctx, at(0, 0))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualValues(t, 1, counts.Batches)
	})
}

// Each round has ids and times that no earlier round had, and related items
// stay related.
func TestRounds(t *testing.T) {
	seen := map[pcommon.SpanID]bool{}
	var spans, orphans, original int
	var latest, earliest pcommon.Timestamp
	ends := map[int]pcommon.Timestamp{}
	round := 0
	n := len(batches(t, otlpfile.Traces, 30))
	sent := 0
	p := replay.Player{InFlight: 1, Rounds: 3, Send: func(_ context.Context, b otlpfile.Batch) error {
		if sent%n == 0 {
			round++
			if round > 1 {
				first, _ := replay.Times(b)
				earliest = first
				require.Greater(t, earliest+pcommon.Timestamp(time.Minute), latest)
			}
		}
		sent++
		for _, rs := range b.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					require.False(t, seen[s.SpanID()])
					seen[s.SpanID()] = true
					spans++
					if !s.ParentSpanID().IsEmpty() {
						orphans++
					}
					latest = max(latest, s.EndTimestamp())
					ends[round] = max(ends[round], s.EndTimestamp())
				}
			}
		}
		return nil
	}}
	_, err := p.Play(t.Context(), source(t, otlpfile.Traces, 30))
	require.NoError(t, err)
	require.Equal(t, 3, round)
	require.Less(t, ends[1], ends[2])
	require.Less(t, ends[2], ends[3])
	original = spans / 3
	require.Equal(t, 3*original, spans)
	require.NotZero(t, orphans)
}

// A change keeps the relations between items and is the same for the same seed.
func TestChange(t *testing.T) {
	b := batches(t, otlpfile.Traces, 1)[0]
	before := ptrace.NewTraces()
	b.Traces.CopyTo(before)
	replay.Change{Shift: time.Hour, IDs: 7}.Apply(&b)
	ids := map[pcommon.SpanID]pcommon.SpanID{}
	each := func(f func(old, now ptrace.Span)) {
		for i, rs := range before.ResourceSpans().All() {
			for j, ss := range rs.ScopeSpans().All() {
				for k, s := range ss.Spans().All() {
					f(s, b.Traces.ResourceSpans().At(i).ScopeSpans().At(j).Spans().At(k))
				}
			}
		}
	}
	each(func(old, now ptrace.Span) {
		require.NotEqual(t, old.SpanID(), now.SpanID())
		require.NotEqual(t, old.TraceID(), now.TraceID())
		require.Equal(t, old.StartTimestamp()+3600e9, now.StartTimestamp())
		require.Equal(t, old.EndTimestamp()+3600e9, now.EndTimestamp())
		ids[old.SpanID()] = now.SpanID()
	})
	each(func(old, now ptrace.Span) {
		require.Equal(t, old.ParentSpanID().IsEmpty(), now.ParentSpanID().IsEmpty())
		if id, ok := ids[old.ParentSpanID()]; ok {
			require.Equal(t, id, now.ParentSpanID())
		}
	})
	again := otlpfile.TracesBatch(before)
	replay.Change{Shift: time.Hour, IDs: 7}.Apply(&again)
	require.Empty(t, canon.DiffOrderedTraces(b.Traces, again.Traces))

	// The times of all kinds of points are shifted. Times that are not set do not change.
	md := pmetric.NewMetrics()
	ms := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	h := ms.AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
	h.SetTimestamp(5)
	e := h.Exemplars().AppendEmpty()
	e.SetTimestamp(4)
	e.SetTraceID(pcommon.TraceID{1})
	x := ms.AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	x.SetStartTimestamp(6)
	s := ms.AppendEmpty().SetEmptySummary().DataPoints().AppendEmpty()
	s.SetTimestamp(7)
	g := ms.AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
	g.SetTimestamp(8)
	m := otlpfile.MetricsBatch(md)
	first, last := replay.Times(m)
	require.EqualValues(t, 4, first)
	require.EqualValues(t, 8, last)
	replay.Change{Shift: 100, IDs: 1}.Apply(&m)
	require.EqualValues(t, 105, h.Timestamp())
	require.Zero(t, h.StartTimestamp())
	require.EqualValues(t, 104, e.Timestamp())
	require.NotEqual(t, pcommon.TraceID{1}, e.TraceID())
	require.True(t, e.SpanID().IsEmpty())
	require.EqualValues(t, 106, x.StartTimestamp())
	require.EqualValues(t, 107, s.Timestamp())
	require.EqualValues(t, 108, g.Timestamp())
}
