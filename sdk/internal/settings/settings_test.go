// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver/manual"

	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/settings"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
)

func reports(t *testing.T) *[]string {
	t.Helper()
	var list []string
	old := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { list = append(list, err.Error()) }))
	t.Cleanup(func() { otel.SetErrorHandler(old) })
	return &list
}

func endpoint(t *testing.T, variables ...string) *settings.Endpoint {
	t.Helper()
	set(t, variables)
	c, err := settings.ForEndpoint(settings.Traces, nil)
	require.NoError(t, err)
	return c
}

func set(t *testing.T, variables []string) {
	t.Helper()
	for _, v := range variables {
		name, value, ok := strings.Cut(v, "=")
		require.True(t, ok)
		t.Setenv(name, value)
	}
}

func TestDefaults(t *testing.T) {
	c := endpoint(t)
	require.Equal(t, "localhost:4320", c.Target)
	require.False(t, c.Insecure)
	require.NotNil(t, c.Credentials)
	require.Equal(t, 10*time.Second, c.Timeout)
	require.True(t, c.OTLP)
	require.Equal(t, stef.Zstd, c.Compression)
	require.Equal(t, settings.Retry{Enabled: true, InitialInterval: 500 * time.Millisecond, MaxInterval: 5 * time.Second, MaxElapsedTime: time.Minute}, c.Retry)
}

// A duration of 0 in a RetryConfig means the default. A negative MaxElapsedTime means no limit.
func TestRetry(t *testing.T) {
	f := func(set stefsdk.RetryConfig, initial, longest, elapsed time.Duration) {
		t.Helper()
		set.Enabled = true
		c, err := settings.ForEndpoint(settings.Traces, []settings.Option{stefsdk.WithRetry(set)})
		require.NoError(t, err)
		require.Equal(t, settings.Retry{Enabled: true, InitialInterval: initial, MaxInterval: longest, MaxElapsedTime: elapsed}, c.Retry)
	}
	f(stefsdk.RetryConfig{}, 500*time.Millisecond, 5*time.Second, time.Minute)
	f(stefsdk.RetryConfig{InitialInterval: 1, MaxInterval: 2, MaxElapsedTime: 3}, 1, 2, 3)
	f(stefsdk.RetryConfig{MaxInterval: 100 * time.Millisecond}, 100*time.Millisecond, 100*time.Millisecond, time.Minute)
	f(stefsdk.RetryConfig{MaxElapsedTime: -1}, 500*time.Millisecond, 5*time.Second, 0)
}

func TestEndpoints(t *testing.T) {
	f := func(target string, insecure bool, variables ...string) {
		t.Helper()
		t.Run(strings.Join(variables, " "), func(t *testing.T) {
			c := endpoint(t, variables...)
			require.Equal(t, target, c.Target)
			require.Equal(t, insecure, c.Insecure)
		})
	}
	f("a:4317", true, "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4317")
	f("a:4317", false, "OTEL_EXPORTER_OTLP_ENDPOINT=https://a:4317/")
	f("a:4317", false, "OTEL_EXPORTER_OTLP_ENDPOINT=a:4317")
	f("a:4317", true, "OTEL_EXPORTER_OTLP_ENDPOINT=a:4317", "OTEL_EXPORTER_OTLP_INSECURE=true")
	f("a:4317", false, "OTEL_EXPORTER_OTLP_ENDPOINT=https://a:4317", "OTEL_EXPORTER_OTLP_INSECURE=true")
	f("b:1", true, "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b:1")
	f("c:1", true, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b:1", "OTEL_EXPORTER_STEF_ENDPOINT=http://c:1")
	f("d:1", true, "OTEL_EXPORTER_STEF_ENDPOINT=http://c:1", "OTEL_EXPORTER_STEF_TRACES_ENDPOINT=http://d:1", "OTEL_EXPORTER_STEF_LOGS_ENDPOINT=http://e:1")
	f("unix:///run/stef.sock", true, "OTEL_EXPORTER_STEF_ENDPOINT=unix:///run/stef.sock")
	f("dns:///a:1", false, "OTEL_EXPORTER_STEF_ENDPOINT=dns:///a:1")
	f("dns:///a:1", false, "OTEL_EXPORTER_STEF_ENDPOINT=  dns:///a:1  ")
	f("dns:///a:1", true, "OTEL_EXPORTER_OTLP_ENDPOINT=dns:///a:1", "OTEL_EXPORTER_OTLP_INSECURE=true")
	f("a:4317", true, "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	f("a:4317", true, "OTEL_EXPORTER_STEF_ENDPOINT=http://a:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
}

// If an option sets the address, the scheme of the address in a variable has no effect.
func TestEndpointOfOption(t *testing.T) {
	f := func(insecure bool, variable string, options ...settings.Option) {
		t.Helper()
		t.Run(variable, func(t *testing.T) {
			set(t, []string{variable})
			c, err := settings.ForEndpoint(settings.Traces, options)
			require.NoError(t, err)
			require.Equal(t, "b:1", c.Target)
			require.Equal(t, insecure, c.Insecure)
			require.Equal(t, insecure, c.Credentials == nil)
		})
	}
	f(false, "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:1", stefsdk.WithEndpoint("b:1"))
	f(false, "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:1", stefsdk.WithEndpointURL("b:1"))
	f(false, "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:1", stefsdk.WithEndpointURL("http://a:1"), stefsdk.WithEndpoint("b:1"))
	f(true, "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:1", stefsdk.WithInsecure(), stefsdk.WithEndpoint("b:1"))
	f(true, "OTEL_EXPORTER_OTLP_ENDPOINT=https://a:1", stefsdk.WithEndpoint("b:1"), stefsdk.WithInsecure())
	f(true, "OTEL_EXPORTER_OTLP_INSECURE=true", stefsdk.WithEndpoint("b:1"))
	f(true, "OTEL_EXPORTER_OTLP_ENDPOINT=https://a:1", stefsdk.WithInsecure(), stefsdk.WithEndpointURL("b:1"))
	f(false, "OTEL_EXPORTER_OTLP_INSECURE=true", stefsdk.WithTLSCredentials(credentials.NewTLS(nil)), stefsdk.WithEndpoint("b:1"))
}

// The order of WithInsecure and of an address with a name resolver of gRPC does not matter.
func TestInsecureResolver(t *testing.T) {
	for _, address := range []settings.Option{stefsdk.WithEndpoint("dns:///a:1"), stefsdk.WithEndpointURL("dns:///a:1")} {
		for _, options := range [][]settings.Option{{stefsdk.WithInsecure(), address}, {address, stefsdk.WithInsecure()}} {
			c, err := settings.ForEndpoint(settings.Traces, options)
			require.NoError(t, err)
			require.Equal(t, "dns:///a:1", c.Target)
			require.True(t, c.Insecure)
		}
	}
}

// A variable that cannot be used is reported, and the default applies.
func TestIgnoredVariables(t *testing.T) {
	f := func(want string, variables ...string) {
		t.Helper()
		t.Run(strings.Join(variables, " "), func(t *testing.T) {
			set(t, []string{"OTEL_EXPORTER_STEF_INSECURE=true"})
			list := reports(t)
			plain := endpoint(t)
			require.Empty(t, *list)
			c := endpoint(t, variables...)
			require.Len(t, *list, 1)
			require.Contains(t, (*list)[0], want)
			plain.Headers, c.Headers = nil, nil
			require.Equal(t, plain, c)
		})
	}
	f(`OTEL_EXPORTER_OTLP_TIMEOUT is "soon" and is ignored`, "OTEL_EXPORTER_OTLP_TIMEOUT=soon")
	f(`OTEL_EXPORTER_OTLP_TIMEOUT is "-1"`, "OTEL_EXPORTER_OTLP_TIMEOUT=-1")
	f(`OTEL_EXPORTER_STEF_COMPRESSION is "gzip" and is ignored: set it to zstd or none`, "OTEL_EXPORTER_STEF_COMPRESSION=gzip")
	f(`OTEL_EXPORTER_STEF_COMPRESSION_LEVEL is "11"`, "OTEL_EXPORTER_STEF_COMPRESSION_LEVEL=11")
	f(`OTEL_EXPORTER_OTLP_COMPRESSION is "zstd"`, "OTEL_EXPORTER_OTLP_COMPRESSION=zstd")
	f(`OTEL_EXPORTER_STEF_OTLP_FALLBACK is "maybe"`, "OTEL_EXPORTER_STEF_OTLP_FALLBACK=maybe")
	f(`OTEL_EXPORTER_STEF_ENDPOINT is "http://"`, "OTEL_EXPORTER_STEF_ENDPOINT=http://")
	f(`OTEL_EXPORTER_STEF_ENDPOINT is "tcp://a:4317" and is ignored: set it to a URL such as http://localhost:4320`, "OTEL_EXPORTER_STEF_ENDPOINT=tcp://a:4317")
	f(`OTEL_EXPORTER_OTLP_ENDPOINT is ignored, because OTEL_EXPORTER_OTLP_PROTOCOL is http/protobuf`,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4318", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
	f(`OTEL_EXPORTER_OTLP_HEADERS is "a=…"`, "OTEL_EXPORTER_OTLP_HEADERS=a=%zz,b=1")
	f(`OTEL_EXPORTER_OTLP_HEADERS is "bad…"`, "OTEL_EXPORTER_OTLP_HEADERS=bad header=1,b=1")
	f(`OTEL_EXPORTER_OTLP_HEADERS is "connection=…" and is ignored: set it to key=value pairs, separated by commas, without headers that gRPC reserves`,
		"OTEL_EXPORTER_OTLP_HEADERS=Connection=close,b=1")

	// A text that is not certainly the name of a header may be a secret, so it is not reported.
	f(`OTEL_EXPORTER_OTLP_HEADERS is "…" and`, "OTEL_EXPORTER_OTLP_HEADERS=secret")
	f(`OTEL_EXPORTER_OTLP_HEADERS is "…" and`, "OTEL_EXPORTER_OTLP_HEADERS=a=1,secret")
	f(`OTEL_EXPORTER_OTLP_HEADERS is "authorization…" and`, "OTEL_EXPORTER_OTLP_HEADERS=Authorization: Basic secret==")
	f(`OTEL_EXPORTER_OTLP_HEADERS is "authorization…" and`, "OTEL_EXPORTER_OTLP_HEADERS=Authorization Basic secret=")
}

// An address with an unknown scheme is not ignored if an option provides the resolver of the scheme. If an
// option sets another address, the variable has no effect and is not reported.
func TestUnknownScheme(t *testing.T) {
	f := func(want string, option settings.Option) {
		t.Helper()
		set(t, []string{"OTEL_EXPORTER_STEF_ENDPOINT=mine:///a"})
		list := reports(t)
		c, err := settings.ForEndpoint(settings.Traces, []settings.Option{option})
		require.NoError(t, err)
		require.Empty(t, *list)
		require.Equal(t, want, c.Target)
	}
	f("mine:///a", stefsdk.WithDialOption(grpc.WithResolvers(manual.NewBuilderWithScheme("mine"))))
	f("b:1", stefsdk.WithEndpoint("b:1"))
}

func TestVariables(t *testing.T) {
	list := reports(t)
	c := endpoint(t,
		"OTEL_EXPORTER_OTLP_HEADERS=Api-Key=a%20b, x=1=2,", "OTEL_EXPORTER_OTLP_TIMEOUT=1500",
		"OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_EXPORTER_STEF_COMPRESSION=none",
		"OTEL_EXPORTER_STEF_COMPRESSION_LEVEL=best", "OTEL_EXPORTER_STEF_OTLP_FALLBACK=FALSE",
		"OTEL_EXPORTER_STEF_STREAM_LIFETIME=60000")
	require.Empty(t, *list)
	require.Equal(t, map[string]string{"api-key": "a b", "x": "1=2"}, c.Headers)
	require.Equal(t, 1500*time.Millisecond, c.Timeout)
	require.Equal(t, "gzip", c.OTLPCompressor)
	require.Equal(t, stef.None, c.Compression)
	require.Equal(t, stef.LevelBest, c.Level)
	require.False(t, c.OTLP)
	require.Equal(t, time.Minute, c.StreamLifetime)
}

// A certificate that cannot be used is an error: without this certificate, the identity of
// the peer would not be verified as configured.
func TestCertificates(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", filepath.Join(t.TempDir(), "missing"))
	_, err := settings.ForEndpoint(settings.Traces, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_CERTIFICATE")

	bad := filepath.Join(t.TempDir(), "bad.pem")
	require.NoError(t, os.WriteFile(bad, []byte("no"), 0o600))
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", bad)
	_, err = settings.ForEndpoint(settings.Traces, nil)
	require.ErrorContains(t, err, "PEM")

	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "")
	t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", bad)
	_, err = settings.ForEndpoint(settings.Traces, nil)
	require.EqualError(t, err, "stef: OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE is set without CLIENT_KEY: set both")
	t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", bad)
	_, err = settings.ForEndpoint(settings.Traces, nil)
	require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: ")
	t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "")
	_, err = settings.ForEndpoint(settings.Traces, nil)
	require.EqualError(t, err, "stef: OTEL_EXPORTER_OTLP_CLIENT_KEY is set without CLIENT_CERTIFICATE: set both")
}

func TestFiles(t *testing.T) {
	list := reports(t)
	c, err := settings.ForFiles(settings.Logs, "", nil)
	require.NoError(t, err)
	require.NotNil(t, c.Rotate.OnError)
	c.Rotate.OnError = nil
	require.Equal(t, rotate.Options{Dir: "telemetry", Signal: "logs"}, c.Rotate)

	set(t, []string{
		"OTEL_EXPORTER_STEF_FILE_DIRECTORY=/var/lib/telemetry", "OTEL_EXPORTER_STEF_FILE_PREFIX=shop",
		"OTEL_EXPORTER_STEF_FILE_MAX_BYTES=1000", "OTEL_EXPORTER_STEF_LOGS_FILE_MAX_BYTES=2000",
		"OTEL_EXPORTER_STEF_FILE_MAX_AGE=5000", "OTEL_EXPORTER_STEF_FILE_MAX_FILES=7",
		"OTEL_EXPORTER_STEF_FILE_MAX_TOTAL_BYTES=9000", "OTEL_EXPORTER_STEF_FILE_FLUSH_INTERVAL=100",
		"OTEL_EXPORTER_STEF_FILE_SYNC=flush", "OTEL_EXPORTER_STEF_FILE_SYNC_INTERVAL=250",
	})
	c, err = settings.ForFiles(settings.Logs, "", nil)
	require.NoError(t, err)
	c.Rotate.OnError = nil
	require.Equal(t, rotate.Options{
		Dir: "/var/lib/telemetry", Prefix: "shop", Signal: "logs", MaxBytes: 2000, MaxAge: 5 * time.Second, MaxFiles: 7,
		MaxTotalBytes: 9000, FlushInterval: 100 * time.Millisecond, Sync: rotate.SyncFlush, SyncEvery: 250 * time.Millisecond,
	}, c.Rotate)
	c, err = settings.ForFiles(settings.Logs, "here", nil)
	require.NoError(t, err)
	require.Equal(t, "here", c.Rotate.Dir)
	require.Empty(t, *list)

	t.Setenv("OTEL_EXPORTER_STEF_FILE_SYNC", "always")
	t.Setenv("OTEL_EXPORTER_STEF_FILE_MAX_FILES", "-1")
	_, err = settings.ForFiles(settings.Logs, "", nil)
	require.NoError(t, err)
	require.Len(t, *list, 1)
	require.Contains(t, (*list)[0], "OTEL_EXPORTER_STEF_FILE_SYNC")
	require.Contains(t, (*list)[0], "OTEL_EXPORTER_STEF_FILE_MAX_FILES")
}

// TestLargeCounts: the variables of counts accept all positive numbers of 64 bits.
func TestLargeCounts(t *testing.T) {
	list := reports(t)
	set(t, []string{"OTEL_EXPORTER_STEF_FILE_MAX_BYTES=9223372036854775807", "OTEL_EXPORTER_STEF_FILE_MAX_TOTAL_BYTES=140737488355328"})
	c, err := settings.ForFiles(settings.Logs, "", nil)
	require.NoError(t, err)
	require.Empty(t, *list)
	require.Equal(t, int64(math.MaxInt64), c.Rotate.MaxBytes)
	require.Equal(t, int64(1<<47), c.Rotate.MaxTotalBytes)

	t.Setenv("OTEL_EXPORTER_STEF_FILE_MAX_BYTES", "9223372036854775808")
	c, err = settings.ForFiles(settings.Logs, "", nil)
	require.NoError(t, err)
	require.Zero(t, c.Rotate.MaxBytes)
	require.Len(t, *list, 1)
	require.Contains(t, (*list)[0], "set it to a whole number above 0, at most 9223372036854775807")
}
