// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/steftest"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// scaleReceiver is a Collector that receives STEF and discards it.
const scaleReceiver = `
extensions:
  pprof: {endpoint: %s}
receivers:
  stef:
    endpoint: %s
exporters:
  nop:
`

const scalePipelines = `    metrics:
      receivers: [stef]
      exporters: [nop]
  extensions: [pprof]
`

// fleet is many agents, each with a connection and a stream of its own. Agents with the same zstd
// window send the same prepared bytes. So the agents use little processor time: the receiver uses
// nearly all of the processor time.
type fleet struct {
	receiver *collector
	endpoint string
	debug    string // address of pprof of the receiver
	streams  []*stefgrpc.Stream
	windows  []int           // for each stream: the window that the receiver requests, or 0
	frames   map[int][]frame // prepared frames by zstd window
	batches  int
	empty    float64 // resident MiB of the receiver before the agents connect
}

// frame is the encoded form of a batch; last is the id of its last record.
type frame struct {
	bytes []byte
	last  uint64
}

type frameList struct{ list []frame }

func (f *frameList) Write(chunk []byte) (int, error) { return f.WriteRecords(chunk, 0) }

func (f *frameList) WriteRecords(chunk []byte, last uint64) (int, error) {
	f.list = append(f.list, frame{slices.Clone(chunk), last})
	return len(chunk), nil
}

// hostMetrics returns a batch of host metrics of an agent: 10 metrics of 2 points.
func hostMetrics(n int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("host.name", "node-1")
	rm.Resource().Attributes().PutStr("os.type", "linux")
	metrics := rm.ScopeMetrics().AppendEmpty().Metrics()
	for i := range 10 {
		m := metrics.AppendEmpty()
		m.SetName(fmt.Sprintf("system.metric.%d", i))
		m.SetUnit("By")
		sum := m.SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for k, direction := range []string{"read", "write"} {
			p := sum.DataPoints().AppendEmpty()
			p.Attributes().PutStr("direction", direction)
			p.Attributes().PutStr("device", "eth0")
			p.SetStartTimestamp(pcommon.Timestamp(1_700_000_000e9))
			p.SetTimestamp(pcommon.Timestamp(1_700_000_000e9 + uint64(n)*100e6))
			p.SetIntValue(int64(n*(i+1)*(k+7)*1021 + (n*n*7919)%4099))
		}
	}
	return md
}

const pointsPerBatch = 20

// newFleet starts a receiver and opens a stream for each agent, with n prepared
// batches.
func newFleet(t *testing.T, agents, n int) *fleet {
	t.Helper()
	f := &fleet{endpoint: address(t), debug: address(t), frames: map[int][]frame{}, batches: n}
	f.receiver = start(t, "receiver", fmt.Sprintf(scaleReceiver, f.debug, f.endpoint), scalePipelines)
	f.empty, _, _ = f.figures(t)
	f.streams, f.windows = make([]*stefgrpc.Stream, agents), make([]int, agents)
	var opening sync.WaitGroup
	places := make(chan struct{}, 32)
	var failed atomic.Pointer[error]
	for i := range f.streams {
		places <- struct{}{}
		opening.Go(func() {
			defer func() { <-places }()
			s, err := f.open(t)
			if err != nil {
				failed.Store(&err)
				return
			}
			f.streams[i] = s
		})
	}
	opening.Wait()
	if err := failed.Load(); err != nil {
		require.NoError(t, *err)
	}
	t.Cleanup(func() {
		for _, s := range f.streams {
			_ = s.Close()
			<-s.Done()
		}
	})
	for i, s := range f.streams {
		f.windows[i] = steftest.WriterSettingsOf(t, s.WriterOptions()...).WindowLimit
		if f.frames[f.windows[i]] == nil {
			f.frames[f.windows[i]] = prepare(t, s, n)
		}
	}
	return f
}

func prepare(t *testing.T, s *stefgrpc.Stream, n int) []frame {
	t.Helper()
	var prepared frameList
	encoder, err := signal.Metrics.NewEncoder(&prepared, nil, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
	require.NoError(t, err)
	for i := range n {
		require.NoError(t, encoder.Encode(hostMetrics(i)))
		require.NoError(t, encoder.Writer.Flush())
	}
	return prepared.list
}

// windowsText says, for each zstd window, for how many streams the receiver requested this window.
func (f *fleet) windowsText() string {
	count := map[int]int{}
	for _, w := range f.windows {
		count[w]++
	}
	var text []string
	for _, w := range slices.Backward(slices.Sorted(maps.Keys(count))) {
		text = append(text, fmt.Sprintf("%d times %d KiB", count[w], w>>10))
	}
	return strings.Join(text, ", ")
}

// headers is the number of frames before the first batch: the headers are frames too.
func (f *fleet) headers() int { return len(f.frames[f.windows[0]]) - f.batches }

// open opens a stream on a connection of its own.
func (f *fleet) open(t *testing.T) (*stefgrpc.Stream, error) {
	conn, err := grpc.NewClient(f.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	client, err := stefgrpc.NewClient(conn)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return client.Open(ctx, signal.Metrics.Compact())
}

type sent struct {
	acked     int
	latencies []time.Duration
	err       error
}

// play makes each agent send the frames from first to last. At most about window frames of an
// agent are unacknowledged. If pause is 0, an agent sends as fast as possible; if not, it starts
// one frame per pause. An agent starts no frame after the time until. play returns when all sent
// frames are acknowledged.
func (f *fleet) play(first, last, window int, pause, until time.Duration) []sent {
	results := make([]sent, len(f.streams))
	begin := time.Now()
	var agents sync.WaitGroup
	for i, s := range f.streams {
		agents.Go(func() {
			// Spread the starts of the agents over one pause.
			time.Sleep(pause * time.Duration(i) / time.Duration(len(f.streams)))
			results[i] = f.playOne(s, f.frames[f.windows[i]][first:last], window, pause, begin.Add(until))
		})
	}
	agents.Wait()
	return results
}

func (f *fleet) playOne(s *stefgrpc.Stream, frames []frame, window int, pause time.Duration, end time.Time) (r sent) {
	type flight struct {
		last  uint64
		since time.Time
	}
	flights := make(chan flight, window)
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(time.Minute))
	defer cancel()
	var waiting sync.WaitGroup
	var failed error
	waiting.Go(func() {
		for flight := range flights {
			if err := s.AwaitAck(ctx, flight.last); err != nil {
				failed = err
				cancel()
				for range flights { // drains the channel, so that the sender does not block
				}
				return
			}
			now := time.Now()
			r.latencies = append(r.latencies, now.Sub(flight.since))
			if !now.After(end) {
				r.acked++
			}
		}
	})
	next := time.Now()
	for _, frame := range frames {
		if pause > 0 {
			time.Sleep(time.Until(next))
			next = next.Add(pause)
		}
		if time.Now().After(end) {
			break
		}
		since := time.Now()
		if _, err := s.WriteContext(ctx, frame.bytes, frame.last); err != nil {
			r.err = err
			break
		}
		if frame.last > 0 {
			flights <- flight{frame.last, since}
		}
	}
	close(flights)
	waiting.Wait()
	if r.err == nil {
		r.err = failed
	}
	return r
}

func total(t *testing.T, results []sent) (acked, least, most int, latencies []time.Duration) {
	t.Helper()
	least = results[0].acked
	for _, r := range results {
		require.NoError(t, r.err)
		acked += r.acked
		least, most = min(least, r.acked), max(most, r.acked)
		latencies = append(latencies, r.latencies...)
	}
	slices.Sort(latencies)
	return acked, least, most, latencies
}

// figures returns the resident memory of the receiver in MiB, its open files and its
// processor time.
func (f *fleet) figures(t *testing.T) (resident, files, cpu float64) {
	t.Helper()
	resident, files, cpu, err := processFigures(f.receiver.command.Process.Pid)
	require.NoError(t, err)
	return resident, files, cpu
}

// heap returns the size of the receiver's heap in MiB. If collect is set, the receiver
// collects garbage first. heap also writes the heap profile into the folder
// STEF_SCALE_PROFILE, if that is set.
func (f *fleet) heap(t *testing.T, collect bool, name string) float64 {
	t.Helper()
	get := func(query string) []byte {
		answer, err := http.Get("http://" + f.debug + "/debug/pprof/heap?" + query)
		require.NoError(t, err)
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return content
	}
	query := "debug=1"
	if collect {
		query += "&gc=1"
	}
	text := string(get(query))
	if folder := os.Getenv("STEF_SCALE_PROFILE"); folder != "" {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), get(""), 0o600))
	}
	_, text, _ = strings.Cut(text, "# HeapAlloc = ")
	text, _, _ = strings.Cut(text, "\n")
	bytes, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return bytes / (1 << 20)
}

func (f *fleet) cpu(t *testing.T) float64 {
	t.Helper()
	_, _, cpu := f.figures(t)
	return cpu
}

// scaled returns the number in an environment variable, or small if the variable is not set.
func scaled(t *testing.T, name string, small int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

const agentRate = 10

// offeredRate returns the rate for each agent. This is agentRate if the capacity is at least
// 1.2 times the total rate of all agents, otherwise the agent's share of half of the capacity.
func offeredRate(capacity float64, agents int) float64 {
	if capacity >= 1.2*agentRate*float64(agents) {
		return agentRate
	}
	return min(agentRate, capacity/2/float64(agents))
}

func TestOfferedRate(t *testing.T) {
	require.InDelta(t, 10, offeredRate(12_000, 1000), 1e-9)
	require.InDelta(t, 5.5, offeredRate(11_000, 1000), 1e-9)
	require.InDelta(t, 10, offeredRate(100_000, 50), 1e-9)
}

// TestScale: many agents, each with a connection, send ten batches per second each to a receiver.
// If this is too much, they send half of the capacity. make scale runs it with 1,000 agents.
func TestScale(t *testing.T) {
	binary(t)
	agents := scaled(t, "STEF_SCALE_AGENTS", 50)
	seconds := scaled(t, "STEF_SCALE_SECONDS", 3)
	// The first batches of each agent measure the capacity and fill the zstd windows.
	probe := max(30, scaled(t, "STEF_SCALE_BATCHES", 0)-agentRate*seconds)
	f := newFleet(t, agents, probe+agentRate*seconds)
	opened, files, _ := f.figures(t)
	headers := f.headers()
	_, _, _, _ = total(t, f.play(0, headers+10, 4, 0, 4*time.Minute))
	begin, before := time.Now(), f.cpu(t)
	acked, _, _, _ := total(t, f.play(headers+10, headers+probe, 4, 0, 4*time.Minute))
	capacity := float64(acked) / time.Since(begin).Seconds()
	full := (f.cpu(t) - before) / time.Since(begin).Seconds()
	rate := offeredRate(capacity, agents)
	begin, before = time.Now(), f.cpu(t)
	// The last pause is not counted, because only some of the agents reach it.
	pause := time.Duration(float64(time.Second) / rate)
	acked, least, most, latencies := total(t, f.play(headers+probe, headers+f.batches, 64, pause, time.Duration(seconds)*time.Second-pause))
	used, elapsed := f.cpu(t)-before, time.Since(begin).Seconds()
	p99 := latencies[len(latencies)*99/100]
	memory := f.receiver.memory()
	live := f.heap(t, true, "sending.pb.gz")
	t.Logf("%d batches of each agent; windows asked for, 0 for none: %s", f.batches, f.windowsText())
	t.Logf("live heap of the receiver: %.0f MiB, %.3f MiB for each agent", live, live/float64(agents))
	t.Logf("%d agents, %d points a batch, %.0f files of the receiver", agents, pointsPerBatch, files)
	t.Logf("rate that the machine took: %.0f batches a second, with %.2f cores of the receiver", capacity, full)
	t.Logf("rate offered: %.2f batches a second for each agent; %d acknowledged in %d s, with %.2f cores, %.1f us for each batch",
		rate, acked, seconds, used/elapsed, used*1e6/float64(len(latencies)))
	t.Logf("slowest agent %d, fastest %d: %.2f", least, most, float64(least)/float64(most))
	t.Logf("acknowledgement p50 %v, p99 %v, longest %v", latencies[len(latencies)/2], p99, latencies[len(latencies)-1])
	t.Logf("memory of the receiver: %.0f MiB without agents, %.0f MiB with streams that sent nothing (%.3f MiB each), peak %d MiB (%.2f MiB more for each agent)",
		f.empty, opened, (opened-f.empty)/float64(agents), memory, (float64(memory)-opened)/float64(agents))
	require.GreaterOrEqual(t, float64(least), 0.8*float64(most))
	require.Less(t, p99, 500*time.Millisecond)
	require.LessOrEqual(t, memory, 1024, "MiB of the receiver")
	// With the default of GOGC, the heap grows to twice the live heap.
	require.LessOrEqual(t, 2*live, 1024.0, "MiB of the receiver, at most")
}

// TestScaleIdle: after the idle timeout, agents that send nothing any more cost a receiver little
// memory. make scale runs it with 5,000 agents.
func TestScaleIdle(t *testing.T) {
	if os.Getenv("STEF_SCALE_AGENTS") == "" && !long() {
		t.Skip("SKIPPED: waits for the idle timeout of 2 minutes; make scale and STEF_LONG=1 run this")
	}
	binary(t)
	agents := scaled(t, "STEF_SCALE_IDLE", 100)
	f := newFleet(t, agents, 5)
	_, _, _, latencies := total(t, f.play(0, f.headers()+f.batches, 8, 0, time.Minute))
	require.NotEmpty(t, latencies)
	report := func(when string) float64 {
		resident, files, _ := f.figures(t)
		heap := f.heap(t, false, "idle.pb.gz")
		streams, _ := f.receiver.sum(t, "otelcol_receiver_stef_streams_active")
		t.Logf("%s: %d agents, %.0f streams, %.0f files, %.0f MiB resident (%.3f MiB for each agent beyond %.0f MiB), %.0f MiB of heap",
			when, agents, streams, files, resident, (resident-f.empty)/float64(agents), f.empty, heap)
		return resident
	}
	report("all batches acknowledged")
	time.Sleep(stefgrpc.DefaultIdleTimeout / 2)
	report("after half of the idle timeout")
	time.Sleep(stefgrpc.DefaultIdleTimeout / 2)
	begin := time.Now()
	for i, s := range f.streams {
		select {
		case <-s.Done():
			require.NoError(t, s.Err())
		case <-time.After(time.Until(begin.Add(30 * time.Second))):
			require.Fail(t, "a stream is still open after the idle timeout", "agent %d", i)
		}
	}
	t.Logf("the last stream ended %v after %v of silence", time.Since(begin).Round(10*time.Millisecond), stefgrpc.DefaultIdleTimeout)
	least := report("after the idle timeout")
	for range 6 {
		time.Sleep(5 * time.Second)
		least = min(least, report("later"))
	}
	require.LessOrEqual(t, least, 400.0)
}
