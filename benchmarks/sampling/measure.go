// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

type scenario struct {
	processors []string
	protocol   string
	during     time.Duration
	rate       int
	wait       time.Duration
	traces     int
	limit      int           // memory in MiB above which the Collector refuses spans; 0: no limit
	every      time.Duration // between samples
}

// result holds the counts of a run. Each span counts once, except in counters of the
// Collector.
type result struct {
	scenario
	acknowledged, arrived, twice int
	accepted, sent               int // spans, by the counters of the Collector
	refused                      int // spans, counted at each attempt to send them
	sampled, evicted             int // traces, by the counters of the processors
	offeredTraces, whole         int
	took                         time.Duration
	cpu                          time.Duration
	heap                         int64
	series                       []sample
	losses                       []loss
	partly, wholly               int // lost spans: of traces that arrived in part, and of traces that did not arrive
}

// sink counts spans by their numbers.
type sink struct {
	mu    sync.Mutex
	seen  []uint8
	got   int
	twice int
	last  time.Time
}

func (s *sink) consume(_ context.Context, td ptrace.Traces) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				id := span.SpanID()
				n := int(binary.BigEndian.Uint64(id[:])) - 1
				for n >= len(s.seen) {
					s.seen = append(s.seen, make([]uint8, len(s.seen)+1024)...)
				}
				if s.seen[n]++; s.seen[n] > 1 {
					s.twice++
				} else {
					s.got++
				}
			}
		}
	}
	return nil
}

// measure runs a scenario: a sender and a sink in this process, and a Collector between them.
func measure(ctx context.Context, s scenario) (*result, error) {
	to := &sink{}
	backend, stopSink, err := startSink(ctx, to)
	if err != nil {
		return nil, err
	}
	defer stopSink()
	entry, metrics, command, err := s.startCollector(backend)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	}()
	send, stopSender, err := startSender(ctx, entry, s.protocol)
	if err != nil {
		return nil, err
	}
	defer stopSender()
	r := &result{scenario: s}
	sampling, stopSampling := context.WithCancel(ctx)
	var sampler sync.WaitGroup
	idle, err := cpuTime(command.Process.Pid) // the CPU time that the start has used
	if err != nil {
		stopSampling()
		return nil, err
	}
	sampler.Go(func() { r.sample(sampling, metrics, command.Process.Pid, to) })
	begin := time.Now()
	if err := r.send(ctx, send); err != nil {
		stopSampling()
		return nil, err
	}
	r.took = to.settle(r.acknowledged, 3*s.wait+4*time.Second).Sub(begin)
	stopSampling()
	sampler.Wait()
	if r.cpu, err = cpuTime(command.Process.Pid); err != nil {
		return nil, err
	}
	r.cpu -= idle
	r.countArrived(to)
	final, err := settled(metrics, r.arrived+r.twice)
	if err != nil {
		return nil, err
	}
	r.accepted, r.sent, r.refused = int(final[metricAccepted]), int(final[metricSent]), int(final[metricRefused])
	r.sampled, r.evicted = int(final[metricSampled]), int(final[metricEvicted]+final[metricTooEarly])
	r.series = append(r.series, sample{time.Since(begin), final, r.arrived, r.cpu + idle})
	r.losses = r.account(final)
	return r, nil
}

// countArrived counts what arrived at the sink.
func (r *result) countArrived(to *sink) {
	to.mu.Lock()
	defer to.mu.Unlock()
	r.arrived, r.twice = to.got, to.twice
	for t := range r.offeredTraces {
		missing := 0
		for n := t * spansOf; n < (t+1)*spansOf; n++ {
			if n >= len(to.seen) || to.seen[n] == 0 {
				missing++
			}
		}
		switch missing {
		case 0:
			r.whole++
		case spansOf:
			r.wholly += missing
		default:
			r.partly += missing
		}
	}
}

// settled waits until the Collector has counted all arrived spans as sent, and returns its
// metrics. The Collector counts spans only after their acknowledgement. settled waits for at
// most 5 s.
func settled(url string, arrived int) (final map[string]float64, err error) {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		final, err = scrape(url)
		if err != nil || int(final[metricSent]) >= arrived || time.Now().After(deadline) {
			return final, err
		}
	}
}

// settle waits until all spans have arrived, or until none has arrived for the time maxIdle. It returns
// the time of the last arrival.
func (s *sink) settle(all int, maxIdle time.Duration) (last time.Time) {
	begin := time.Now()
	for {
		s.mu.Lock()
		quiet, done := min(time.Since(s.last), time.Since(begin)), s.got >= all
		last = s.last
		s.mu.Unlock()
		if done || quiet > maxIdle {
			return last
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// send sends for the time of the scenario, and then sends the late spans.
func (r *result) send(ctx context.Context, send func(context.Context, ptrace.Traces) error) error {
	const senders, partsPerBatch, pending = 8, 100, 20_000
	l := &load{random: rand.New(rand.NewPCG(1, 2)), late: r.wait + 2*time.Second}
	batches := make(chan ptrace.Traces)
	var acknowledged atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	for range senders {
		group.Go(func() {
			for td := range batches {
				n := td.SpanCount()
				if err := send(ctx, td); err != nil {
					failure.Store(&err)
					continue
				}
				acknowledged.Add(int64(n))
			}
		})
	}
	begin := time.Now()
	for {
		now := time.Now()
		elapsed := now.Sub(begin)
		if elapsed < r.during {
			due := int(elapsed.Seconds() * float64(r.rate) / spansOf)
			if r.rate == 0 && len(l.queue) < pending {
				due = l.traces + 20
			}
			for l.traces < due {
				l.begin(now)
			}
		} else if len(l.queue) == 0 {
			break
		}
		td, n := l.batch(now, partsPerBatch)
		if n == 0 {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		batches <- td
	}
	close(batches)
	group.Wait()
	r.acknowledged, r.offeredTraces = int(acknowledged.Load()), l.traces
	if err := failure.Load(); err != nil {
		return fmt.Errorf("a batch was not acknowledged: %w", *err)
	}
	return nil
}

// startCollector starts the Collector and waits until it listens.
func (s *scenario) startCollector(backend string) (entry, metrics string, command *exec.Cmd, err error) {
	entry, err = freeport.Find()
	if err != nil {
		return "", "", nil, err
	}
	own, err := freeport.Find()
	if err != nil {
		return "", "", nil, err
	}
	_, port, err := net.SplitHostPort(own)
	if err != nil {
		return "", "", nil, err
	}
	dir, err := os.MkdirTemp("", "sampling")
	if err != nil {
		return "", "", nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "collector.yaml")
	if err := os.WriteFile(file, []byte(s.configuration(entry, backend, port)), 0o600); err != nil {
		return "", "", nil, err
	}
	command = exec.Command(os.Args[0], "-collector", file)
	var log tail // printed only if the Collector fails
	command.Stderr = &log
	if err := command.Start(); err != nil {
		return "", "", nil, err
	}
	metrics = "http://" + own + "/metrics"
	for range 600 {
		if conn, err := net.Dial("tcp", entry); err == nil {
			return entry, metrics, command, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	return "", "", nil, fmt.Errorf("the Collector does not listen at %s: %s", entry, log.end)
}

// tail keeps the last bytes that are written.
type tail struct{ end []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-4096):]
	return len(p), nil
}

// startSink starts a receiver of both protocols.
func startSink(ctx context.Context, to *sink) (address string, stop func(), err error) {
	if address, err = freeport.Find(); err != nil {
		return "", nil, err
	}
	f := stefreceiver.NewFactory()
	config := f.CreateDefaultConfig().(*stefreceiver.Config)
	config.ServerConfig.NetAddr.Endpoint = address
	next, err := consumer.NewTraces(to.consume)
	if err != nil {
		return "", nil, err
	}
	part, err := f.CreateTraces(ctx, receivertest.NewNopSettings(f.Type()), config, next)
	if err != nil {
		return "", nil, err
	}
	return address, func() { _ = part.Shutdown(ctx) }, part.Start(ctx, componenttest.NewNopHost())
}

// startSender starts an exporter without a queue, so send returns when the Collector has
// acknowledged the batch.
func startSender(ctx context.Context, entry, protocol string) (send func(context.Context, ptrace.Traces) error, stop func(), err error) {
	f := stefexporter.NewFactory()
	config := f.CreateDefaultConfig().(*stefexporter.Config)
	config.ClientConfig.Endpoint, config.ClientConfig.TLS.Insecure = entry, true
	config.Protocol = stefexporter.Protocol(protocol)
	config.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	var part exporter.Traces
	if part, err = f.CreateTraces(ctx, exportertest.NewNopSettings(f.Type()), component.Config(config)); err != nil {
		return nil, nil, err
	}
	return part.ConsumeTraces, func() { _ = part.Shutdown(ctx) }, part.Start(ctx, componenttest.NewNopHost())
}
