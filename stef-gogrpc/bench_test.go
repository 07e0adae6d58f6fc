// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/internal/teltest/benchdata"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// Benchmarks print this name of their data as the first line of their output.
var _ = benchdata.Name("synthetic: records of the test")

// The benchmarks run client, server and network in this process: records are written, sent over
// gRPC on an in-memory connection with a given round-trip time, read, and acknowledged. One
// operation is a run. A run starts with a warm-up, in which windows and buffers grow. Then it
// counts the acknowledged records and their cost for the time benchRun. One run is long enough,
// so use -benchtime 1x.

type bench struct {
	network *netfault.Memory
	server  *stefgrpc.Server
	grpc    *grpc.Server
	conn    *grpc.ClientConn
	client  *stefgrpc.Client
}

// window is the flow control window of gRPC in bytes. 0 is gRPC's default: the window starts with
// 64 KiB and grows with the measured capacity of the link.
type window int32

func (w window) String() string {
	if w == 0 {
		return "auto"
	}
	return fmt.Sprintf("%dMiB", w>>20)
}

func (w window) server() []grpc.ServerOption {
	if w == 0 {
		return nil
	}
	return []grpc.ServerOption{grpc.InitialWindowSize(int32(w)), grpc.InitialConnWindowSize(int32(w))}
}

func newBench(b testing.TB, trip time.Duration, w window, handler stefgrpc.Handler) *bench {
	x := new(bench)
	var err error
	x.network, err = netfault.NewMemory(netfault.Link{RoundTrip: trip, Window: 64 << 20})
	require.NoError(b, err)
	x.server, err = stefgrpc.NewServer()
	require.NoError(b, err)
	require.NoError(b, x.server.Handle(otelstef.LogsRoot(), handler))
	x.grpc = grpc.NewServer(w.server()...)
	x.server.Register(x.grpc)
	l, err := x.network.Listen()
	require.NoError(b, err)
	go x.grpc.Serve(l)
	x.conn, err = grpc.NewClient("passthrough:///memory", grpc.WithContextDialer(x.network.Dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b, err)
	x.client, err = stefgrpc.NewClient(x.conn)
	require.NoError(b, err)
	b.Cleanup(func() {
		x.conn.Close()
		x.grpc.Stop()
		x.network.Close()
	})
	return x
}

// acknowledge reads a stream and acknowledges each frame.
var acknowledge = stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
	r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
	if err != nil {
		return err
	}
	defer r.Close()
	for r.Next() {
		if r.BufferedRecords() == 0 {
			s.AckUpTo(r.Stats().Records)
		}
	}
	return r.Err()
})

type sender struct {
	stream *stefgrpc.Stream
	writer *otelstef.LogsWriter
	random *rand.Rand
	number uint64
}

func (x *bench) open(b testing.TB, seed int, options ...stef.WriterOption) *sender {
	return x.openWith(b, seed, nil, options...)
}

func (x *bench) openWith(b testing.TB, seed int, open []stefgrpc.OpenOption, options ...stef.WriterOption) *sender {
	s := &sender{random: rand.New(rand.NewPCG(1, uint64(seed)))}
	var err error
	s.stream, err = x.client.Open(b.Context(), otelstef.LogsRoot(), open...)
	require.NoError(b, err)
	s.writer, err = otelstef.NewLogsWriter(s.stream, append(s.stream.WriterOptions(), options...)...)
	require.NoError(b, err)
	return s
}

// chunk writes a frame of n log records of some 16 incompressible bytes each.
func (s *sender) chunk(n int) error {
	for range n {
		s.number++
		r := s.writer.Record().Record()
		fillNumber(r, s.number)
		r.SetObservedTime(s.random.Uint64())
		r.SetFlags(s.random.Uint64())
		if err := s.writer.Write(); err != nil {
			return err
		}
	}
	return s.writer.Flush()
}

type load struct {
	streams int
	records int
	every   time.Duration // time between two chunks of a stream; 0: as fast as possible
	window  window
	trip    time.Duration
}

const (
	benchWarm = time.Second // plus 20 round trips, after which the windows of gRPC are stable
	benchRun  = 2 * time.Second
)

type result struct {
	records   float64 // acknowledged per second
	cpu       float64 // seconds per million records, both ends and the network
	allocs    float64 // per chunk, both ends and the network
	wire      float64 // bytes per record, from client to server
	wireSpeed float64 // bytes per second
}

func (l load) run(b testing.TB) result {
	x := newBench(b, l.trip, l.window, acknowledge)
	senders := make([]*sender, l.streams)
	for i := range senders {
		senders[i] = x.open(b, i, stef.WithFrameBytes(8<<20))
	}
	ctx, cancel := context.WithCancel(b.Context())
	var work sync.WaitGroup
	var chunks atomic.Int64
	for _, s := range senders {
		work.Go(func() {
			for tick := time.Now(); ctx.Err() == nil; chunks.Add(1) {
				if err := s.chunk(l.records); err != nil {
					b.Error(err)
					return
				}
				if l.every > 0 {
					tick = tick.Add(l.every)
					time.Sleep(time.Until(tick))
				}
			}
		})
	}
	time.Sleep(benchWarm + 20*l.trip)
	before := x.look(senders, &chunks)
	time.Sleep(benchRun)
	after := x.look(senders, &chunks)
	cancel()
	work.Wait()
	for _, s := range senders {
		require.NoError(b, s.stream.Drain(b.Context()))
	}
	records, wall := after.acked-before.acked, after.at.Sub(before.at).Seconds()
	return result{
		records:   records / wall,
		cpu:       (after.cpu - before.cpu).Seconds() * 1e6 / records,
		allocs:    (after.mallocs - before.mallocs) / (after.chunks - before.chunks),
		wire:      (after.bytes - before.bytes) / records,
		wireSpeed: (after.bytes - before.bytes) / wall,
	}
}

// looks has the values of all counters at one time. The cost of a run is the difference between the
// values after it and the values before it.
type looks struct {
	at                            time.Time
	cpu                           time.Duration
	acked, chunks, bytes, mallocs float64
}

func (x *bench) look(senders []*sender, chunks *atomic.Int64) looks {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	l := looks{
		at: time.Now(), cpu: cpuTime(), mallocs: float64(m.Mallocs),
		chunks: float64(chunks.Load()), bytes: float64(x.network.Bytes(netfault.Up)),
	}
	for _, s := range senders {
		l.acked += float64(s.stream.Acked())
	}
	return l
}

func (l load) bench(b *testing.B) {
	var sum result
	for range b.N {
		r := l.run(b)
		sum.records += r.records
		sum.cpu += r.cpu
		sum.allocs += r.allocs
		sum.wire += r.wire
	}
	n := float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(sum.records/n, "records/s")
	b.ReportMetric(sum.cpu/n, "cpu-s/Mrecord")
	b.ReportMetric(sum.allocs/n, "allocs/chunk")
	b.ReportMetric(sum.wire/n, "wire-B/record")
}

var (
	benchTrips   = []time.Duration{20 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond}
	benchWindows = []window{0, 16 << 20}
	benchFrames  = []struct {
		name    string
		records int
	}{{"small", 100}, {"large", 20000}}
)

func BenchmarkUnpaced(b *testing.B) {
	for _, streams := range []int{1, 16} {
		for _, frame := range benchFrames {
			for _, w := range benchWindows {
				for _, trip := range benchTrips {
					name := fmt.Sprintf("streams=%d/frame=%s/window=%v/rtt=%v", streams, frame.name, w, trip)
					b.Run(name, load{streams: streams, records: frame.records, window: w, trip: trip}.bench)
				}
			}
		}
	}
}

// paced is a load of 200,000 records per second, which two processors can easily process at any
// latency.
func paced(w window, trip time.Duration) load {
	return load{streams: 1, records: 2000, every: 10 * time.Millisecond, window: w, trip: trip}
}

func BenchmarkPaced(b *testing.B) {
	for _, w := range benchWindows {
		for _, trip := range benchTrips {
			b.Run(fmt.Sprintf("window=%v/rtt=%v", w, trip), paced(w, trip).bench)
		}
	}
}

// BenchmarkLone sends a chunk, waits for its acknowledgement, and then sends the next chunk, like
// a processor that exports single spans. ns/op is the time for one chunk.
func BenchmarkLone(b *testing.B) {
	x := newBench(b, benchTrips[0], 0, acknowledge)
	responses := make(chan struct{}, 1)
	s := x.openWith(b, 0, []stefgrpc.OpenOption{stefgrpc.WithOnResponse(func(stefgrpc.Response) { responses <- struct{}{} })})
	start := cpuTime()
	for b.Loop() {
		if err := s.chunk(1); err != nil {
			b.Fatal(err)
		}
		for s.stream.Acked() < s.number {
			<-responses
		}
	}
	b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
}

// TestLatencyCostsNoThroughput compares the throughput of a moderate load at round
// trips of 200 ms and 0.02 ms. The throughput at 200 ms must not be more than 5 % lower.
// Four tries reduce the influence of other load on the machine.
func TestLatencyCostsNoThroughput(t *testing.T) {
	if !long() {
		t.Skip("takes half a minute of a quiet machine: STEF_LONG=1")
	}
	f := func(w window) {
		t.Helper()
		for try := 1; ; try++ {
			near, far := paced(w, benchTrips[0]), paced(w, benchTrips[3])
			a, b := near.run(t), far.run(t)
			t.Logf("window %v, %d records every %v: %.0f records/s and %.0f B/s at %v, %.0f records/s at %v",
				w, near.records, near.every, a.records, a.wireSpeed, near.trip, b.records, far.trip)
			if b.records >= 0.95*a.records {
				return
			}
			require.Less(t, try, 4)
		}
	}
	f(0)
	f(16 << 20)
}
