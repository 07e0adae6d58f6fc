// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/grpcstatus"
	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// chunksOf returns the chunks of a stream of metrics that has a frame for each batch.
func chunksOf(t testing.TB, batches []pmetric.Metrics, options ...stef.WriterOption) chunkList {
	t.Helper()
	var chunks chunkList
	w, err := otelstef.NewMetricsWriter(&chunks, options...)
	require.NoError(t, err)
	s := sender[pmetric.Metrics]{encode: newMetricsEncoder(w), flush: w.Flush, sent: func() uint64 { return w.Stats().Records }}
	_, err = s.send(batches...)
	require.NoError(t, err)
	return chunks
}

// If a stream is damaged, the records before the damage are accepted and acknowledged.
func TestBrokenStreams(t *testing.T) {
	good := chunksOf(t, []pmetric.Metrics{points(5), points(7)})
	f := func(name string, acked uint64, code codes.Code, message string, send func(p *raw)) {
		t.Run(name, func(t *testing.T) {
			to, _, metrics, _ := everything()
			r := startRig(t, testConfig(), to)
			p := rawOpen(t, r, "Metrics")
			send(p)
			gotAcked, st := p.endAcked()
			require.Equal(t, code, st.Code(), st.Message())
			require.Contains(t, st.Message(), message)
			require.Equal(t, acked, gotAcked)
			require.EqualValues(t, acked, metrics.DataPointCount())
			r.requireIdle()
		})
	}
	sendAll := func(p *raw, chunks ...[]byte) {
		for _, chunk := range chunks {
			p.data(chunk, true)
		}
	}
	done := func(p *raw) { require.NoError(p.t, p.stream.CloseSend()) }

	f("nothing at all", 0, codes.OK, "", done)
	f("no STEF", 0, codes.InvalidArgument, "signature", func(p *raw) { sendAll(p, []byte("GET / HTTP/1.1\r\n")) })
	f("half a header", 0, codes.InvalidArgument, "corrupt", func(p *raw) { sendAll(p, good[0][:3]); done(p) })
	f("only headers", 0, codes.OK, "", func(p *raw) { sendAll(p, good[0], good[1]); done(p) })
	f("whole", 12, codes.OK, "", func(p *raw) { sendAll(p, good...); done(p) })
	f("frames together", 12, codes.OK, "", func(p *raw) { sendAll(p, bytes.Join(good, nil)); done(p) })
	f("cut in a frame", 5, codes.InvalidArgument, "corrupt", func(p *raw) {
		sendAll(p, good[0], good[1], good[2], good[3][:len(good[3])-1])
		done(p)
	})
	f("bad frame flags", 5, codes.InvalidArgument, "frame flags", func(p *raw) {
		sendAll(p, good[0], good[1], good[2], []byte{0xff, 1, 1})
	})
	f("bad column", 5, codes.InvalidArgument, "corrupt", func(p *raw) {
		bad := bytes.Clone(good[3])
		for i := 4; i < len(bad); i++ {
			bad[i] = 0xff
		}
		sendAll(p, good[0], good[1], good[2], bad)
	})
	f("another first message", 5, codes.InvalidArgument, "named again", func(p *raw) {
		sendAll(p, good[:3]...)
		require.EqualValues(t, 5, p.awaitAck(5))
		require.NoError(t, p.stream.SendMsg(&stefpb.STEFClientMessage{
			FirstMessage: &stefpb.STEFClientFirstMessage{RootStructName: "Metrics"},
		}))
	})
}

// A client cannot fill the log by sending streams that are not STEF.
func TestBrokenStreamsInLog(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	core, logs := observer.New(zap.WarnLevel)
	r.shared.logger = zap.New(core)
	sendBroken := func() {
		p := rawOpen(t, r, "Metrics")
		p.data([]byte("GET / HTTP/1.1\r\n"), true)
		require.Equal(t, codes.InvalidArgument, p.end().Code())
	}
	for range 5 {
		sendBroken()
	}
	r.requireIdle()
	require.Equal(t, 1, logs.Len(), "once a minute")
	r.shared.broken.next.Store(0)
	sendBroken()
	require.Equal(t, 2, logs.Len())
	require.Equal(t, int64(4), logs.All()[1].ContextMap()["not_logged"])
}

func TestLimits(t *testing.T) {
	f := func(name, message string, change func(*LimitsConfig), md pmetric.Metrics, options ...stef.WriterOption) {
		t.Run(name, func(t *testing.T) {
			to, _, metrics, _ := everything()
			r := startRig(t, testConfig(func(c *Config) { change(&c.Limits) }), to)
			p := rawOpen(t, r, "Metrics")
			for _, chunk := range chunksOf(t, []pmetric.Metrics{md}, options...) {
				for len(chunk) > mib/2 {
					p.data(chunk[:mib/2], false)
					chunk = chunk[mib/2:]
				}
				p.data(chunk, true)
			}
			acked, st := p.endAcked()
			require.Equal(t, codes.ResourceExhausted, st.Code(), st.Message())
			require.Contains(t, st.Message(), message)
			_, again := grpcstatus.RetryInfo(st)
			require.False(t, again, "what is too large stays so")
			require.EqualValues(t, acked, metrics.DataPointCount(), "what comes before is accepted")
			r.requireIdle()
		})
	}
	large := func(attributes, size int) pmetric.Metrics {
		md := points(1)
		attrs := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints().At(0).Attributes()
		for i := range attributes {
			attrs.PutStr(fmt.Sprint(i), strings.Repeat(fmt.Sprintf("%08d", i), size/8))
		}
		return md
	}
	zip := stef.WithCompression(stef.Zstd)
	f("chunk", "chunk of", func(l *LimitsConfig) { l.MaxChunkMiB = 1 }, large(2, mib))
	f("frame", "the frame has", func(l *LimitsConfig) { l.MaxFrameMiB = 1 }, large(2, mib), zip)
	f("record", "needs more memory than 1048576 bytes", func(l *LimitsConfig) { l.MaxRecordAllocMiB = 1 }, arrays(250), zip)

	// A reader accepts dictionaries of up to twice the announced limit, plus the memory of one
	// record.
	many := pmetric.NewMetrics()
	for i := range 9 {
		md := large(500, 10<<10)
		md.ResourceMetrics().At(0).Resource().Attributes().PutInt("number", int64(i))
		attrs := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints().At(0).Attributes()
		for key, value := range attrs.All() {
			value.SetStr(fmt.Sprint(i, key, value.Str()))
		}
		md.ResourceMetrics().MoveAndAppendTo(many.ResourceMetrics())
	}
	f("dictionaries", "dictionaries need more memory than", func(l *LimitsConfig) {
		l.MaxDictMiBPerStream, l.MaxChunkMiB, l.MaxFrameMiB, l.MemoryLimitMiB = 1, 64, 64, 64
	}, many, zip, stef.WithDictBytes(256<<20))
}

// arrays returns a batch with a point of 100 attributes, each an array of numbers.
func arrays(numbers int) pmetric.Metrics {
	md := points(1)
	attrs := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints().At(0).Attributes()
	for i := range 100 {
		s := attrs.PutEmptySlice(fmt.Sprint(i))
		for range numbers {
			s.AppendEmpty().SetInt(1)
		}
	}
	return md
}

func TestMaxStreams(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(func(c *Config) { c.Limits.MaxStreams = 1 }), to)
	core, logs := observer.New(zap.WarnLevel)
	r.shared.logger = zap.New(core)
	require.NotNil(t, rawOpen(t, r, "Metrics").capabilities)
	for range 3 {
		second := rawOpen(t, r, "Spans")
		require.Nil(t, second.capabilities)
		st := second.end()
		require.Equal(t, codes.Unavailable, st.Code())
		require.Contains(t, st.Message(), "raise limits::max_streams of the receiver (it is 1; an exporter opens num_streams streams for each signal)")
		_, again := grpcstatus.RetryInfo(st)
		require.True(t, again)
		require.Equal(t, stefgrpc.ReasonBusy, stefgrpc.Reason(st.Err()))
	}
	require.EqualValues(t, 3, sumOf(t, r.telemetry, "otelcol_receiver_stef_streams_refused", "reason", refusedFull))
	require.Equal(t, 1, logs.Len(), "once a minute")
	require.Contains(t, logs.All()[0].Message, "limits::max_streams")
	require.Equal(t, int64(1), logs.All()[0].ContextMap()["max_streams"])

	r.shared.full.next.Store(0)
	rawOpen(t, r, "Spans").end()
	require.Equal(t, int64(2), logs.All()[1].ContextMap()["not_logged"])
}

// TestTooLarge: if a message or chunk is too large, its stream ends with the reason limit, and the
// log names the option to raise. If a message is too large, gRPC itself ends the stream.
func TestTooLarge(t *testing.T) {
	f := func(want string, change func(*Config)) {
		t.Helper()
		r := startRig(t, testConfig(change), sinks{metrics: consumertest.NewNop()})
		core, logs := observer.New(zap.WarnLevel)
		r.shared.logger = zap.New(core)
		client, err := stefgrpc.NewClient(r.dial(), stefgrpc.WithMaxMessageBytes(3*mib))
		require.NoError(t, err)
		stream, err := client.Open(t.Context(), otelstef.MetricsRoot())
		require.NoError(t, err)
		t.Cleanup(func() { _ = stream.Close() })
		s := &sender[pmetric.Metrics]{stream: stream}
		require.NoError(t, metricKind.make(s, stream.WriterOptions()...))
		_, _ = s.send(largePoint())
		require.ErrorContains(t, endOf(t, s.stream), "1048576")
		require.Eventually(t, func() bool { return logs.Len() == 1 }, time.Minute, time.Millisecond)
		require.Contains(t, logs.All()[0].Message, "A STEF stream ended with an error: "+want)
		require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_streams_closed", "reason", endLimit))
	}
	f("raise max_recv_msg_size_mib of this receiver, or lower stef::max_message_size_kib", func(c *Config) {
		c.ServerConfig.MaxRecvMsgSizeMiB = 1
	})
	f("raise limits::max_chunk_mib of this receiver, or lower stef::max_frame_size_kib", func(c *Config) {
		c.Limits.MaxChunkMiB = 1
	})
}

func TestSignalWithoutPipeline(t *testing.T) {
	r := startRig(t, testConfig(), sinks{metrics: consumertest.NewNop()})
	core, logs := observer.New(zap.WarnLevel)
	r.shared.logger = zap.New(core)
	for range 2 {
		p := rawOpen(t, r, "Logs")
		require.Nil(t, p.capabilities)
		require.Equal(t, codes.Unimplemented, p.end().Code())
	}
	require.EqualValues(t, 2, sumOf(t, r.telemetry, "otelcol_receiver_stef_streams_refused", "reason", refusedSignal))
	require.Equal(t, 1, logs.Len(), "once a minute")
	require.Contains(t, logs.All()[0].Message, "its signal has no pipeline with this receiver")
	require.Contains(t, logs.All()[0].ContextMap()["error"], "Logs")
}

func TestCapabilities(t *testing.T) {
	r := startRig(t, testConfig(func(c *Config) { c.Limits.MaxDictMiBPerStream = 3 }), sinks{metrics: consumertest.NewNop()})
	p := rawOpen(t, r, "Metrics")
	require.EqualValues(t, 3*mib, p.capabilities.GetDictionaryLimits().GetMaxDictBytes())
	wire, err := otelstef.MetricsCompactSchema().AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, wire, p.capabilities.GetSchema())
}

// If clients send half a frame and then nothing, they do not block other clients. The bytes of the half
// frames are counted as buffered.
func TestSlowClientReleasesPlace(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(func(c *Config) { c.Admission = AdmissionConfig{RequestLimitMiB: 1} }), to)
	good := chunksOf(t, []pmetric.Metrics{points(5)})
	half := len(good[2]) / 2
	clients := int(2 * maxConcurrentDecoders())
	for range clients {
		p := rawOpen(t, r, "Metrics")
		p.data(good[0], true)
		p.data(good[1], true)
		p.data(good[2][:half], false)
	}
	r.requireBuffered(int64(clients * half))
	require.NoError(t, metricKind.mustOpen(t, r.dial()).deliver(points(3)))
	require.Equal(t, 3, metrics.DataPointCount())
}

// While other requests use all of admission::request_limit_mib, clients send half a frame and then
// nothing. They do not block other clients. The receiver refuses such a client only after it has
// received the rest of the frame: it must count the refused records.
func TestSlowRefusedClientReleasesPlace(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(func(c *Config) { c.Admission = AdmissionConfig{RequestLimitMiB: 1} }), to)
	other := &usage{}
	r.shared.admission.adjust(other, mib)
	good := chunksOf(t, []pmetric.Metrics{points(5)})
	half := len(good[2]) / 2
	var slow []*raw
	for range 2 * maxConcurrentDecoders() {
		p := rawOpen(t, r, "Metrics")
		p.data(good[0], true)
		p.data(good[1], true)
		p.data(good[2][:half], false)
		slow = append(slow, p)
	}
	r.requireBufferedOf(int64(len(slow)*half), mib)
	s := metricKind.mustOpen(t, r.dial())
	_, err := s.send(points(50))
	require.NoError(t, err)
	requireEnd(t, endOf(t, s.stream), codes.Unavailable, "too much data waits")

	for _, p := range slow {
		p.data(good[2][half:], true)
		require.Equal(t, codes.Unavailable, p.end().Code())
	}
	r.shared.admission.release(other, mib)
	r.requireIdle()
	require.EqualValues(t, 50+5*len(slow), sumOf(t, r.telemetry, "otelcol_receiver_refused_metric_points", "transport", "stef"))
}

// If the decoder panics, the stream ends, but the records of earlier batches are still acknowledged.
func TestDecoderPanics(t *testing.T) {
	settings := receivertest.NewNopSettings(metadata.Type)
	s, err := newShared(testConfig(), settings)
	require.NoError(t, err)
	broken := *signal.Metrics
	broken.NewDecoder = func(src io.Reader, options []stefpdata.DecoderOption, more ...stef.ReaderOption) (*signal.Decoder[pmetric.Metrics], error) {
		d, err := signal.Metrics.NewDecoder(src, options, more...)
		decode, batches := d.Decode, 0
		d.Decode = func() (pmetric.Metrics, error) {
			if batches++; batches == 2 {
				panic("a defect")
			}
			return decode()
		}
		return d, err
	}
	p, err := newPipe(&broken, metricsOperation, s.core, settings, consumertest.NewNop().ConsumeMetrics)
	require.NoError(t, err)
	data := bytes.Join(chunksOf(t, []pmetric.Metrics{points(3), points(1)}), nil)
	transport := &fakeTransport{Reader: bytes.NewReader(data), ctx: timeout(t), settled: map[uint64]int{}}
	err = newStream(p, transport).serve()
	require.ErrorContains(t, err, "the decoder panicked: a defect")
	require.Equal(t, codes.Internal, status.Code(err))
	require.Equal(t, map[uint64]int{1: 1, 2: 1, 3: 1}, transport.settled)
	inFlight, _ := s.admission.state()
	require.Zero(t, inFlight)
	decoding, _ := s.decoding.state()
	require.Zero(t, decoding)
}

// TestUnreadAnswersHoldNothing: while a stream waits because its client does not read answers, the stream
// does not use admission or permissions to decode, which other clients need. It decodes only one batch
// more than the pipeline may process at the same time.
func TestUnreadAnswersHoldNothing(t *testing.T) {
	settings := receivertest.NewNopSettings(metadata.Type)
	s, err := newShared(testConfig(func(c *Config) { c.ConsumersPerStream = 2 }), settings)
	require.NoError(t, err)
	var consumed atomic.Int64
	p, err := newPipe(signal.Metrics, metricsOperation, s.core, settings, func(context.Context, pmetric.Metrics) error {
		consumed.Add(1)
		return nil
	})
	require.NoError(t, err)
	var batches []pmetric.Metrics
	for range 20 {
		batches = append(batches, points(1))
	}
	transport := &unreadTransport{fakeTransport: fakeTransport{
		Reader: bytes.NewReader(bytes.Join(chunksOf(t, batches), nil)), ctx: timeout(t), settled: map[uint64]int{},
	}, read: make(chan struct{})}
	ended := make(chan error, 1)
	st := newStream(p, transport)
	go func() { ended <- st.serve() }()
	require.Eventually(t, func() bool { return transport.waiting.Load() == 3 && len(st.unanswered) == 3 }, time.Minute, time.Millisecond)
	time.Sleep(10 * time.Millisecond) // a stream that does not wait would decode more batches
	require.EqualValues(t, 3, consumed.Load())
	inFlight, _ := s.admission.state()
	require.Zero(t, inFlight)
	decoding, _ := s.decoding.state()
	require.Zero(t, decoding)
	require.Empty(t, ended)

	close(transport.read)
	require.NoError(t, <-ended)
	require.Len(t, transport.settled, 20)
}

// TestRefusedBatchesEndTheOrder: the pipeline processes one batch at a time. If it refuses a batch
// temporarily, it receives no later batch. The client can send the refused batch and the later
// batches again, in order.
func TestRefusedBatchesEndTheOrder(t *testing.T) {
	settings := receivertest.NewNopSettings(metadata.Type)
	s, err := newShared(testConfig(func(c *Config) { c.ConsumersPerStream = 1 }), settings)
	require.NoError(t, err)
	var consumed atomic.Int64
	p, err := newPipe(signal.Metrics, metricsOperation, s.core, settings, func(context.Context, pmetric.Metrics) error {
		if consumed.Add(1) == 2 {
			return slowError{}
		}
		return nil
	})
	require.NoError(t, err)
	batches := []pmetric.Metrics{points(1), points(1), points(1), points(1), points(1)}
	transport := &fakeTransport{
		Reader: bytes.NewReader(bytes.Join(chunksOf(t, batches), nil)), ctx: timeout(t), settled: map[uint64]int{},
	}
	require.Error(t, newStream(p, transport).serve())
	require.EqualValues(t, 2, consumed.Load())
	require.Equal(t, map[uint64]int{1: 1}, transport.settled)
}

// slowError is a temporary error that takes time to examine.
type slowError struct{}

func (slowError) Error() string { return "busy" }
func (slowError) As(any) bool {
	time.Sleep(20 * time.Millisecond)
	return false
}

// TestBatchOfEvictedStream: when a batch is decoded, its stream exceeds the memory limit and must end. The
// batch still reaches the pipeline. Otherwise the client would send it again, and the next stream would
// end for the same reason.
func TestBatchOfEvictedStream(t *testing.T) {
	settings := receivertest.NewNopSettings(metadata.Type)
	s, err := newShared(testConfig(), settings)
	require.NoError(t, err)
	s.memory.limit = 6 * mib // more than the bytes of the frame, less than what the stream holds after it
	p, err := newPipe(signal.Metrics, metricsOperation, s.core, settings, consumertest.NewNop().ConsumeMetrics)
	require.NoError(t, err)
	chunks := bytes.Join(chunksOf(t, []pmetric.Metrics{largePoint(), points(1)}), nil)
	for range 20 {
		transport := &fakeTransport{Reader: bytes.NewReader(chunks), ctx: timeout(t), settled: map[uint64]int{}}
		require.ErrorIs(t, newStream(p, transport).serve(), errHeldMost)
		require.Equal(t, map[uint64]int{1: 1}, transport.settled)
	}
}

// TestFirstFrameIsReceived: a small limit for the memory of streams does not end a stream before its
// first frame is complete. Otherwise, the client would send the frame again and again.
func TestFirstFrameIsReceived(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(func(c *Config) {
		c.Limits.StreamMemoryLimitMiB, c.Limits.MaxChunkMiB = 1, 5
	}), to)
	md := largePoint()
	largePoint().ResourceMetrics().MoveAndAppendTo(md.ResourceMetrics())
	md.ResourceMetrics().At(1).Resource().Attributes().PutStr("second", "one")
	require.NoError(t, metricKind.mustOpen(t, r.dial()).deliver(md))
	require.Equal(t, 2, metrics.DataPointCount())
}

// TestIDsOf checks that adjacent ranges of record ids become one range, even if their reasons
// differ.
func TestIDsOf(t *testing.T) {
	require.Empty(t, idsOf(nil))
	require.Equal(t, []stefgrpc.IDRange{{From: 2, To: 5}, {From: 7, To: 7}}, idsOf(stefpdata.RecordErrors{
		{First: 2, Last: 3}, {First: 4, Last: 5}, {First: 7, Last: 7},
	}))
}

// unreadTransport is a stream whose client reads no answers until read is closed.
type unreadTransport struct {
	fakeTransport
	waiting atomic.Int64
	read    chan struct{}
}

func (u *unreadTransport) Reject(from, to uint64) { u.Ack(from, to) }
func (u *unreadTransport) Ack(from, to uint64) {
	u.waiting.Add(1)
	<-u.read
	u.fakeTransport.Ack(from, to)
}

// fakeTransport is a stream whose bytes are all available.
type fakeTransport struct {
	io.Reader
	ctx     context.Context
	mu      sync.Mutex
	settled map[uint64]int
}

func (f *fakeTransport) Context() context.Context           { return f.ctx }
func (f *fakeTransport) ReaderOptions() []stef.ReaderOption { return nil }
func (f *fakeTransport) StopReading()                       {}
func (f *fakeTransport) EndedByServer() bool                { return false }
func (f *fakeTransport) Decoded(uint64)                     {}
func (f *fakeTransport) Reject(from, to uint64)             { f.Ack(from, to) }
func (f *fakeTransport) Acked() (id uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.settled[id+1] > 0 {
		id++
	}
	return id
}
func (f *fakeTransport) Ack(from, to uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := from; id <= to; id++ {
		f.settled[id]++
	}
}
