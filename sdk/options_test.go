// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelstef/stef/internal/netfault"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	"github.com/otelstef/stef/sdk/steflog"
	"github.com/otelstef/stef/sdk/stefmetric"
	"github.com/otelstef/stef/sdk/steftrace"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/rotate"
)

func TestBadOptions(t *testing.T) {
	f := func(want string, option stefsdk.Option) {
		t.Helper()
		_, err := steftrace.New(context.Background(), option)
		require.ErrorContains(t, err, want)
	}
	f("WithEndpoint: the address is empty", stefsdk.WithEndpoint(""))
	f("WithEndpointURL", stefsdk.WithEndpointURL("http://"))
	f("WithEndpointURL", stefsdk.WithEndpointURL("http://%zz"))
	f(`WithEndpoint: "http://localhost:4320" has a scheme: use WithEndpointURL`, stefsdk.WithEndpoint("http://localhost:4320"))
	f(`WithEndpointURL: the scheme of "ftp://localhost:4320" must be http or https`, stefsdk.WithEndpointURL("ftp://localhost:4320"))
	f(`WithHeaders: the header "Bad Header" is not valid`, stefsdk.WithHeaders(map[string]string{"Bad Header": "x"}))
	f(`WithHeaders: the header "grpc-timeout" is not valid`, stefsdk.WithHeaders(map[string]string{"grpc-timeout": "x"}))
	for _, key := range []string{"connection", "Content-Type", "host", "te"} {
		f(fmt.Sprintf(`WithHeaders: the header %q is not valid: gRPC reserves it`, key), stefsdk.WithHeaders(map[string]string{key: "x"}))
	}
	f("use WithDialOption(grpc.WithUserAgent(...))", stefsdk.WithHeaders(map[string]string{"User-Agent": "x"}))
	f(`WithHeaders: the value of the header "key" is not valid`, stefsdk.WithHeaders(map[string]string{"key": "a\n"}))
	f("WithTLSCredentials", stefsdk.WithTLSCredentials(nil))
	f("WithTimeout: 0s is not above 0", stefsdk.WithTimeout(0))
	f("WithRetry", stefsdk.WithRetry(stefsdk.RetryConfig{InitialInterval: -1}))
	f("WithGRPCConn", stefsdk.WithGRPCConn(nil))
	f("WithOTLPCompressor", stefsdk.WithOTLPCompressor("zip"))
	f("WithStreamLifetime", stefsdk.WithStreamLifetime(-time.Second))
	f("WithCompression", stefsdk.WithCompression(9))
	f("WithCompressionLevel", stefsdk.WithCompressionLevel(99))
	f("an option is nil", nil)
	f("an option of metrics", stefmetric.WithTemporalitySelector(sdkmetric.DeltaTemporalitySelector))

	g := func(want string, option stefsdk.FileOption) {
		t.Helper()
		_, err := steflog.NewFile(t.TempDir(), option)
		require.ErrorContains(t, err, want)
	}
	g("WithRetention", stefsdk.WithRetention(-1, 0))
	g("WithFlushInterval", stefsdk.WithFlushInterval(-1))
	g("WithSync", stefsdk.WithSync(9, 0))
	g("an option is nil", nil)
	g("an option of metrics", stefmetric.WithAggregationSelector(sdkmetric.DefaultAggregationSelector))
	_, err := stefmetric.NewFile(t.TempDir(), stefmetric.WithTemporalitySelector(nil))
	require.ErrorContains(t, err, "nil")
}

// The error of a bad prefix names the environment variable that set the prefix.
func TestBadPrefix(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_STEF_FILE_PREFIX", "a/b")
	_, err := steflog.NewFile(t.TempDir())
	require.ErrorContains(t, err, `OTEL_EXPORTER_STEF_FILE_PREFIX is "a/b": use 1 to 100 letters, digits, '.', '_' and '-'`)
	_, err = steflog.NewFile(t.TempDir(), stefsdk.WithPrefix("c/d"))
	require.ErrorContains(t, err, `Prefix is "c/d"`)
	require.NotContains(t, err.Error(), "OTEL_")
}

// Files have the prefix and the permissions that the options set.
func TestNamesOfFiles(t *testing.T) {
	dir := t.TempDir()
	x, err := steflog.NewFile(dir, stefsdk.WithPrefix("checkout"), stefsdk.WithPermissions(0o600))
	require.NoError(t, err)
	require.NoError(t, x.Export(context.Background(), make([]sdklog.Record, 1)))
	require.NoError(t, x.Shutdown(context.Background()))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	name, ok := rotate.ParseName(files[0].Name())
	require.True(t, ok)
	require.Equal(t, "checkout", name.Prefix)
	if runtime.GOOS != "windows" { // Windows has no such permissions
		info, err := files[0].Info()
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
}

func TestSelectors(t *testing.T) {
	open := func(options ...stefsdk.FileOption) *stefmetric.FileExporter {
		x, err := stefmetric.NewFile(t.TempDir(), options...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
		return x
	}
	counter, histogram := sdkmetric.InstrumentKindCounter, sdkmetric.InstrumentKindHistogram
	x := open()
	require.Equal(t, metricdata.CumulativeTemporality, x.Temporality(counter))
	require.Equal(t, sdkmetric.DefaultAggregationSelector(histogram), x.Aggregation(histogram))

	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "Delta")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "base2_exponential_bucket_histogram")
	x = open()
	require.Equal(t, metricdata.DeltaTemporality, x.Temporality(counter))
	require.IsType(t, sdkmetric.AggregationBase2ExponentialHistogram{}, x.Aggregation(histogram))
	require.IsType(t, sdkmetric.AggregationSum{}, x.Aggregation(counter))

	x = open(stefmetric.WithTemporalitySelector(sdkmetric.CumulativeTemporalitySelector),
		stefmetric.WithAggregationSelector(func(sdkmetric.InstrumentKind) sdkmetric.Aggregation { return sdkmetric.AggregationDrop{} }))
	require.Equal(t, metricdata.CumulativeTemporality, x.Temporality(counter))
	require.Equal(t, sdkmetric.AggregationDrop{}, x.Aggregation(histogram))
}

// Streams and OTLP requests are compressed as configured, and a stream is never compressed
// twice.
func TestCompression(t *testing.T) {
	list := batches(4)
	bytes := func(stef bool, options ...stefsdk.Option) int64 {
		ctx := context.Background()
		peer := sdktest.NewPeer(t, netfault.Link{})
		peer.STEF = stef
		peer.Start(t)
		x := toEndpoint(t, peer.Options(options...)...)
		for _, d := range list {
			require.NoError(t, x.export(ctx, d))
		}
		require.NoError(t, x.shutdown(ctx))
		got := peer.Received()
		expect(t, list, got.Traces, got.Metrics, got.Logs)
		return peer.Network.Bytes(netfault.Up)
	}
	plain, compressed := bytes(true, stefsdk.WithCompression(stef.None)), bytes(true)
	require.Less(t, compressed, plain)
	otlp, gzip := bytes(false), bytes(false, stefsdk.WithOTLPCompressor("gzip"))
	require.Less(t, gzip, otlp/2)
	require.Less(t, plain, otlp)
	twice := bytes(true, stefsdk.WithCompression(stef.None), stefsdk.WithOTLPCompressor("gzip"))
	require.InEpsilon(t, plain, twice, 0.1)
}

// A folder that cannot be created is an error of the export, not of the constructor. An export
// with a canceled context fails, and the next export works.
func TestFilesWithoutFolder(t *testing.T) {
	ctx := context.Background()
	d := batches(1)[0]
	x, err := steftrace.NewFile(filepath.Join("/dev/null", "telemetry"))
	require.NoError(t, err)
	err = x.ExportSpans(ctx, d.spans)
	var fault *rotate.Error
	require.ErrorAs(t, err, &fault)
	require.EqualValues(t, len(d.spans), x.Stats().Failed)
	require.Zero(t, x.Stats().Written)
	require.NoError(t, x.Shutdown(ctx))

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	x, err = steftrace.NewFile(t.TempDir())
	require.NoError(t, err)
	require.ErrorIs(t, x.ExportSpans(canceled, d.spans), context.Canceled)
	require.NoError(t, x.ExportSpans(ctx, d.spans))
	require.NoError(t, x.Shutdown(ctx))
}

// Files of single spans are not compressed, and files of batches are compressed. A choice of the
// application has precedence.
func TestCompressionOfFiles(t *testing.T) {
	ctx := context.Background()
	spans := sdktest.New(1).Spans(200)
	require.Greater(t, len(spans), 50)
	f := func(want stef.Compression, size int, options ...stefsdk.FileOption) {
		t.Helper()
		dir := t.TempDir()
		x, err := steftrace.NewFile(dir, options...)
		require.NoError(t, err)
		for at := 0; at+size <= len(spans); at += size {
			require.NoError(t, x.ExportSpans(ctx, spans[at:at+size]))
		}
		require.NoError(t, x.Shutdown(ctx))
		paths, err := filepath.Glob(filepath.Join(dir, "*.stef"))
		require.NoError(t, err)
		require.Len(t, paths, 1)
		file, err := os.Open(paths[0])
		require.NoError(t, err)
		defer file.Close()
		r, err := otelstef.NewSpansReader(file)
		require.NoError(t, err)
		require.Equal(t, want, r.Stats().Compression)
	}
	f(stef.None, 1)
	f(stef.Zstd, 40)
	f(stef.Zstd, 1, stefsdk.WithCompression(stef.Zstd))
	f(stef.None, 40, stefsdk.WithCompression(stef.None))
	f(stef.Zstd, 1, stefsdk.WithFlushInterval(time.Second))
}
