// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/study"
	"github.com/otelstef/stef/benchmarks/transport"
	"github.com/otelstef/stef/internal/otlpfile"
)

// ways are the protocols and numbers of clients in the transport tables.
var ways = []struct {
	protocol transport.Protocol
	clients  int
}{{transport.OTLP, 1}, {transport.OTLP, 20}, {transport.STEF, 1}, {transport.STEF, 10}}

// BenchmarkTransport sends batches over gRPC with an injected round trip. An
// operation is a run on its own connection. The figures cover all operations together, so that
// each operation has its share of the garbage collections. The load "table" is that of the first
// table in transport.md. It would take too long with long round trips, so it runs only with short
// round trips.
func BenchmarkTransport(b *testing.B) {
	loads := []struct {
		name    string
		batches []otlpfile.Batch
	}{{"small", nil}, {"large", nil}, {"table", nil}}
	for i := range 40 {
		loads[0].batches = append(loads[0].batches, dataset.Spans(100, 4, uint64(i)))
	}
	for i := range 10 {
		loads[1].batches = append(loads[1].batches, dataset.Spans(500, 10, uint64(i)))
	}
	for i := range 240 {
		loads[2].batches = append(loads[2].batches, dataset.Spans(500, 10, uint64(i)))
	}
	for _, load := range loads {
		for _, trip := range study.Latencies {
			if load.name == "table" && trip > 2*time.Millisecond {
				continue
			}
			for _, way := range ways {
				for _, c := range []transport.Compression{transport.None, transport.Gzip, transport.Zstd} {
					config := transport.Config{Protocol: way.protocol, Clients: way.clients, Compression: c, RoundTrip: trip, Window: transport.DefaultWindow}
					b.Run(path("load", load.name, "trip", trip.String(), "protocol", string(way.protocol), "clients", fmt.Sprint(way.clients), "compression", string(c)), func(b *testing.B) {
						benchmarkTransport(b, config, load.batches)
					})
				}
			}
		}
	}
}

// BenchmarkWorkers sends logs of about 1,137 bytes with different numbers of workers at
// both ends, as in the transport tuning study of AxoSyslog.
func BenchmarkWorkers(b *testing.B) {
	var batches []otlpfile.Batch
	for i := range 40 {
		batches = append(batches, dataset.Logs(100, uint64(i)))
	}
	for _, protocol := range []transport.Protocol{transport.OTLP, transport.STEF} {
		for _, clients := range []int{1, 8, 64} {
			for _, workers := range []int{1, 8} {
				for _, c := range []transport.Compression{transport.None, transport.Zstd} {
					config := transport.Config{Protocol: protocol, Clients: clients, Workers: workers, Compression: c, Window: transport.DefaultWindow}
					b.Run(path("protocol", string(protocol), "clients", fmt.Sprint(clients), "workers", fmt.Sprint(workers), "compression", string(c)), func(b *testing.B) {
						benchmarkTransport(b, config, batches)
					})
				}
			}
		}
	}
}

func benchmarkTransport(b *testing.B, config transport.Config, batches []otlpfile.Batch) {
	var all transport.Result
	for b.Loop() {
		r, err := transport.Run(b.Context(), config, batches)
		require.NoError(b, err)
		all.Batches += r.Batches
		all.Items += r.Items
		all.Wall += r.Wall
		all.CPU += r.CPU
		all.Up += r.Up + r.Down
	}
	b.ReportMetric(all.BatchesPerSecond(), "batches/s")
	b.ReportMetric(all.BatchesPerCPUSecond(), "batches/cpu-s")
	b.ReportMetric(all.ItemsPerSecond(), "items/s")
	b.ReportMetric(float64(all.Up)/float64(all.Batches), "wire-B/batch")
}
