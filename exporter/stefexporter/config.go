// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelstef/stef/internal/streamconf"
	stef "github.com/otelstef/stef/stef-go"
)

// Config is the configuration of the exporter. README.md lists every key with its
// default.
type Config struct {
	// ClientConfig configures the connection. Its compression applies to the
	// streams: zstd or none.
	ClientConfig configgrpc.ClientConfig `mapstructure:",squash"`
	// TimeoutConfig bounds an attempt to send a batch, including the wait for its
	// acknowledgement.
	TimeoutConfig exporterhelper.TimeoutConfig                             `mapstructure:",squash"`
	RetryConfig   configretry.BackOffConfig                                `mapstructure:"retry_on_failure"`
	QueueConfig   configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`

	Protocol Protocol   `mapstructure:"protocol"`
	Stef     StefConfig `mapstructure:"stef"`
	Fallback OTLPConfig `mapstructure:"otlp_fallback"`

	// RoutingKey chooses which items always reach the same backend: the spans of a trace
	// (traceID) or the telemetry of a service (service). If RoutingKey is empty, there is
	// only one backend.
	RoutingKey RoutingKey `mapstructure:"routing_key"`
	// Endpoints lists the backends. Use it instead of the endpoint if no single name
	// resolves to all backends.
	Endpoints []string `mapstructure:"endpoints"`
	// ResolveInterval is how often the addresses of the endpoint are looked up.
	ResolveInterval time.Duration `mapstructure:"resolve_interval"`

	// MetadataKeys are the keys of client metadata that are sent as headers. Each
	// combination of their values has its own streams.
	MetadataKeys []string `mapstructure:"metadata_keys"`
	// MetadataCardinalityLimit is the maximum number of combinations of metadata values.
	MetadataCardinalityLimit uint32 `mapstructure:"metadata_cardinality_limit"`

	// sizerUnset reports that the configuration has a queue_size without a sizer.
	sizerUnset bool

	_ struct{}
}

// Protocol is the protocol that the exporter uses.
type Protocol string

// The protocols.
const (
	// ProtocolAuto uses STEF, or OTLP if the peer has no STEF.
	ProtocolAuto Protocol = "auto"
	// ProtocolSTEF uses only STEF.
	ProtocolSTEF Protocol = "stef"
	// ProtocolOTLP uses only OTLP.
	ProtocolOTLP Protocol = "otlp"
)

// RoutingKey chooses which items are always sent to the same backend.
type RoutingKey string

// The routing keys.
const (
	// RoutingTraceID uses the trace id of spans, and the service of metrics and logs.
	RoutingTraceID RoutingKey = "traceID"
	// RoutingService uses the attribute service.name of the resource.
	RoutingService RoutingKey = "service"
)

// StefConfig is the configuration of streams.
type StefConfig struct {
	// NumStreams is the number of streams of a signal for each combination of metadata values.
	NumStreams int `mapstructure:"num_streams"`
	// Connections is the number of connections over which the streams of a signal are
	// distributed.
	Connections int `mapstructure:"connections"`
	// Compression is zstd or none. If the key is not set, the compression of the top
	// level applies; if neither is set, zstd applies.
	Compression configcompression.Type `mapstructure:"compression"`
	// CompressionLevel is auto, fastest, default, better or best. In the compact form,
	// auto is fastest for traces and logs; for metrics it is fastest until a frame is large,
	// then default. In other forms, auto is default.
	CompressionLevel string `mapstructure:"compression_level"`
	// Checksums appends a checksum to the zstd data of each frame. Receivers verify the
	// checksum.
	Checksums bool `mapstructure:"checksums"`
	// OptimizeFor sets the defaults of CompressionLevel and Templates when a
	// configuration is read. After that, only CompressionLevel and Templates count.
	OptimizeFor Optimization `mapstructure:"optimize_for"`
	// Templates decides whether text bodies of logs are split into templates and
	// parameters.
	Templates Templates `mapstructure:"templates"`
	// Schema is compact, full or reference: the newest schema to write. A peer
	// with an older schema receives streams in its own schema.
	Schema Schema `mapstructure:"schema"`
	// Mode is the order in which items are written.
	Mode ModeConfig `mapstructure:"mode"`
	// MaxStreamLifetime is the age at which a stream is replaced. 0 means never.
	MaxStreamLifetime time.Duration `mapstructure:"max_stream_lifetime"`
	// IdleTimeout is how long a stream stays open while nothing is sent. 0 means no
	// limit.
	IdleTimeout time.Duration `mapstructure:"idle_timeout"`
	// FlushInterval is the longest time that a batch waits for other batches to share its
	// frame.
	FlushInterval time.Duration `mapstructure:"flush_interval"`
	// MaxFrameSizeKiB is the uncompressed size at which a frame is sent.
	MaxFrameSizeKiB int `mapstructure:"max_frame_size_kib"`
	// MaxMessageSizeKiB is the maximum size of a gRPC message. Larger frames are split into
	// several messages.
	MaxMessageSizeKiB int `mapstructure:"max_message_size_kib"`
	// MaxUnackedBatches and MaxUnackedMiB bound the unacknowledged data of a
	// stream.
	MaxUnackedBatches int `mapstructure:"max_unacked_batches"`
	MaxUnackedMiB     int `mapstructure:"max_unacked_mib"`
	// MaxDictMiB bounds the dictionaries of a stream. The peer may request less.
	MaxDictMiB int `mapstructure:"max_dict_mib"`
	// ShutdownDrainTimeout bounds the time of Shutdown for all signals together, with either
	// protocol.
	ShutdownDrainTimeout time.Duration `mapstructure:"shutdown_drain_timeout"`
	// RetryResourceExhausted retries RESOURCE_EXHAUSTED even without RetryInfo,
	// with either protocol.
	RetryResourceExhausted bool `mapstructure:"retry_resource_exhausted"`
	// RetryRefusedCredentials retries UNAUTHENTICATED and PERMISSION_DENIED, with
	// either protocol, as long as retry_on_failure allows.
	RetryRefusedCredentials bool `mapstructure:"retry_refused_credentials"`

	_ struct{}
}

// ModeConfig contains the order of items of each signal: sorted or ordered.
type ModeConfig = streamconf.ModeConfig

// Mode is the order in which items are written.
type Mode = streamconf.Mode

// The modes.
const (
	// ModeSorted reorders items so that streams are small.
	ModeSorted = streamconf.Sorted
	// ModeOrdered keeps the order of items.
	ModeOrdered = streamconf.Ordered
)

// Templates decides whether text bodies of logs are split into templates and
// parameters.
type Templates = streamconf.Templates

// The choices.
const (
	// TemplatesAuto splits text bodies in compressed streams.
	TemplatesAuto = streamconf.TemplatesAuto
	// TemplatesOn splits text bodies in every stream.
	TemplatesOn = streamconf.TemplatesOn
	// TemplatesOff never splits text bodies.
	TemplatesOff = streamconf.TemplatesOff
)

// Schema is the newest schema that the exporter writes.
type Schema = streamconf.Schema

// The schemas.
const (
	// SchemaCompact is the full schema with the fields of the compact form, which hold times,
	// values and ids as differences (see package otelstef).
	SchemaCompact = streamconf.Compact
	// SchemaFull is the full schema, which carries everything that OTLP can express.
	SchemaFull = streamconf.Full
	// SchemaReference is the schema of the reference implementation.
	SchemaReference = streamconf.Reference
)

// OTLPConfig is the configuration of OTLP requests.
type OTLPConfig struct {
	// Endpoint is the address for requests if it differs from the address for
	// streams.
	Endpoint string `mapstructure:"endpoint"`
	// Compression is gzip, snappy, zstd or none. It applies to the gRPC messages.
	Compression configcompression.Type `mapstructure:"compression"`
	// MaxConcurrentRequests bounds the concurrent requests of a signal, for each
	// combination of MetadataKeys and each backend of RoutingKey.
	MaxConcurrentRequests int `mapstructure:"max_concurrent_requests"`
	// MaxRequestSizeMiB is the maximum size of a request before compression.
	MaxRequestSizeMiB int `mapstructure:"max_request_size_mib"`
	// ProbeInterval is how often STEF is tried again with a peer that had no STEF.
	ProbeInterval time.Duration `mapstructure:"probe_interval"`
	// WaitForPending makes Shutdown wait for the answers to pending requests.
	WaitForPending bool `mapstructure:"wait_for_pending"`

	_ struct{}
}

const (
	defaultTimeout       = 15 * time.Second
	defaultKeepalive     = 30 * time.Second
	defaultQueueItems    = 100_000
	consumersPerStream   = 16
	writeBufferSize      = 512 << 10
	defaultCardinality   = 1000
	defaultStreams       = 1
	defaultFlushInterval = 50 * time.Millisecond
	defaultResolve       = 5 * time.Second
)

func createDefaultConfig() component.Config {
	grpc := configgrpc.NewDefaultClientConfig()
	keepalive := configgrpc.NewDefaultKeepaliveClientConfig()
	keepalive.Time = defaultKeepalive
	grpc.Keepalive = configoptional.Some(keepalive)
	grpc.WriteBufferSize = writeBufferSize

	timeout := exporterhelper.NewDefaultTimeoutConfig()
	timeout.Timeout = defaultTimeout

	queue := exporterhelper.NewDefaultQueueConfig()
	queue.Sizer = exporterhelper.RequestSizerTypeItems
	queue.QueueSize = defaultQueueItems
	queue.BlockOnOverflow = true
	queue.NumConsumers = consumersPerStream * defaultStreams

	return &Config{
		ClientConfig:             grpc,
		TimeoutConfig:            timeout,
		RetryConfig:              configretry.NewDefaultBackOffConfig(),
		QueueConfig:              configoptional.Some(queue),
		Protocol:                 ProtocolAuto,
		Stef:                     defaultStefConfig(),
		Fallback:                 defaultOTLPConfig(),
		ResolveInterval:          defaultResolve,
		MetadataCardinalityLimit: defaultCardinality,
	}
}

func defaultStefConfig() StefConfig {
	return StefConfig{
		NumStreams:           defaultStreams,
		Connections:          1,
		Compression:          compressionZstd,
		CompressionLevel:     levelAuto,
		OptimizeFor:          OptimizeBalanced,
		Templates:            TemplatesAuto,
		Schema:               SchemaCompact,
		Mode:                 ModeConfig{Traces: ModeSorted, Metrics: ModeSorted, Logs: ModeOrdered},
		MaxStreamLifetime:    5 * time.Minute,
		IdleTimeout:          2 * time.Minute,
		FlushInterval:        defaultFlushInterval,
		MaxFrameSizeKiB:      1024,
		MaxMessageSizeKiB:    3072,
		MaxUnackedBatches:    128,
		MaxUnackedMiB:        64,
		MaxDictMiB:           64,
		ShutdownDrainTimeout: 5 * time.Second,
	}
}

func defaultOTLPConfig() OTLPConfig {
	return OTLPConfig{
		Compression:           configcompression.TypeGzip,
		MaxConcurrentRequests: consumersPerStream,
		MaxRequestSizeMiB:     64,
		ProbeInterval:         5 * time.Minute,
		WaitForPending:        true,
	}
}

// streamCompression returns the compression of frames.
func (c *Config) streamCompression() stef.Compression {
	if c.Stef.Compression == compressionNone {
		return stef.None
	}
	return stef.Zstd
}
