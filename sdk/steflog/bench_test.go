// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steflog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.uber.org/goleak"

	"github.com/otelstef/stef/internal/teltest/benchdata"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/steflog"
	stef "github.com/otelstef/stef/stef-go"
)

// The first line of the output of benchmarks names their data.
var _ = benchdata.Name("synthetic: log records of the test")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type keep struct{ records []sdklog.Record }

// Export implements sdklog.Exporter.
func (k *keep) Export(_ context.Context, records []sdklog.Record) error {
	for i := range records {
		k.records = append(k.records, records[i].Clone())
	}
	return nil
}

// Shutdown implements sdklog.Exporter.
func (*keep) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdklog.Exporter.
func (*keep) ForceFlush(context.Context) error { return nil }

// simple returns a logger whose records go to an exporter one by one.
func simple(x sdklog.Exporter) log.Logger {
	process := resource.NewSchemaless(attribute.String("service.name", "shop"))
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(x)), sdklog.WithResource(process))
	return provider.Logger("shop")
}

func order(i int) log.Record {
	var r log.Record
	r.SetTimestamp(time.Unix(1_700_000_000, int64(i)))
	r.SetBody(attribute.StringValue(fmt.Sprint("order ", i%100)))
	r.AddAttributes(attribute.String("http.route", "/cart/{id}"), attribute.Int("number", i%7))
	return r
}

func recordsOf(n int) []sdklog.Record {
	var k keep
	logger := simple(&k)
	for i := range n {
		logger.Emit(context.Background(), order(i))
	}
	return k.records
}

// BenchmarkFile exports log records to files: in batches of 512, as the batch processor
// does, one by one, and through the simple processor of the SDK.
func BenchmarkFile(b *testing.B) {
	ctx := context.Background()
	records := recordsOf(2048)
	for name, options := range map[string][]stefsdk.FileOption{
		"zstd":    nil,
		"none":    {stefsdk.WithCompression(stef.None)},
		"delayed": {stefsdk.WithFlushInterval(time.Second)},
	} {
		run := func(kind string, size int, export func(x *steflog.FileExporter) func()) {
			b.Run(kind+"/"+name, func(b *testing.B) {
				x, err := steflog.NewFile(b.TempDir(), options...)
				require.NoError(b, err)
				next := export(x)
				next()
				b.ReportAllocs()
				for b.Loop() {
					next()
				}
				require.NoError(b, x.Shutdown(ctx))
				stats := x.Stats()
				require.EqualValues(b, (b.N+1)*size, stats.Written)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/record")
				b.ReportMetric(float64(stats.Files.Bytes)/float64(stats.Written), "B/record")
			})
		}
		for _, size := range []int{1, 512} {
			run(fmt.Sprint("batch=", size), size, func(x *steflog.FileExporter) func() {
				at := 0
				return func() {
					_ = x.Export(ctx, records[at:at+size])
					at = (at + size) % len(records)
				}
			})
		}
		run("simple", 1, func(x *steflog.FileExporter) func() {
			logger, i := simple(x), 0
			return func() {
				logger.Emit(ctx, order(i))
				i++
			}
		})
	}
}

// An export to files allocates nothing.
func TestAllocations(t *testing.T) {
	ctx := context.Background()
	x, err := steflog.NewFile(t.TempDir(), stefsdk.WithRotation(-1, -1))
	require.NoError(t, err)
	records := recordsOf(512)
	for i := range records {
		require.NoError(t, x.Export(ctx, records[i:i+1]))
	}
	i := 0
	require.Zero(t, testing.AllocsPerRun(400, func() {
		_ = x.Export(ctx, records[i:i+1])
		i++
	}))
	require.EqualValues(t, 512+401, x.Stats().Written)
	require.NoError(t, x.Shutdown(ctx))
}
