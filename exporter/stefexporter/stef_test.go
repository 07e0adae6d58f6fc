// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// TestSTEFRejected uses a peer that rejects the first two records of every frame.
func TestSTEFRejected(t *testing.T) {
	p := &peer{onStream: func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		d := stefpdata.NewTracesDecoder(r)
		for {
			before := r.Stats().Records
			if _, err := d.Decode(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			s.Reject(before+1, min(before+2, r.Stats().Records))
			s.AckUpTo(r.Stats().Records)
		}
	}}
	listen(t, p, "", true, false)
	x := start(t, testConfig(p.addr))

	require.NoError(t, x.send("a", "b", "c", "d", "e"), "three of five are good")
	dropped(t, x, map[string]int64{dropRejected: 2})
	require.Equal(t, map[string]int64{"stef": 3}, counted(t, x, "items_delivered", "protocol"))

	err := x.send("f", "g")
	require.True(t, consumererror.IsPermanent(err), "nothing is good")
	dropped(t, x, map[string]int64{dropRejected: 4})
	require.Equal(t, map[string]int64{"stef": 3}, counted(t, x, "items_delivered", "protocol"))
	require.Equal(t, map[string]int64{"": 4}, counted(t, x, "records_rejected", ""))
	require.Empty(t, counted(t, x, "failed_attempts", "code"))
}

// TestSTEFLateRejection uses a peer that acknowledges records and rejects them afterwards. Their batch
// has already counted as delivered, so a separate metric counts the rejected records.
func TestSTEFLateRejection(t *testing.T) {
	acked := make(chan struct{})
	p := &peer{onStream: func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		d := stefpdata.NewTracesDecoder(r)
		for {
			if _, err := d.Decode(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			s.AckUpTo(r.Stats().Records)
			select {
			case <-acked:
			case <-s.Context().Done():
			}
			s.Reject(2, 4)
		}
	}}
	listen(t, p, "", true, false)
	x := start(t, testConfig(p.addr))
	require.NoError(t, x.send("a", "b", "c", "d", "e"))
	close(acked)
	require.Eventually(t, func() bool {
		return counted(t, x, "records_rejected_late", "")[""] == 3
	}, time.Minute, 10*time.Millisecond)
	require.Empty(t, counted(t, x, "records_rejected", ""))
	require.Equal(t, map[string]int64{"stef": 5}, counted(t, x, "items_delivered", "protocol"))
	require.NoError(t, x.send("f"))
}

// TestSTEFUnencodable sends items that exceed the limits of stefpdata. The other
// items of the batch are delivered, and so are later batches on the same stream.
func TestSTEFUnencodable(t *testing.T) {
	p := listen(t, &peer{}, "", true, false)
	x := start(t, testConfig(p.addr))
	huge := strings.Repeat("x", stefpdata.MaxItemBytes+1)
	require.NoError(t, x.send("a", huge, "b"))
	dropped(t, x, map[string]int64{dropUnencodable: 1})
	err := x.send(huge)
	require.True(t, consumererror.IsPermanent(err))
	dropped(t, x, map[string]int64{dropUnencodable: 2})
	require.NoError(t, x.send("c"))
	require.Equal(t, []string{"a", "b", "c"}, p.bySTEF)
	require.Len(t, p.streams, 1)
}

// TestSTEFPanic uses an encoder that panics for one batch. Only this batch is lost.
func TestSTEFPanic(t *testing.T) {
	p := listen(t, &peer{}, "", true, false)
	c := testConfig(p.addr)
	hurt := *signal.Traces
	hurt.NewEncoder = func(dst io.Writer, options []stefpdata.EncoderOption, more ...stef.WriterOption) (*signal.Encoder[ptrace.Traces], error) {
		e, err := signal.Traces.NewEncoder(dst, options, more...)
		if err == nil {
			encode := e.Encode
			e.Encode = func(td ptrace.Traces) error {
				if names(td)[0] == "bomb" {
					panic("boom")
				}
				return encode(td)
			}
		}
		return e, err
	}
	x := startSignal(t, c, &hurt)
	require.NoError(t, x.push(context.Background(), spans("a")))
	err := x.push(context.Background(), spans("bomb"))
	require.True(t, consumererror.IsPermanent(err))
	require.ErrorContains(t, err, "boom")
	require.NoError(t, x.push(context.Background(), spans("b")))
	require.Equal(t, []string{"a", "b"}, p.bySTEF)
}

// TestSTEFEnds uses a peer that ends streams while batches wait for acknowledgements. Each batch fails
// immediately with the status of the peer.
func TestSTEFEnds(t *testing.T) {
	f := func(end error, permanent bool, text string) {
		t.Helper()
		p := &peer{onStream: func(s *stefgrpc.ServerStream) error {
			r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
			if err == nil && r.Next() {
				return end
			}
			return errors.Join(err, r.Err())
		}}
		listen(t, p, "", true, false)
		x := start(t, testConfig(p.addr))
		began := time.Now()
		err := x.send("a", "b")
		require.Error(t, err)
		require.Less(t, time.Since(began), 30*time.Second, "at once, not at the timeout")
		require.Equal(t, permanent, consumererror.IsPermanent(err), "%v", err)
		require.ErrorContains(t, err, text)
	}
	f(status.Error(codes.Unavailable, "busy"), false, "busy")
	f(withRetryInfo(codes.Unavailable, 7*time.Second), false, "Throttle (7s)")
	f(withRetryInfo(codes.ResourceExhausted, 9*time.Second), false, "Throttle (9s)")
	f(status.Error(codes.ResourceExhausted, "too large"), true, "too large")
	f(status.Error(codes.InvalidArgument, "bad frame"), true, "bad frame")
}

// TestSTEFUnimplementedRecord uses a peer that has STEF, but ends the stream with UNIMPLEMENTED
// because of a record. The exporter must not conclude that the peer has no STEF. It drops only the
// items that the peer has not acknowledged.
func TestSTEFUnimplementedRecord(t *testing.T) {
	p := &peer{onStream: func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		for range 3 {
			if !r.Next() {
				return r.Err()
			}
		}
		s.AckUpTo(2)
		return status.Error(codes.Unimplemented, "this kind of span is not stored")
	}}
	listen(t, p, "", true, false)
	c := testConfig(p.addr)
	c.Protocol = ProtocolSTEF
	x := start(t, c)
	require.True(t, consumererror.IsPermanent(x.send("0", "1", "2", "3")))
	dropped(t, x, map[string]int64{dropPermanent: 2})
	require.Equal(t, map[string]int64{"stef": 2}, counted(t, x, "items_delivered", "protocol"))
}

// TestSTEFCrash kills the peer while batches wait for acknowledgements.
func TestSTEFCrash(t *testing.T) {
	reached := make(chan struct{}, 8)
	p := &peer{onStream: func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err == nil && r.Next() {
			reached <- struct{}{}
		}
		<-s.Context().Done()
		return err
	}}
	listen(t, p, freeport.Address(t), true, false)
	c := testConfig(p.addr)
	c.TimeoutConfig.Timeout = time.Hour
	x := start(t, c)
	var group sync.WaitGroup
	errs := make([]error, 20)
	began := time.Now()
	for i := range errs {
		group.Go(func() { errs[i] = x.send(fmt.Sprint(i)) })
	}
	<-reached
	p.server.Stop()
	young := listen(t, &peer{}, p.addr, true, false)
	group.Wait()
	require.Less(t, time.Since(began), time.Minute)
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
			require.False(t, consumererror.IsPermanent(err), "%v", err)
		}
	}
	require.NotZero(t, failed, "what was sent is handed back")
	require.Eventually(t, func() bool { return x.send("after") == nil }, time.Minute, 10*time.Millisecond)
	bySTEF, _ := young.got()
	require.Equal(t, len(errs)-failed+1, bySTEF)
}

// TestSTEFSharesFrames sends 50 small batches at the same time. The exporter puts them into a few
// frames.
func TestSTEFSharesFrames(t *testing.T) {
	p := listen(t, &peer{}, "", true, false)
	c := testConfig(p.addr)
	c.Stef.FlushInterval = time.Second
	x := start(t, c)
	require.NoError(t, x.send("first"))
	before := counted(t, x, "frames_sent", "")[""]
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			if err := x.send(fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	frames := counted(t, x, "frames_sent", "")[""] - before
	require.LessOrEqual(t, frames, int64(5), "50 batches")
	bySTEF, _ := p.got()
	require.Equal(t, 51, bySTEF)
}

// TestSTEFWaitsForNobody checks that a frame is sent as soon as it has a batch of each consumer of the
// queue, long before the flush interval ends: no further batch can arrive.
func TestSTEFWaitsForNobody(t *testing.T) {
	p := listen(t, &peer{}, "", true, false)
	c := testConfig(p.addr)
	c.Stef.FlushInterval = time.Hour
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.NumConsumers = 4
	queue.WaitForResult = true
	c.QueueConfig = configoptional.Some(queue)
	x := start(t, c)
	const early = 4 // batches that are sent one after another: their frames do not wait
	for range early {
		require.NoError(t, x.send("early"))
	}
	var group sync.WaitGroup
	for i := range queue.NumConsumers {
		group.Go(func() {
			for range 5 {
				if err := x.send(fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	bySTEF, _ := p.got()
	require.Equal(t, early+20, bySTEF)
	require.LessOrEqual(t, counted(t, x, "frames_sent", "")[""], int64(early+5))
}

func TestSTEFTelemetry(t *testing.T) {
	p := listen(t, &peer{}, "", true, false)
	c := testConfig(p.addr)
	c.Stef.MaxDictMiB = 1
	x := start(t, c)
	var list []string
	for i := range 20_000 {
		list = append(list, fmt.Sprintf("%060d", i))
	}
	for range 3 {
		require.NoError(t, x.send(list...))
	}
	require.Equal(t, map[string]int64{"stef": 60_000}, counted(t, x, "items_delivered", "protocol"))
	require.Equal(t, map[string]int64{"": 1}, counted(t, x, "streams_opened", ""))
	require.NotZero(t, counted(t, x, "dict_resets", "")[""])
	encoded, compressed := counted(t, x, "bytes_encoded", "")[""], counted(t, x, "bytes_compressed", "")[""]
	require.Greater(t, encoded, compressed)
	ratio, err := x.telemetry.GetMetric("otelcol_exporter_stef_zstd_ratio")
	require.NoError(t, err)
	require.InEpsilon(t, float64(encoded)/float64(compressed), ratio.Data.(metricdata.Gauge[float64]).DataPoints[0].Value, 1e-9)
	latency, err := x.telemetry.GetMetric("otelcol_exporter_stef_ack_latency")
	require.NoError(t, err)
	require.Equal(t, uint64(3), latency.Data.(metricdata.Histogram[float64]).DataPoints[0].Count)
	active, err := x.telemetry.GetMetric("otelcol_exporter_stef_streams_active")
	require.NoError(t, err)
	require.Equal(t, int64(1), sum(active))
	for _, name := range []string{"unacked_batches", "unacked_bytes"} {
		m, err := x.telemetry.GetMetric("otelcol_exporter_stef_" + name)
		require.NoError(t, err)
		require.Zero(t, sum(m), name)
	}
	require.Zero(t, counted(t, x, "schema_losses", "")[""])
	dropped(t, x, map[string]int64{})
}

func TestSTEFHealth(t *testing.T) {
	t.Parallel()
	p := listen(t, &peer{}, freeport.Address(t), true, false)
	x := start(t, testConfig(p.addr))
	require.NoError(t, x.send("a"))
	require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
	p.stop(t)
	require.Eventually(t, func() bool { return x.host.last().Status() == componentstatus.StatusRecoverableError },
		time.Minute, 10*time.Millisecond)
	listen(t, &peer{}, p.addr, true, false)
	require.Eventually(t, func() bool { return x.host.last().Status() == componentstatus.StatusOK }, time.Minute, 10*time.Millisecond)
	require.NoError(t, x.send("b"))
}

// incompatibleRoot returns a root of spans whose schema is neither older nor newer than the schema of
// the exporter.
func incompatibleRoot() *schema.Struct {
	// Compared with the schema of the exporter, the root has fewer fields, but Envelope has more.
	number := func(name string) *schema.Field {
		return &schema.Field{Name: name, Type: schema.Type{Kind: schema.KindUint64}}
	}
	envelope := &schema.Struct{Name: "Envelope", Fields: []*schema.Field{number("A"), number("B"), number("C")}}
	return &schema.Struct{Name: otelstef.SpansRootName, Root: true, Fields: []*schema.Field{
		{Name: "Envelope", Type: schema.Type{Kind: schema.KindStruct, Name: "Envelope", Struct: envelope}},
	}}
}

func TestSTEFIncompatible(t *testing.T) {
	odd := incompatibleRoot()
	f := func(protocol Protocol) (*peer, *rig) {
		p := listen(t, &peer{root: odd}, "", true, true)
		c := testConfig(p.addr)
		c.Protocol = protocol
		return p, start(t, c)
	}
	_, x := f(ProtocolSTEF)
	require.True(t, consumererror.IsPermanent(x.send("a")))
	require.Eventually(t, func() bool { return x.host.last().Status() == componentstatus.StatusPermanentError },
		time.Minute, time.Millisecond)

	p, x := f(ProtocolAuto)
	require.NoError(t, x.send("a"))
	_, byOTLP := p.got()
	require.Equal(t, 1, byOTLP)
	require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
}

// TestSTEFOlderSchema uses a peer with the published schema, which lacks some fields of the exporter's
// schema.
func TestSTEFOlderSchema(t *testing.T) {
	p := listen(t, &peer{advertise: otelstef.SpansBaseSchema()}, "", true, false)
	x := start(t, testConfig(p.addr))
	td := spans("a")
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetDroppedLinksCount(3)
	require.NoError(t, x.ConsumeTraces(context.Background(), td))
	require.Equal(t, map[string]int64{"": 1}, counted(t, x, "schema_losses", ""))
	require.Equal(t, []string{"a"}, p.bySTEF)
}

// TestNoStreamCode checks that a batch for which no stream could be opened counts as
// UNAVAILABLE, not as DEADLINE_EXCEEDED.
func TestNoStreamCode(t *testing.T) {
	t.Parallel()
	c := testConfig("127.0.0.1:1")
	c.Protocol = ProtocolSTEF
	c.TimeoutConfig.Timeout = 3 * time.Second // the first attempt to open a stream ends earlier, also on a busy machine
	x := start(t, c)
	require.ErrorContains(t, x.send("a"), "no STEF stream to 127.0.0.1:1: ")
	require.Equal(t, map[string]int64{"UNAVAILABLE": 1}, counted(t, x, "failed_attempts", "code"))
}

// TestSTEFEndsWithinBatch uses a peer that acknowledges a part of a batch and then ends the stream with
// a permanent error. The exporter drops only the items without an answer.
func TestSTEFEndsWithinBatch(t *testing.T) {
	p := &peer{}
	p.onStream = func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		for range 6 {
			if !r.Next() {
				return r.Err()
			}
		}
		s.Reject(2, 3)
		s.AckUpTo(6)
		return status.Error(codes.InvalidArgument, "bad data")
	}
	listen(t, p, "", true, false)
	x := start(t, testConfig(p.addr))
	err := x.send("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	require.True(t, consumererror.IsPermanent(err))
	dropped(t, x, map[string]int64{dropRejected: 2, dropPermanent: 4})
	require.Equal(t, map[string]int64{"": 2}, counted(t, x, "records_rejected", ""))
	require.Equal(t, map[string]int64{"stef": 4}, counted(t, x, "items_delivered", "protocol"))
}
