// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// load makes a configuration as the Collector does.
func load(conf *confmap.Conf) (*Config, error) {
	config := createDefaultConfig().(*Config)
	if err := conf.Unmarshal(config); err != nil {
		return nil, err
	}
	return config, confmap.Validate(config)
}

func loadFile(t *testing.T, name string) *Config {
	t.Helper()
	all, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	conf, err := all.Sub(name)
	require.NoError(t, err)
	config, err := load(conf)
	require.NoError(t, err)
	return config
}

func TestConfigAll(t *testing.T) {
	c := loadFile(t, "stef/all")
	require.Equal(t, "0.0.0.0:5320", c.ServerConfig.NetAddr.Endpoint)
	require.Equal(t, 32, c.ServerConfig.MaxRecvMsgSizeMiB)
	require.EqualValues(t, 100, c.ServerConfig.MaxConcurrentStreams)
	require.Equal(t, 1024, c.ServerConfig.ReadBufferSize)
	require.Equal(t, 2048, c.ServerConfig.WriteBufferSize)
	require.True(t, c.ServerConfig.IncludeMetadata)
	keepalive := c.ServerConfig.Keepalive.Get()
	require.Equal(t, time.Minute, keepalive.ServerParameters.Get().MaxConnectionAge)
	require.Equal(t, 5*time.Second, keepalive.EnforcementPolicy.Get().MinTime)
	require.True(t, keepalive.EnforcementPolicy.Get().PermitWithoutStream, "what is not named keeps its default")

	require.Equal(t, 20*time.Millisecond, c.AckInterval)
	require.Equal(t, 2, c.ConsumersPerStream)
	require.Equal(t, 1000, c.MaxBatchItems)
	require.Equal(t, 4, c.MaxBatchMiB)
	require.Equal(t, time.Second, c.RetryAfter)
	require.Equal(t, 3*time.Minute, c.MaxStreamLifetime)
	require.Equal(t, 7*time.Second, c.ShutdownTimeout)
	require.Equal(t, LimitsConfig{
		MaxChunkMiB: 8, MaxFrameMiB: 24, MaxRecordAllocMiB: 4, MaxDictMiBPerStream: 16, MaxStreams: 1000,
		StreamMemoryLimitMiB: 128, WindowMemoryMiB: 16, MemoryLimitMiB: 256,
	}, c.Limits)
	require.Equal(t, AdmissionConfig{RequestLimitMiB: 64, WaitingLimitMiB: 8}, c.Admission)
	require.Equal(t, TimeoutsConfig{
		FirstMessage: time.Second, Header: 2 * time.Second, Chunk: 3 * time.Second, Idle: 4 * time.Second,
	}, c.Timeouts)
	require.False(t, c.OTLP.Enabled)
}

func TestConfigDefault(t *testing.T) {
	c := loadFile(t, "stef/default")
	require.Equal(t, createDefaultConfig(), c)
	require.Equal(t, "localhost:4320", c.ServerConfig.NetAddr.Endpoint)
	require.Equal(t, 64, c.ServerConfig.MaxRecvMsgSizeMiB)
	require.Equal(t, 512<<10, c.ServerConfig.ReadBufferSize)
	policy := c.ServerConfig.Keepalive.Get().EnforcementPolicy.Get()
	require.Equal(t, 10*time.Second, policy.MinTime)
	require.True(t, policy.PermitWithoutStream)
	require.True(t, c.OTLP.Enabled)
	require.NoError(t, componenttest.CheckConfigStruct(c))
}

func TestConfigOfContrib(t *testing.T) {
	c := loadFile(t, "stef/contrib")
	require.Equal(t, "localhost:4321", c.ServerConfig.NetAddr.Endpoint)
	require.Equal(t, 50*time.Millisecond, c.AckInterval)
	require.Equal(t, "server.crt", c.ServerConfig.TLS.Get().CertFile)
	require.Equal(t, 11*time.Second, c.ServerConfig.Keepalive.Get().ServerParameters.Get().MaxConnectionIdle)
	require.True(t, c.ServerConfig.Auth.HasValue())
}

// The configuration that print-config shows says whether OTLP is served, and can be read again.
func TestConfigOTLP(t *testing.T) {
	f := func(yaml map[string]any, want bool) {
		t.Helper()
		c, err := load(confmap.NewFromStringMap(yaml))
		require.NoError(t, err)
		require.Equal(t, want, c.OTLP.Enabled)
		printed := confmap.New()
		require.NoError(t, printed.Marshal(c))
		require.Equal(t, map[string]any{"enabled": want}, printed.Get("otlp"))
		again, err := load(printed)
		require.NoError(t, err)
		require.Equal(t, c, again)
	}
	f(map[string]any{}, true)
	f(map[string]any{"otlp": nil}, true)
	f(map[string]any{"otlp": map[string]any{}}, true)
	f(map[string]any{"otlp": map[string]any{"enabled": true}}, true)
	f(map[string]any{"otlp": map[string]any{"enabled": false}}, false)
}

func TestConfigZero(t *testing.T) {
	c := loadFile(t, "stef/zero")
	require.Zero(t, c.AckInterval)
	require.Zero(t, c.Admission)
}

// TestConfigMistakes checks that every error names the key, what is wrong, and what to do.
func TestConfigMistakes(t *testing.T) {
	f := func(value any, path string, wants ...string) {
		t.Helper()
		conf := confmap.New()
		tree := map[string]any{}
		at := tree
		keys := strings.Split(path, "::")
		for _, key := range keys[:len(keys)-1] {
			inner := map[string]any{}
			at[key] = inner
			at = inner
		}
		at[keys[len(keys)-1]] = value
		require.NoError(t, conf.Merge(confmap.NewFromStringMap(tree)))
		_, err := load(conf)
		require.Error(t, err, path)
		for _, want := range append(wants, keys...) {
			require.Contains(t, err.Error(), want)
		}
	}
	f(nil, "timeouts::idle", "has no value: set it, or remove it to use the default")
	f(nil, "limits::max_streams", "has no value: set it, or remove it to use the default")
	f("", "endpoint", "is missing", `such as "localhost:4320"`)
	f(nil, "endpoint", "is missing")
	f("64MiB", "max_recv_msg_size_mib", `is "64MiB": set it to a whole number, such as 64`)
	f(-1, "max_recv_msg_size_mib", "between 1 and")
	f(map[string]any{}, "auth", "auth has no authenticator")
	f(15, "retry_after", "retry_after is 15 without a unit: write 15s or 15ms")
	f("localhost:99999", "endpoint", "set the port to a number up to 65535")
	f("localhost", "endpoint", `endpoint is "localhost": set it to host:port, such as "localhost:4320"`)
	f("http://localhost:4320", "endpoint", `write it without http://, such as "localhost:4320"`)
	f("quic", "transport", `unsupported transport type "quic"`)
	f("udp", "transport", `transport is "udp": set it to tcp, tcp4, tcp6 or unix`)
	f("soon", "ack_interval", `ack_interval is "soon": write numbers with units`)
	f(60, "keepalive::server_parameters::max_connection_age", "keepalive::server_parameters::max_connection_age is 60 without a unit: write 60s or")
	f("a.crt", "tls::cert", `unknown key "tls::cert": did you mean "tls::cert_file" or "tls::cert_pem"?`)
	f("ca.crt", "tls::client_ca", `unknown key "tls::client_ca": did you mean "tls::client_ca_file"?`)
	f("30s", "keepalive::max_connection_age", `unknown key "keepalive::max_connection_age": write it as "keepalive::server_parameters::max_connection_age"`)
	f("30s", "max_connection_age", `write it as "keepalive::server_parameters::max_connection_age"`)
	f("a.crt", "tls::cert_file", "tls::key_file is missing: set it to the key of the certificate in cert_file")
	f(map[string]any{"min_version": "1.2"}, "tls", "tls::cert_file and tls::key_file are missing: set both, or remove tls to listen without TLS")
	f("ca.crt", "tls::ca_file", "have no effect in a receiver: set tls::client_ca_file to verify client certificates")
	f(false, "otlp", "otlp is false: write otlp::enabled: false")
	f("0.0.0.0:4317", "otlp::endpoint", "OTLP is served at the address of endpoint at the top level")
	f("-1s", "ack_interval", "is -1s", "set it to 0s or more", "10ms")
	f("-1s", "retry_after", "set it to 0s or more")
	f("0s", "shutdown_timeout", "set it to 1µs or more", "5s")
	f("10ms", "max_stream_lifetime", "set it to 0 for no bound, or to 1s or more; some minutes are better")
	f("-1h", "max_stream_lifetime", "set it to 0")
	f(0, "consumers_per_stream", "set it to a number from 1 to 65536; 1 passes batches")
	f(math.MaxInt, "consumers_per_stream", "set it to a number from 1 to 65536") // each stream made the receiver panic
	f(-1, "max_batch_items", "set it to 0 or more")
	f(0, "limits::max_chunk_mib", "set it to a number from 1 to")
	f(65, "limits::max_frame_mib", "set it to a number from 1 to 64", "the format allows no frame above 64")
	f(-3, "limits::max_record_alloc_mib", "is -3", "set it to a number from 1 to")
	f(0, "limits::max_dict_mib_per_stream", "set it to a number from 1 to")
	f(-1, "limits::max_streams", "set it to 0 or more")
	f(15, "limits::memory_limit_mib", "one chunk would not fit", "max_chunk_mib is 16", "raise memory_limit_mib or lower max_chunk_mib")
	f(-1, "admission::request_limit_mib", "request_limit_mib is -1: set it to a number from 0 to", "0 means no bound, the default is 128")
	f(-1, "admission::waiting_limit_mib", "waiting_limit_mib is -1: set it to a number from 0 to")
	f(true, "tls::insecure", `unknown key "tls::insecure": to listen without TLS, remove tls`)
	f("zstd", "compression", `unknown key "compression": remove it, the sender chooses the compression`)
	f("5s", "timeout", `unknown key "timeout": did you mean "timeouts"?`)
	f(1, "limits::max_chunk_size_mib", `did you mean "limits::max_chunk_mib"?`)
	f(map[string]any{"grpc": nil}, "protocols", "write the keys of protocols::grpc", "at the top level")
}

// TestConfigBytes checks that sizes in bytes instead of MiB are errors. The largest sizes are
// valid, and their sums fit in an int.
func TestConfigBytes(t *testing.T) {
	largest := map[string]int{
		"max_recv_msg_size_mib": maxMessageMiB, "max_batch_mib": maxMiB,
		"limits::max_chunk_mib": maxMiB, "limits::max_frame_mib": 64, "limits::max_record_alloc_mib": maxMiB, "limits::max_dict_mib_per_stream": maxMiB / 4,
		"limits::memory_limit_mib": maxTotalMiB, "limits::stream_memory_limit_mib": maxTotalMiB, "limits::window_memory_mib": maxTotalMiB,
		"admission::request_limit_mib": maxTotalMiB, "admission::waiting_limit_mib": maxTotalMiB,
	}
	all := map[string]any{}
	for key, most := range largest {
		all[key] = most
		for _, value := range []int{most + 1, 8 << 20, 512 << 20} {
			_, err := load(confmap.NewFromStringMap(map[string]any{key: value}))
			require.ErrorContains(t, err, fmt.Sprintf(" is %d: set it to a number from ", value), key)
			require.ErrorContains(t, err, fmt.Sprintf(" to %d; the unit is MiB; ", most), key)
		}
	}
	c, err := load(confmap.NewFromStringMap(all))
	require.NoError(t, err)
	keys(reflect.TypeFor[Config](), "", func(path string, _ reflect.StructField) {
		if strings.Contains(path, "_mib") {
			require.Contains(t, largest, path)
		}
	})
	require.Positive(t, c.receiving())
	require.Positive(t, (int64(c.Admission.RequestLimitMiB)+int64(c.Admission.WaitingLimitMiB))*mib)
	require.Positive(t, c.Limits.MemoryLimitMiB*mib)
	require.Positive(t, c.Limits.WindowMemoryMiB*mib)
}

// TestSocketNames checks that host:port is rejected as the name of a socket.
func TestSocketNames(t *testing.T) {
	require.ErrorContains(t, socket("localhost:80"),
		`endpoint is "localhost:80", but transport is unix: set endpoint to the path of the socket, such as /run/stef.sock, or remove transport`)
	for _, path := range []string{"/run/stef.sock", "stef.sock", "./localhost:80", "@stef", "a:b"} {
		require.NoError(t, socket(path))
	}
	c := createDefaultConfig().(*Config)
	c.ServerConfig.NetAddr.Endpoint, c.ServerConfig.NetAddr.Transport = "localhost:80", "unix"
	require.ErrorContains(t, c.Validate(), "but transport is unix")
}

func TestConfigMistakesTogether(t *testing.T) {
	c := createDefaultConfig().(*Config)
	c.ConsumersPerStream, c.ShutdownTimeout, c.Limits.MaxFrameMiB = 0, 0, 0
	err := confmap.Validate(c)
	require.ErrorContains(t, err, "consumers_per_stream")
	require.ErrorContains(t, err, "shutdown_timeout")
	require.ErrorContains(t, err, "limits: max_frame_mib")
}

// TestStartMistakes checks the errors for mistakes that are found only at the start.
func TestStartMistakes(t *testing.T) {
	f := func(change func(*Config), wants ...string) {
		t.Helper()
		ctx, config := context.Background(), testConfig(change)
		part, err := NewFactory().CreateMetrics(ctx, receivertest.NewNopSettings(metadata.Type), config, consumertest.NewNop())
		require.NoError(t, err)
		err = part.Start(ctx, componenttest.NewNopHost())
		require.NoError(t, part.Shutdown(ctx))
		for _, want := range wants {
			require.ErrorContains(t, err, want)
		}
	}
	taken, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer taken.Close()
	f(func(c *Config) { c.ServerConfig.NetAddr.Endpoint = taken.Addr().String() },
		"cannot listen", taken.Addr().String(), "set endpoint to", "a port that is free")
	f(func(c *Config) {
		c.ServerConfig.Auth = configoptional.Some(configauth.Config{AuthenticatorID: component.MustNewID("nobody")})
	}, "authenticator not found; define this extension under extensions, and list it in service::extensions")
	f(func(c *Config) { c.ServerConfig.NetAddr.Endpoint = "localhost" }, `cannot listen on "localhost"`, "missing port", "localhost:4320")
	f(func(c *Config) { c.ServerConfig.TLS.GetOrInsertDefault().CertFile = "nowhere.crt" },
		"cannot create the gRPC server", "provide both certificate and key")
	f(func(c *Config) {
		c.ServerConfig.TLS.GetOrInsertDefault().CertFile = "nowhere.crt"
		c.ServerConfig.TLS.Get().KeyFile = "nowhere.key"
	}, "nowhere.crt")
}
