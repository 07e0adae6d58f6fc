// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	stef "github.com/otelstef/stef/stef-go"
)

// load reads a configuration as the Collector does.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	config := createDefaultConfig().(*Config)
	if err := conf.Unmarshal(config); err != nil {
		return nil, err
	}
	return config, confmap.Validate(config)
}

func TestConfigFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = load(t, string(text))
		require.NoError(t, err, file)
	}
}

// TestConfigHTTP checks that an endpoint with http:// is accepted if the tls settings agree with it.
func TestConfigHTTP(t *testing.T) {
	_, err := load(t, "endpoint: http://backend:4320\ntls: {insecure: true}")
	require.NoError(t, err)
	_, err = load(t, "endpoint: https://backend:4320")
	require.NoError(t, err)
	_, err = load(t, "endpoint: http://backend:4320\ntls: {insecure: true, ca_file: ca.crt}")
	require.ErrorContains(t, err, "TLS is on", "configtls turns TLS on if a CA is set")
}

// TestConfigOfContrib reads configurations of the exporter of the same name in the
// Collector's contrib repository.
func TestConfigOfContrib(t *testing.T) {
	text, err := os.ReadFile("testdata/contrib.yaml")
	require.NoError(t, err)
	c, err := load(t, string(text))
	require.NoError(t, err)
	require.Equal(t, "1.2.3.4:1234", c.ClientConfig.Endpoint)
	require.Equal(t, stef.Zstd, c.streamCompression())
	require.Equal(t, 33*time.Second, c.TimeoutConfig.Timeout)
	require.Equal(t, exporterhelper.RequestSizerTypeRequests, c.QueueConfig.Get().Sizer)
	require.Equal(t, int64(10), c.QueueConfig.Get().QueueSize)
	require.Equal(t, 2, c.QueueConfig.Get().NumConsumers)
	require.Equal(t, 10*time.Second, c.RetryConfig.InitialInterval)
	require.Equal(t, "pick_first", c.ClientConfig.BalancerName)
}

func TestConfigDefaults(t *testing.T) {
	c, err := load(t, "endpoint: localhost:4320")
	require.NoError(t, err)
	require.Equal(t, ProtocolAuto, c.Protocol)
	require.Equal(t, stef.Zstd, c.streamCompression())
	require.Equal(t, 15*time.Second, c.TimeoutConfig.Timeout)
	require.Equal(t, ModeSorted, c.Stef.Mode.Traces)
	require.Equal(t, ModeSorted, c.Stef.Mode.Metrics)
	require.Equal(t, ModeOrdered, c.Stef.Mode.Logs)
	queue := c.QueueConfig.Get()
	require.Equal(t, exporterhelper.RequestSizerTypeItems, queue.Sizer)
	require.Equal(t, int64(100_000), queue.QueueSize)
	require.True(t, queue.BlockOnOverflow)
	require.Equal(t, 16, queue.NumConsumers)
	require.False(t, queue.Batch.HasValue())
	require.Equal(t, "round_robin", c.ClientConfig.BalancerName)
	require.Equal(t, 30*time.Second, c.ClientConfig.Keepalive.Get().Time)
}

// TestSizerIsLogged sets queue_size without a sizer. At the start, a log line says that queue_size
// counts requests.
func TestSizerIsLogged(t *testing.T) {
	f := func(queue string, want int) {
		t.Helper()
		c, err := load(t, "{endpoint: 'localhost:1', tls: {insecure: true}, sending_queue: {"+queue+"}}")
		require.NoError(t, err)
		core, logs := observer.New(zap.InfoLevel)
		settings := exportertest.NewNopSettings(metadata.Type)
		settings.Logger = zap.New(core)
		x, err := NewFactory().CreateLogs(t.Context(), settings, c)
		require.NoError(t, err)
		require.NoError(t, x.Start(t.Context(), componenttest.NewNopHost()))
		require.NoError(t, x.Shutdown(t.Context()))
		lines := logs.FilterMessageSnippet("The sending queue counts requests").All()
		require.Len(t, lines, want, queue)
		if want > 0 {
			require.Equal(t, int64(7), lines[0].ContextMap()["queue_size"])
		}
	}
	f("queue_size: 7", 1)
	f("queue_size: 7, sizer: requests", 0)
	f("queue_size: 7, sizer: items", 0)
	f("num_consumers: 3", 0)
	f("enabled: false, queue_size: 7", 0)
}

func TestConfigDependents(t *testing.T) {
	c, err := load(t, "{endpoint: 'localhost:4320', stef: {num_streams: 3}}")
	require.NoError(t, err)
	require.Equal(t, 48, c.QueueConfig.Get().NumConsumers, "consumers follow the streams")

	c, err = load(t, "{endpoint: 'localhost:4320', stef: {num_streams: 3}, sending_queue: {num_consumers: 5}}")
	require.NoError(t, err)
	require.Equal(t, 5, c.QueueConfig.Get().NumConsumers)

	c, err = load(t, "{endpoint: 'localhost:4320', sending_queue: {queue_size: 7, sizer: items}}")
	require.NoError(t, err)
	require.Equal(t, exporterhelper.RequestSizerTypeItems, c.QueueConfig.Get().Sizer)

	c, err = load(t, "{endpoint: 'localhost:4320', sending_queue: {enabled: false}}")
	require.NoError(t, err)
	require.False(t, c.QueueConfig.HasValue())

	c, err = load(t, "{endpoint: 'localhost:4320', compression: none}")
	require.NoError(t, err)
	require.Equal(t, stef.None, c.streamCompression())
	require.Equal(t, compressionNone, c.Stef.Compression, "the printed value is the effective one")

	c, err = load(t, "{endpoint: 'localhost:4320', stef: {mode: ordered}}")
	require.NoError(t, err)
	require.Equal(t, ModeConfig{Traces: ModeOrdered, Metrics: ModeOrdered, Logs: ModeOrdered}, c.Stef.Mode)

	c, err = load(t, "{endpoint: 'localhost:4320', stef: {mode: {logs: sorted}}}")
	require.NoError(t, err)
	require.Equal(t, ModeConfig{Traces: ModeSorted, Metrics: ModeSorted, Logs: ModeSorted}, c.Stef.Mode)

	c, err = load(t, "{endpoint: 'localhost:4320', otlp_fallback: {compression: zstd}}")
	require.NoError(t, err)
	require.Equal(t, configcompression.TypeZstd, c.Fallback.Compression)
}

// TestChecksums checks that stef::checksums is read, and that print-config shows it.
func TestChecksums(t *testing.T) {
	for text, want := range map[string]bool{"": false, "checksums: true": true} {
		c, err := load(t, "{endpoint: 'localhost:4320', stef: {"+text+"}}")
		require.NoError(t, err)
		require.Equal(t, want, c.Stef.Checksums)
		printed := confmap.New()
		require.NoError(t, printed.Marshal(c))
		require.Equal(t, want, printed.Get("stef::checksums"))
	}
}

// TestPrintedConfig compares the output of the Collector's command print-config with the values that
// the exporter uses.
func TestPrintedConfig(t *testing.T) {
	f := func(text string, want map[string]any) {
		t.Helper()
		c, err := load(t, "{endpoint: 'localhost:4320'"+text+"}")
		require.NoError(t, err)
		printed := confmap.New()
		require.NoError(t, printed.Marshal(c))
		for key, value := range want {
			require.EqualValues(t, value, printed.Get(key), key)
		}
	}
	f("", map[string]any{"protocol": "auto", "stef::compression": "zstd", "stef::compression_level": "auto", "stef::schema": "compact",
		"stef::mode::traces": "sorted", "stef::mode::logs": "ordered", "stef::templates": "auto", "otlp_fallback::compression": "gzip", "timeout": 15 * time.Second})
	f(", compression: none", map[string]any{"compression": "none", "stef::compression": "none"})
	f(", stef: {optimize_for: cpu}", map[string]any{"stef::compression_level": "fastest", "stef::mode::metrics": "sorted", "stef::templates": "off"})
	f("", map[string]any{"stef::retry_resource_exhausted": false, "stef::retry_refused_credentials": false})
	f(", stef: {retry_refused_credentials: true}", map[string]any{"stef::retry_resource_exhausted": false, "stef::retry_refused_credentials": true})
	f(", stef: {num_streams: 4}", map[string]any{"sending_queue::num_consumers": 4 * consumersPerStream})
}

// TestOptimizeFor sets optimize_for, which changes the defaults of other settings. Explicit values of
// these settings have precedence.
func TestOptimizeFor(t *testing.T) {
	read := func(stef string) StefConfig {
		t.Helper()
		c, err := load(t, "{endpoint: 'localhost:4320', stef: {"+stef+"}}")
		require.NoError(t, err)
		return c.Stef
	}
	require.Equal(t, defaultStefConfig(), read(""))
	require.Equal(t, defaultStefConfig(), read("optimize_for: balanced"))

	want := defaultStefConfig()
	want.OptimizeFor, want.CompressionLevel, want.Templates = OptimizeCPU, "fastest", TemplatesOff
	require.Equal(t, want, read("optimize_for: cpu"))
	want = defaultStefConfig()
	want.OptimizeFor, want.CompressionLevel, want.Templates = OptimizeBytes, "best", TemplatesOn
	require.Equal(t, want, read("optimize_for: bytes"))

	c := read("optimize_for: cpu, compression_level: better, templates: on")
	require.Equal(t, "better", c.CompressionLevel, "a key that is set wins")
	require.Equal(t, TemplatesOn, c.Templates)
	require.Equal(t, OptimizeCPU, c.OptimizeFor)
}

// TestConfigOneLine makes mistakes that both this exporter and the Collector detect. The error must
// have only one line.
func TestConfigOneLine(t *testing.T) {
	const endpoint = "endpoint: localhost:4320\n"
	for _, config := range []string{
		"endpoint: localhost", "endpoint: localhost:4320/v1/traces", "endpoint: 'localhost:'", "endpoint: dns:///backend",
		endpoint + "balancer_name: fair", endpoint + "timeout: -1s", endpoint + "stef: {mode: sort}",
		endpoint + "tls: {cert_file: a.crt}", endpoint + "sending_queue: {batch: {min_size: 200000}}", endpoint + "sending_queue: {sizer: item}",
		"endpoint: 'a:4320,b:4320'", "endpoint: 'a,b:4320'",
	} {
		_, err := load(t, config)
		require.Error(t, err, config)
		_, message, found := strings.Cut(err.Error(), "decoding failed due to the following error(s):\n\n")
		if !found {
			message = err.Error()
		}
		require.NotContains(t, message, "\n", config)
		require.NotContains(t, message, "config:", config)
	}
}

// TestConfigJoinedKeys uses keys in the notation of error messages, such as stef::num_streams.
func TestConfigJoinedKeys(t *testing.T) {
	c, err := load(t, "endpoint: localhost:4320\nstef::num_streams: 3\nstef::mode::logs: sorted")
	require.NoError(t, err)
	require.Equal(t, 3, c.Stef.NumStreams)
	require.Equal(t, ModeSorted, c.Stef.Mode.Logs)
}

// TestConfigMistakes lists frequent mistakes and the expected error messages.
func TestConfigMistakes(t *testing.T) {
	const endpoint = "endpoint: localhost:4320\n"
	f := func(config string, wants ...string) {
		t.Helper()
		_, err := load(t, config)
		require.Error(t, err, config)
		for _, want := range wants {
			require.ErrorContains(t, err, want)
		}
	}

	// A key without a value, or with the value of an environment variable that is not set.
	f(endpoint+"stef:\n  idle_timeout:\n  num_streams: ${env:UNSET}", "stef::idle_timeout has no value: set it, or remove it to use the default")
	f(endpoint+"sending_queue: {queue_size: null}\nretry_on_failure: {max_elapsed_time: ~}",
		"sending_queue::queue_size has no value", "retry_on_failure::max_elapsed_time has no value")

	// Mistakes in the settings of the connection.
	f("", "endpoint is missing: set it to host:port")
	f("endpoint: '  '", "endpoint is missing")
	f("endpoint: localhost", `endpoint is "localhost": write host:port, such as "localhost:4320"`)
	f("endpoint: localhost:4320/v1/traces", `write host:port without a path, such as "localhost:4320"`)
	f("endpoint: localhost:stef", `write host:port, such as "localhost:4320"`)
	f("endpoint: dns:///backend", `endpoint is "dns:///backend": write host:port, such as "dns:///backend:4320"`)
	f("endpoint: dns:localhost:4320", `endpoint is "dns:localhost:4320": write dns:///localhost:4320, with three slashes`)
	f("endpoint: '4320'", `endpoint is "4320": write host:port, such as "localhost:4320"`)
	f("endpoint: '::1:4320'", `endpoint is "::1:4320": write host:port, with an IPv6 address in brackets, such as "[::1]:4320"`)
	f("endpoint: '::1'", `such as "[::1]:4320"`)
	f("endpoint: '[fe80::1]'", `such as "[fe80::1]:4320"`)
	f("endpoint: dns:///fe80::1:2:4317", `such as "dns:///[fe80::1:2]:4317"`)
	f("endpoint: http://backend/v1", `such as "http://backend:4320"`)
	f("endpoint: http://backend:4320", "endpoint has the scheme http://, but TLS is on: write backend:4320, and set tls::insecure to true if the peer has no TLS")
	f("endpoint: http://backend:4320\ntls: {insecure: true, ca_file: ca.pem}", "endpoint has the scheme http://, but TLS is on, because a CA is set beside tls::insecure: write backend:4320, and remove tls::ca_file and tls::ca_pem if the peer has no TLS")
	f(endpoint+"otlp_fallback: {endpoint: 'http://a:4317'}", "otlp_fallback::endpoint has the scheme http://, but TLS is on: write a:4317")
	f("routing_key: traceID\nendpoints: ['http://a:4320', 'b:4320']", "endpoints has the scheme http://, but TLS is on: write a:4320")
	f("endpoint: 'unix://'", `endpoint is "unix://": write the path of the socket`)
	f("endpoint: dns://localhost:4320", `endpoint is "dns://localhost:4320": write dns:///localhost:4320, with three slashes`)
	f("endpoint: dns://localhost:4320/", `write dns:///localhost:4320, with three slashes`)
	f("routing_key: traceID\nendpoints: ['dns://a:4320', 'b:4320']", `endpoints is "dns://a:4320": write dns:///a:4320, with three slashes`)
	f("endpoint: grpc://localhost:4320", "endpoint has the scheme grpc://, which gRPC does not know: write localhost:4320")
	f(endpoint+"otlp_fallback: {endpoint: 'grpcs://a:4317'}", "otlp_fallback: endpoint has the scheme grpcs://, which gRPC does not know: write a:4317")
	f("routing_key: traceID\nendpoints: [localhost, 'localhost:24320']",
		`endpoints has "localhost" without a port: write host:port, such as localhost:4320`)
	f("routing_key: traceID\nendpoints: ['tcp://a:4320', 'b:4320']", "endpoints has the scheme tcp://, which gRPC does not know: write a:4320")
	f(endpoint+"auth: {}", "auth has no authenticator: set auth::authenticator to the name of an extension, or remove auth")
	f(endpoint+"balancer_name: fair", `balancer_name is "fair": set it to round_robin or pick_first`)
	f("endpoint: grpc://localhost", "write host:port")
	f("endpoint: 'a:4320,b:4320'", `endpoint is "a:4320,b:4320", which names several addresses: use one name that resolves to all of them, such as dns:///backend:4320, or list them in the key endpoints and set routing_key`)
	f("endpoint: 'a,b:4320'", "which names several addresses")
	f("endpoint: 'dns:///a:4320,b:4320'", "which names several addresses")
	f(endpoint+"otlp_fallback: {endpoint: 'a:4317,b:4317'}", `otlp_fallback: endpoint is "a:4317,b:4317", which names several addresses`)
	f("routing_key: traceID\nendpoints: ['a:4320,b:4320']", `endpoints has "a:4320,b:4320": write each address as an element of its own`)
	f(endpoint+"tls: {cert_file: a.pem}", "tls::key_file is missing: set it to the key of the certificate in cert_file")
	f(endpoint+"tls: {key_file: a.pem}", "tls::cert_file is missing")
	f(endpoint+"tls: {ca_file: a.pem, ca_pem: b}", "tls::ca_file and tls::ca_pem are both set: remove one")
	f(endpoint+"tls: {enabled: false}", `unknown key "tls::enabled": TLS is on by default; to send without TLS, write tls::insecure: true`)
	f(endpoint+"tls: {client_ca_file: ca.pem}", `unknown key "tls::client_ca_file": an exporter verifies its peer: write it as tls::ca_file`)
	f(endpoint+"tls: false", "tls is false: TLS is on by default; to send without TLS, write tls::insecure: true")
	f(endpoint+"otlp_fallback: {enabled: false}", `unknown key "otlp_fallback::enabled": it is on with protocol: auto; to send only STEF, write protocol: stef`)
	f(endpoint+"otlp_fallback: false", "otlp_fallback is false: it is on with protocol: auto; to send only STEF")
	f(endpoint+"sending_queue: {batch: {min_size: 200000}}", "sending_queue::batch::min_size is 200000 and sending_queue::queue_size is 100000, both in items: the queue cannot hold a batch; lower min_size or raise queue_size")
	f(endpoint+"sending_queue: {sizer: requests, batch: {}}", `sending_queue::batch::sizer is "requests": set it to items or bytes; without it, the sizer of sending_queue applies`)
	f(endpoint+"sending_queue: {sizer: {}}", `sending_queue::sizer has no value: set it to items, requests or bytes`)
	f(endpoint+"sending_queue: {sizer: item}", `sending_queue::sizer is "item": set it to items, requests or bytes`)
	f(endpoint+"sending_queue: {batch: {sizer: requests, min_size: many}}", `sending_queue::batch::sizer is "requests": set it to items or bytes`)
	f(endpoint+"stef: {idle_timeout: 0.5}", "stef::idle_timeout is 0.5 without a unit: write 0.5s or 0.5ms")
	f(endpoint+"retry_on_failure: {initial_interval: 0.5}", "retry_on_failure::initial_interval is 0.5 without a unit")
	f(endpoint+"stef: {num_streams: 3.5}", "stef::num_streams is 3.5: set it to a whole number")
	f(endpoint+"stef: {num_streams: '3'}", `stef::num_streams is "3": write it without quotation marks`)
	f(endpoint+"headers: {tenant: 1}", "headers::tenant is a number: write it in quotation marks")
	f(endpoint+"timeout: 0", "timeout is 0", "set a duration above 0")
	f(endpoint+"timeout: 0s", "timeout is 0")
	f(endpoint+"timeout: -1s", "timeout is -1s: set a duration above 0")
	f(endpoint+"timeout: soon", `timeout is "soon": write numbers with units and without spaces, such as 15s`)
	f(endpoint+"timeout: 15 s", `timeout is "15 s": write numbers with units and without spaces, such as 15s`)
	f(endpoint+"keepalive: {time: 30}", "keepalive::time is 30 without a unit: write 30s or 30ms")
	f(endpoint+"sending_queue: {batch: {flush_timeout: 200}}", "sending_queue::batch::flush_timeout is 200 without a unit: write 200s or 200ms")
	f(endpoint+"timeout: 15", "timeout is 15 without a unit: write 15s or 15ms")
	f(endpoint+"retry_on_failure: {initial_interval: 5}", "retry_on_failure::initial_interval is 5 without a unit: write 5s")
	f(endpoint+"stef: {flush_interval: 50}", "flush_interval is 50 without a unit: write 50s or 50ms")
	f("endpoint: localhost:99999", `endpoint is "localhost:99999": set the port to a number from 1 to 65535`)
	f("endpoint: dns:///backend:0", "set the port to a number from 1 to 65535")
	f(endpoint+"otlp_fallback: {endpoint: 'a:70000'}", `otlp_fallback: endpoint is "a:70000": set the port`)

	// Mistakes in the names of keys.
	f(endpoint+"num_streams: 3", `unknown key "num_streams": write it as "stef::num_streams"`)
	f(endpoint+"stef: {protocol: otlp}", `unknown key "stef::protocol": write it as "protocol"`)
	f(endpoint+"stef: {num_stream: 3}", `unknown key "stef::num_stream": did you mean "stef::num_streams"?`)
	f(endpoint+"stef.num_streams: 3", `unknown key "stef.num_streams": write it as "stef::num_streams"`)
	f(endpoint+"stef.mode.logs: sorted", `unknown key "stef.mode.logs": write it as "stef::mode::logs"`)
	f(endpoint+"protokol: stef", `unknown key "protokol": did you mean "protocol"?`)
	f(endpoint+"retry: {enabled: false}", `unknown key "retry"`, "retry_on_failure")
	f(endpoint+"stef: {wings: 2}", `unknown key "stef::wings": remove it, or write one of the keys in stef: checksums, compression, compression_level`)
	f(endpoint+"stef: {mode: {spans: sorted}}", `unknown key "stef::mode::spans": did you mean "stef::mode::traces"?`)
	f(endpoint+"stef: {mode: {wings: sorted}}", `unknown key "stef::mode::wings"`, "logs, metrics, traces")
	f(endpoint+"protocols: {grpc: {endpoint: a}}", `unknown key "protocols": an exporter has one address`)
	f(endpoint+"insecure: true", `unknown key "insecure": write it as tls::insecure`)
	f(endpoint+"sending_queue: {queue_sizes: 3}", `unknown key "sending_queue::queue_sizes": did you mean "sending_queue::queue_size"?`)
	f(endpoint+"sending_queue: {batch: {wings: 3}}", `unknown key "sending_queue::batch::wings": remove it, or write one of the keys in sending_queue::batch:`, "max_size")
	f(endpoint+"retry_on_failure: {max_elapsed: 3s}", `unknown key "retry_on_failure::max_elapsed": did you mean "retry_on_failure::max_elapsed_time"?`)
	f(endpoint+"tls: {ca: a.crt}", `unknown key "tls::ca": did you mean "tls::ca_file" or "tls::ca_pem"?`)
	f(endpoint+"batch: {max_size: 3}", `unknown key "batch": write it as "sending_queue::batch"`)
	f(endpoint+"min_size: 3", `unknown key "min_size": write it as "sending_queue::batch::min_size"`)
	f(endpoint+"sending_queue: {max_size: 3}", `unknown key "sending_queue::max_size": write it as "sending_queue::batch::max_size"`)
	f(endpoint+"queue: {enabled: true}", `unknown key "queue": write it as sending_queue`)
	f(endpoint+"sending_queue: {size: 1000}", `unknown key "sending_queue::size": write it as sending_queue::queue_size`)
	f(endpoint+"sending_queue: {batch: {timeout: 200ms, send_batch_size: 10, send_batch_max_size: 20}}",
		`unknown key "sending_queue::batch::timeout": write it as sending_queue::batch::flush_timeout`,
		`unknown key "sending_queue::batch::send_batch_size": write it as sending_queue::batch::min_size`,
		`unknown key "sending_queue::batch::send_batch_max_size": write it as sending_queue::batch::max_size`)
	f(endpoint+"sending_queue: {batch: {metadata_keys: [tenant]}}", `unknown key "sending_queue::batch::metadata_keys": write it as "sending_queue::batch::partition::metadata_keys"`)
	f(endpoint+"retry_on_failure: {max_retries: 3, max_elapsed_time: 300}", `unknown key "retry_on_failure::max_retries"`, "retry_on_failure::max_elapsed_time is 300 without a unit")
	f(endpoint+"wings: 2\nsending_queue: {num_seconds: 3, queue_size: many}", `unknown key "wings"`, `unknown key "sending_queue::num_seconds"`, `sending_queue::queue_size is "many"`)
	f(endpoint+"batcher: {min_size: 10}", `unknown key "batcher": write it as sending_queue::batch`)
	f(endpoint+"token: secret", `unknown key "token": set auth::authenticator to an extension such as bearertokenauth, or write the header under headers`)
	f(endpoint+"resolver: {static: {hostnames: [a]}}", `unknown key "resolver": set endpoint to a name with several addresses, or endpoints to the list of backends, and routing_key to traceID or service`)
	f(endpoint+"headers: x", "headers is x: write one name and its value on each line below it")
	f(endpoint+"sending_queue: false", "sending_queue is false: write sending_queue::enabled: false")
	f(endpoint+"retry_on_failure: false", "retry_on_failure is false: write retry_on_failure::enabled: false")
	f(endpoint+"retry_on_failure: {enabled: false}\nstef: {retry_refused_credentials: true, retry_resource_exhausted: true}",
		"stef::retry_refused_credentials has no effect while retry_on_failure::enabled is false, so refused batches would be dropped: set enabled to true, or remove retry_refused_credentials",
		"stef::retry_resource_exhausted has no effect")
	_, err := load(t, endpoint+"retry_on_failure: {enabled: false}\nsending_queue: {enabled: false}\nstef: {retry_refused_credentials: true}")
	require.NoError(t, err)
	f(endpoint+"stef: zstd", "stef is zstd, but must be a section with one or more of the keys checksums, compression")
	f(endpoint+"otlp_fallback: {mode: never}", `unknown key "otlp_fallback::mode": write it as "stef::mode"`)

	// Mistakes in the settings of protocol and compression.
	f(endpoint+"protocol: grpc", `protocol is "grpc": set it to auto, stef or otlp`)
	f(endpoint+"compression: gzip", `compression is "gzip"`, "set compression to zstd or none", "set otlp_fallback::compression to gzip")
	f(endpoint+"compression: brotli", `compression is "brotli": set it to zstd or none`)
	f(endpoint+"compression: none\nstef: {compression: zstd}", "compression is set at both levels", "remove one")
	f(endpoint+"compression: zstd\nprotocol: otlp", "remove it, and set otlp_fallback::compression")
	f(endpoint+"compression: gzip\nwings: 2", `compression is "gzip": set it to zstd or none; for OTLP requests set otlp_fallback::compression`)
	f(endpoint+"stef: {compression: gzip}", `stef: compression is "gzip": set it to zstd or none`)
	f(endpoint+"stef: {checksums: true, compression: none}", "stef: checksums is true, but streams without compression", "set compression to zstd, or remove checksums")
	f(endpoint+"compression: none\nstef: {checksums: true}", "stef: checksums is true")
	f(endpoint+"stef: {checksums: often}", "stef::checksums is often: set it to true or false")
	f(endpoint+"stef: {optimize_for: speed}", `optimize_for is "speed": set it to cpu, balanced or bytes`)
	f(endpoint+"stef: {templates: yes}", `templates`)
	f(endpoint+"stef: {templates: never}", `templates is "never": set it to auto, on or off`)
	f(endpoint+"stef: {compression_level: 3}", "stef::compression_level is 3: set it to auto, fastest, default, better or best")
	f(endpoint+"protocol: 1", "protocol is 1: set it to auto, stef or otlp")
	f(endpoint+"stef: {compression_level: most}", `compression_level is "most": set it to auto, fastest, default, better or best`)
	f(endpoint+"otlp_fallback: {compression: lz4}", `otlp_fallback: compression is "lz4": set it to gzip, snappy, zstd or none`)
	f(endpoint+"protocol: stef\notlp_fallback: {endpoint: 'a:1'}", "otlp_fallback::endpoint has no effect with protocol stef")
	f(endpoint+"otlp_fallback: {endpoint: a}", `otlp_fallback: endpoint is "a": set it to host:port`)

	// Mistakes in the settings of sizes and times.
	f(endpoint+"stef: {num_streams: 0}", "stef: num_streams is 0: set it to a number from 1 to 256")
	f(endpoint+"stef: {num_streams: many}", `stef::num_streams is "many": set it to a whole number`)
	f(endpoint+"stef: {connections: 2}", "connections is 2", "raise num_streams or lower connections")
	f(endpoint+"stef: {max_frame_size_kib: 1048576}", "max_frame_size_kib is 1048576", "from 1 to 64512")
	f(endpoint+"stef: {max_message_size_kib: 1}", "max_message_size_kib is 1: set it to a number from 16")
	f(endpoint+"stef: {max_unacked_batches: 0}", "max_unacked_batches is 0")
	f(endpoint+"stef: {max_unacked_mib: -1}", "max_unacked_mib is -1")
	f(endpoint+"stef: {max_unacked_mib: 67108864}", "max_unacked_mib is 67108864: set it to a number from 1 to 65536; the unit is MiB")
	f(endpoint+"stef: {max_unacked_mib: 64MiB}", `stef::max_unacked_mib is "64MiB": set it to a whole number, such as 64`)
	f(endpoint+"stef: {max_dict_mib: 0}", "max_dict_mib is 0")
	f(endpoint+"stef: {idle_timeout: 10ms}", "idle_timeout is 10ms: set it to 0 for no limit, or to 1s or more")
	f(endpoint+"stef: {max_stream_lifetime: 10ms}", "max_stream_lifetime is 10ms: set it to 0 for no limit, or to 1s or more")
	f(endpoint+"stef: {flush_interval: 1m}", "flush_interval is 1m0s: set it to a duration from 0s to 10s")
	f(endpoint+"timeout: 5s\nstef: {flush_interval: 10s}", "stef::flush_interval is 10s and timeout is 5s", "at most half of timeout")
	f(endpoint+"timeout: 50ms", "stef::flush_interval is 50ms and timeout is 50ms", "or raise timeout")
	f(endpoint+"stef: {shutdown_drain_timeout: 0s}", "shutdown_drain_timeout is 0s")
	f(endpoint+"stef: {mode: fast}", `mode is "fast": set it to sorted or ordered`)
	f(endpoint+"stef: {mode: {logs: none}}", `mode of logs is "none"`)
	f(endpoint+"otlp_fallback: {max_concurrent_requests: 0}", "max_concurrent_requests is 0")
	f(endpoint+"otlp_fallback: {max_request_size_mib: 0}", "max_request_size_mib is 0")
	f(endpoint+"otlp_fallback: {probe_interval: 0s}", "probe_interval is 0s: set it to a duration from 1s")
	f(endpoint+"sending_queue: {queue_size: 0}", "queue_size", "must be positive")

	// Headers and metadata.
	for _, key := range []string{"connection", "Content-Type", "host", "te", "grpc-timeout"} {
		f(endpoint+"headers: {tenant: a, "+key+": secret}", fmt.Sprintf("headers: the header %q is not valid: gRPC reserves", key))
	}
	f(endpoint+"headers: {User-Agent: x}", `headers: gRPC sets the header "User-Agent": remove it, and set user_agent`)
	f(endpoint+"headers: {token: \"x\\n\"}", `headers: the value of the header "token" is not valid: use printable ASCII`)
	f(endpoint+"metadata_keys: [a, A]", `metadata_keys has "a" twice`)
	f(endpoint+"metadata_keys: [grpc-timeout]", "gRPC reserves")
	f(endpoint+"metadata_keys: [tenant, User-Agent]", `metadata_keys has "user-agent", which gRPC reserves: remove it`)
	f(endpoint+"metadata_keys: [a]\nmetadata_cardinality_limit: 0", "metadata_cardinality_limit is 0")
	f(endpoint+"metadata_keys: [tenant]\nsending_queue: {batch: {}}",
		`add "tenant" to sending_queue::batch::partition::metadata_keys`)
}

// TestConfigStorage makes mistakes in other keys of a configuration with a valid storage. The error
// names the mistake and does not mention the storage. The test also checks the errors for invalid
// storages.
func TestConfigStorage(t *testing.T) {
	const storage = "endpoint: localhost:4320\nsending_queue: {storage: file_storage"
	f := func(rest, want string) {
		t.Helper()
		_, err := load(t, storage+rest)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "storage")
	}
	f("}\nheaders: [a]", "headers is a list: write name: value pairs, such as {tenant: a}")
	f(", queue_size: many}", `sending_queue::queue_size is "many": set it to a whole number; sending_queue::sizer sets its unit: items, bytes or requests (the default with queue_size)`)
	f("}\nmetadata_cardinality_limit: many", `metadata_cardinality_limit is "many": set it to a whole number`)
	f("}\ntls: {insecure: yes please}", "tls::insecure is yes please: set it to true or false")
	f("}\nretry_on_failure: {enabled: maybe}", "retry_on_failure::enabled is maybe: set it to true or false")
	f(", batch: {send_batch_size: 3}}", `unknown key "sending_queue::batch::send_batch_size"`)
	f("}\nauth: {authenticator: bearertokenauth}\nmiddlewares: [{id: tap}]\nheaders: 5", "headers is 5")

	wrong := func(value, want string) {
		t.Helper()
		_, err := load(t, "endpoint: localhost:4320\nsending_queue: {storage: "+value+"}")
		require.ErrorContains(t, err, "sending_queue::storage "+want+": write the name of an extension, such as file_storage; set its directory under extensions")
	}
	wrong("true", "is true")
	wrong("/var/lib/otelcol", "is /var/lib/otelcol")
	wrong("{directory: /var/x}", "is a section")
}

func TestConfigPartition(t *testing.T) {
	_, err := load(t, `
endpoint: localhost:4320
metadata_keys: [Tenant]
sending_queue: {batch: {partition: {metadata_keys: [tenant]}}}`)
	require.NoError(t, err)
}
