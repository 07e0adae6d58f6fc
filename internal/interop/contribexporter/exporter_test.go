// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package contribexporter

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/stefexporter"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
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

// sink is the OTLP server behind our Collector. It counts points by their number
// and records points that differ from those that were sent.
type sink struct {
	pmetricotlp.UnimplementedGRPCServer
	address string

	mu     sync.Mutex
	counts map[int64]int
	wrong  []string
}

func newSink(t *testing.T) *sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &sink{address: l.Addr().String(), counts: map[int64]int{}}
	server := grpc.NewServer()
	pmetricotlp.RegisterGRPCServer(server, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return s
}

func (s *sink) Export(_ context.Context, request pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rm := range request.Metrics().ResourceMetrics().All() {
		service, _ := rm.Resource().Attributes().Get("service.name")
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				for _, p := range m.Sum().DataPoints().All() {
					n := p.IntValue()
					s.counts[n]++
					route, _ := p.Attributes().Get("route")
					if service.Str() != "numbered" || m.Name() != "number" || !m.Sum().IsMonotonic() || sm.Scope().Name() != "scope" ||
						p.Timestamp() != timeOf(n) || route.Str() != routeOf(n) {
						s.wrong = append(s.wrong, fmt.Sprintf("%d: %q %q %q %d %q", n, service.Str(), m.Name(), sm.Scope().Name(), p.Timestamp(), route.Str()))
					}
				}
			}
		}
	}
	return pmetricotlp.NewExportResponse(), nil
}

func timeOf(n int64) pcommon.Timestamp {
	return pcommon.NewTimestampFromTime(time.Unix(1_700_000_000+n, 0))
}

func routeOf(n int64) string { return fmt.Sprintf("/route/%d", n%7) }

func batch(first, n int64) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "numbered")
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName("scope")
	m := sm.Metrics().AppendEmpty()
	m.SetName("number")
	sum := m.SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	for i := range n {
		p := sum.DataPoints().AppendEmpty()
		p.SetIntValue(first + i)
		p.SetTimestamp(timeOf(first + i))
		p.Attributes().PutStr("route", routeOf(first+i))
	}
	return md
}

const backendConfig = `
receivers:
  stef: {endpoint: %s}
exporters:
  otlp_grpc:
    endpoint: %s
    tls: {insecure: true}
service:
  telemetry:
    metrics:
      level: detailed
      readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %s}}}}]
  pipelines:
    metrics: {receivers: [stef], exporters: [otlp_grpc]}
`

// startBackend starts a Collector of this repository and returns the address at which it receives
// STEF.
func startBackend(t *testing.T, sink string) (endpoint string) {
	t.Helper()
	program := os.Getenv("STEF_OTELCOL")
	if program == "" {
		t.Skip("SKIPPED: STEF_OTELCOL names no Collector; make test-contrib builds one and runs this")
	}
	endpoint = freeAddress(t)
	_, port, err := net.SplitHostPort(freeAddress(t))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "backend.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, backendConfig, endpoint, sink, port), 0o600))
	command := exec.Command(program, "--config", file)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Log(output.String())
		}
	})
	require.Eventually(t, func() bool {
		response, err := http.Get("http://127.0.0.1:" + port + "/metrics")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return true
	}, time.Minute, 50*time.Millisecond, "the backend is not ready")
	return endpoint
}

// TestAccepted checks that every point that the exporter sends arrives once and unchanged.
func TestAccepted(t *testing.T) {
	const batches, points = 200, 10
	s := newSink(t)
	endpoint := startBackend(t, s.address)

	factory := stefexporter.NewFactory()
	config := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"endpoint": endpoint, "tls": map[string]any{"insecure": true}}).Unmarshal(config))
	e, err := factory.CreateMetrics(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
	require.NoError(t, err)
	require.NoError(t, e.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, e.Shutdown(ctx))
	})
	for i := range int64(batches) {
		require.NoError(t, e.ConsumeMetrics(t.Context(), batch(i*points, points)))
	}
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.counts) == batches*points
	}, time.Minute, 20*time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.wrong)
	for n, count := range s.counts {
		require.Equal(t, 1, count, "point %d", n)
	}
}
