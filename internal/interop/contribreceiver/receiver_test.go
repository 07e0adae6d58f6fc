// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package contribreceiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/stefreceiver"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// given has the addresses that freeAddress has returned.
var given sync.Map

// freeAddress returns an unused address, a new one each time. It must not be one that the system
// chooses for a client meanwhile, so its port is below 32768. Package freeport does more, but its module
// requires newer modules of the Collector, which do not fit this component.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		require.NoError(t, l.Close())
		if _, again := given.LoadOrStore(address, true); !again {
			return address
		}
	}
}

// sink counts the points that the receiver delivers, by their number.
type sink struct {
	mu     sync.Mutex
	counts map[int64]int
	answer func(numbers []int64) error // returns the error for a batch; nil accepts all batches
}

func (s *sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sink) ConsumeMetrics(_ context.Context, md pmetric.Metrics) error {
	numbers := numbersOf(md)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer != nil {
		if err := s.answer(numbers); err != nil {
			return err
		}
	}
	for _, n := range numbers {
		s.counts[n]++
	}
	return nil
}

// missing returns how many numbers below n did not arrive, and how many arrived
// more than once.
func (s *sink) missing(n int64) (missing, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		switch c := s.counts[i]; {
		case c == 0:
			missing++
		case c > 1:
			twice++
		}
	}
	return missing, twice
}

func numbersOf(md pmetric.Metrics) (numbers []int64) {
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				for _, p := range m.Gauge().DataPoints().All() {
					numbers = append(numbers, p.IntValue())
				}
			}
		}
	}
	return numbers
}

// batch returns one gauge with numbered points. As in a real series, there is one point per
// second.
func batch(first, n int64) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "numbered")
	m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("number")
	gauge := m.SetEmptyGauge()
	for i := range n {
		p := gauge.DataPoints().AppendEmpty()
		p.SetIntValue(first + i)
		p.SetTimestamp(pcommon.NewTimestampFromTime(time.Unix(1_700_000_000+first+i, 0)))
	}
	return md
}

func contrib(t *testing.T, address string, next consumer.Metrics) {
	t.Helper()
	factory := stefreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"endpoint": address}).Unmarshal(config))
	settings := receivertest.NewNopSettings(factory.Type())
	r, err := factory.CreateMetrics(t.Context(), settings, config, next)
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, r.Shutdown(ctx))
	})
}

const agentConfig = `
receivers:
  otlp:
    protocols: {grpc: {endpoint: %s}}
exporters:
  stef:
    endpoint: %s
    tls: {insecure: true}
    retry_on_failure: {initial_interval: 100ms, max_elapsed_time: 0s}
service:
  telemetry:
    metrics:
      level: detailed
      readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %s}}}}]
  pipelines:
    metrics: {receivers: [otlp], exporters: [stef]}
    traces: {receivers: [otlp], exporters: [stef]}
`

// agent is a Collector of this repository.
type agent struct {
	entry   string
	metrics string
	output  bytes.Buffer
}

func startAgent(t *testing.T, endpoint string) *agent {
	t.Helper()
	program := os.Getenv("STEF_OTELCOL")
	if program == "" {
		t.Skip("SKIPPED: STEF_OTELCOL names no Collector; make test-contrib builds one and runs this")
	}
	a := &agent{entry: freeAddress(t)}
	_, port, err := net.SplitHostPort(freeAddress(t))
	require.NoError(t, err)
	a.metrics = "http://127.0.0.1:" + port + "/metrics"
	file := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, agentConfig, a.entry, endpoint, port), 0o600))
	command := exec.Command(program, "--config", file)
	command.Stdout, command.Stderr = &a.output, &a.output
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Log(a.output.String())
		}
	})
	require.Eventually(t, func() bool {
		response, err := http.Get(a.metrics)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return true
	}, time.Minute, 50*time.Millisecond, "the agent is not ready")
	return a
}

func (a *agent) sum(t *testing.T, name string) (total int) {
	t.Helper()
	response, err := http.Get(a.metrics)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^`+name+`(?:_total)?\{.*\} (\S+)$`).FindAllStringSubmatch(string(body), -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		total += int(v)
	}
	return total
}

const (
	batches = 200
	points  = 10
)

// send sends numbered batches, one after another. The agent acknowledges each batch when it is in
// the queue of the agent.
func (a *agent) send(t *testing.T) {
	t.Helper()
	conn, err := grpc.NewClient(a.entry, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client := pmetricotlp.NewGRPCClient(conn)
	for i := range int64(batches) {
		_, err := client.Export(t.Context(), pmetricotlp.NewExportRequestFromMetrics(batch(i*points, points)), grpc.WaitForReady(true))
		require.NoError(t, err)
	}
}

// TestAccepted checks that every point arrives once, as STEF.
func TestAccepted(t *testing.T) {
	address := freeAddress(t)
	s := &sink{counts: map[int64]int{}}
	a := startAgent(t, address)
	contrib(t, address, s)
	a.send(t)
	require.Eventually(t, func() bool {
		missing, _ := s.missing(batches * points)
		return missing == 0
	}, time.Minute, 20*time.Millisecond)
	_, twice := s.missing(batches * points)
	require.Zero(t, twice)
	require.Eventually(t, func() bool { return a.sum(t, "otelcol_exporter_stef_items_delivered") == batches*points }, time.Minute, 50*time.Millisecond)
	require.Zero(t, a.sum(t, "otelcol_exporter_stef_otlp_bytes"), "sent as OTLP")
}

// TestTransient checks that all batches arrive although the pipeline after the receiver rejects
// some batches at first. The receiver then ends the stream, and the exporter sends the
// unacknowledged batches again.
func TestTransient(t *testing.T) {
	address := freeAddress(t)
	s := &sink{counts: map[int64]int{}}
	failures := 3
	s.answer = func([]int64) error {
		if failures > 0 {
			failures--
			return errors.New("not now")
		}
		return nil
	}
	a := startAgent(t, address)
	contrib(t, address, s)
	a.send(t)
	require.Eventually(t, func() bool {
		missing, _ := s.missing(batches * points)
		return missing == 0
	}, time.Minute, 20*time.Millisecond)
}

// TestOtherSignals checks what happens to traces and logs. This version of the receiver has
// neither STEF nor OTLP for them, so our exporter drops and counts them. Metrics still arrive.
func TestOtherSignals(t *testing.T) {
	factory := stefreceiver.NewFactory()
	require.Equal(t, component.StabilityLevelUndefined, factory.TracesStability())
	require.Equal(t, component.StabilityLevelUndefined, factory.LogsStability())
	address := freeAddress(t)
	s := &sink{counts: map[int64]int{}}
	a := startAgent(t, address)
	contrib(t, address, s)
	conn, err := grpc.NewClient(a.entry, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName("one")
	_, err = ptraceotlp.NewGRPCClient(conn).Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(td), grpc.WaitForReady(true))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return a.sum(t, "otelcol_exporter_stef_items_dropped") == 1 }, time.Minute, 50*time.Millisecond)
	a.send(t)
	require.Eventually(t, func() bool {
		missing, _ := s.missing(batches * points)
		return missing == 0
	}, time.Minute, 20*time.Millisecond)
}

const childEnv = "STEF_CONTRIB_ADDRESS"

// TestCrashingReceiver is the child process of TestRejected: a receiver whose
// pipeline rejects a batch.
func TestCrashingReceiver(t *testing.T) {
	address := os.Getenv(childEnv)
	if address == "" {
		t.Skip("the child process of TestRejected")
	}
	s := &sink{counts: map[int64]int{}, answer: func(numbers []int64) error {
		if slices.Contains(numbers, 123) {
			return consumererror.NewPermanent(errors.New("never"))
		}
		return nil
	}}
	contrib(t, address, s)
	time.Sleep(10 * time.Minute) // the rejected batch ends this process earlier
}

// TestRejected expects a known fault: when the pipeline rejects a batch permanently, this version
// of the receiver panics instead of reporting the records as bad. Our agent must survive the
// panic: it delivers all unacknowledged data to the next receiver. If this test fails because the
// child process does not panic, the fault is fixed: change the test so that it checks the
// reported records.
func TestRejected(t *testing.T) {
	address := freeAddress(t)
	a := startAgent(t, address)
	child := exec.Command(os.Args[0], "-test.run=^TestCrashingReceiver$")
	child.Env = append(os.Environ(), childEnv+"="+address)
	var output bytes.Buffer
	child.Stdout, child.Stderr = &output, &output
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	a.send(t)
	require.Error(t, child.Wait(), "the receiver does not panic any more")
	require.Contains(t, output.String(), "nil pointer dereference")

	s := &sink{counts: map[int64]int{}}
	contrib(t, address, s)
	var acknowledged int
	require.Eventually(t, func() bool {
		missing, _ := s.missing(batches * points)
		acknowledged = missing
		return a.sum(t, "otelcol_exporter_stef_items_delivered") == batches*points
	}, time.Minute, 100*time.Millisecond)
	_, twice := s.missing(batches * points)
	require.Zero(t, twice)
	// The records that are missing at this receiver were acknowledged by the child process. All
	// of them must precede the rejected batch.
	require.LessOrEqual(t, acknowledged, 120)
	require.Zero(t, a.sum(t, "otelcol_exporter_stef_items_dropped"))
}
