// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/confignet"

	"github.com/otelstef/stef/internal/confkeys"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-gogrpc"
)

const mib = 1 << 20

// Config is the configuration of the receiver.
type Config struct {
	// ServerConfig configures the gRPC server: address, TLS, authentication,
	// keepalive, sizes, middlewares.
	ServerConfig configgrpc.ServerConfig `mapstructure:",squash"`

	// AckInterval is the minimum time between two acknowledgements of a stream while other
	// batches of the stream are being processed. 0 sends each acknowledgement immediately.
	AckInterval time.Duration `mapstructure:"ack_interval"`

	// ConsumersPerStream is how many batches of one stream the pipeline may
	// process at the same time.
	ConsumersPerStream int `mapstructure:"consumers_per_stream"`

	// MaxBatchItems is the maximum number of spans, points or log records in a
	// batch of a stream. A frame of a stream can contain many more, and components
	// after the pipeline may limit the size of messages. 0 makes one batch of each
	// frame, unless the size of the batch exceeds MaxBatchMiB.
	MaxBatchItems int `mapstructure:"max_batch_items"`

	// MaxBatchMiB is the maximum size of a batch of a stream as OTLP. A larger record, up
	// to 32 MiB, becomes a batch of its own.
	MaxBatchMiB int `mapstructure:"max_batch_mib"`

	// RetryAfter is how long clients are asked to wait when data is refused
	// temporarily. 0 lets them retry immediately.
	RetryAfter time.Duration `mapstructure:"retry_after"`

	// MaxStreamLifetime is the age at which streams are ended gracefully, so that
	// clients open new streams, possibly to other servers. 0 means never.
	MaxStreamLifetime time.Duration `mapstructure:"max_stream_lifetime"`

	// ShutdownTimeout is how long a shutdown waits until the pipeline has processed the
	// data that the receiver has already received.
	ShutdownTimeout time.Duration `mapstructure:"shutdown_timeout"`

	// Limits bound the resources that STEF streams may use.
	Limits LimitsConfig `mapstructure:"limits"`

	// Admission bounds the telemetry that is decoded and not yet accepted by the
	// pipeline.
	Admission AdmissionConfig `mapstructure:"admission"`

	// Timeouts bound how long clients of STEF streams may make the receiver wait.
	Timeouts TimeoutsConfig `mapstructure:"timeouts"`

	// OTLP configures plain OTLP over gRPC on the same port.
	OTLP OTLPConfig `mapstructure:"otlp"`

	_ struct{}
}

// LimitsConfig bounds the resources that STEF streams may use.
type LimitsConfig struct {
	// MaxChunkMiB bounds a chunk (a header or a frame) as it is sent.
	MaxChunkMiB int `mapstructure:"max_chunk_mib"`
	// MaxFrameMiB bounds a frame after decompression.
	MaxFrameMiB int `mapstructure:"max_frame_mib"`
	// MaxRecordAllocMiB bounds the memory that one record may allocate.
	MaxRecordAllocMiB int `mapstructure:"max_record_alloc_mib"`
	// MaxDictMiBPerStream is announced to clients. They reset their dictionaries at
	// this size.
	MaxDictMiBPerStream int `mapstructure:"max_dict_mib_per_stream"`
	// MaxStreams bounds the streams of all clients together. 0 sets no bound.
	MaxStreams int `mapstructure:"max_streams"`
	// StreamMemoryLimitMiB bounds the memory that all streams together hold between batches:
	// dictionaries, the buffers of the last frame, windows of zstd. The first 3 MiB of each
	// stream do not count. When the limit is exceeded, the stream with the most memory is ended
	// gracefully. Values below 2 * MaxChunkMiB + 4 are raised to this sum.
	StreamMemoryLimitMiB int `mapstructure:"stream_memory_limit_mib"`
	// WindowMemoryMiB is a bound for the memory of the zstd windows of all streams. If the
	// default windows would need more, the receiver asks clients of further streams for
	// smaller windows. 0 never asks.
	WindowMemoryMiB int `mapstructure:"window_memory_mib"`
	// MemoryLimitMiB bounds the bytes that were received on all streams and not
	// yet decoded.
	MemoryLimitMiB int `mapstructure:"memory_limit_mib"`

	_ struct{}
}

// AdmissionConfig bounds the telemetry that is decoded and not yet accepted by the
// pipeline, of all streams and requests together, in bytes of uncompressed OTLP.
type AdmissionConfig struct {
	// RequestLimitMiB bounds the admitted telemetry. 0 sets no bound.
	RequestLimitMiB int `mapstructure:"request_limit_mib"`
	// WaitingLimitMiB bounds the telemetry that waits for admission; data beyond this
	// limit is refused. 0 refuses instead of waiting.
	WaitingLimitMiB int `mapstructure:"waiting_limit_mib"`

	_ struct{}
}

// TimeoutsConfig bounds how long clients of STEF streams may make the receiver
// wait. The time in which the receiver itself is busy does not count. A timeout
// of 0 sets no bound.
type TimeoutsConfig struct {
	// FirstMessage is the time from opening a stream to naming its signal.
	FirstMessage time.Duration `mapstructure:"first_message"`
	// Header is the time from the first message to the end of the headers.
	Header time.Duration `mapstructure:"header"`
	// Chunk is the time from the first byte of a frame to its last byte.
	Chunk time.Duration `mapstructure:"chunk"`
	// Idle is the time without data after which a stream is ended gracefully, so that it
	// uses no memory. The client opens a new stream when it has data.
	Idle time.Duration `mapstructure:"idle"`

	_ struct{}
}

// Validate reports invalid timeouts.
func (c *TimeoutsConfig) Validate() error {
	return errors.Join(
		confkeys.DurationAtLeast("first_message", c.FirstMessage, 0, "0 means no bound, the default is 10s"),
		confkeys.DurationAtLeast("header", c.Header, 0, "0 means no bound, the default is 1m"),
		confkeys.DurationAtLeast("chunk", c.Chunk, 0, "0 means no bound, the default is 2m"),
		confkeys.DurationAtLeast("idle", c.Idle, 0, "0 means no bound, the default is 2m"),
	)
}

// receiving is the limit for the bytes of incomplete messages of all clients. It must be
// larger than the largest message: a smaller limit would close each connection that sends such
// a message.
func (c *Config) receiving() int64 {
	return max(int64(c.Limits.MemoryLimitMiB/2)*mib, c.maxMessage()+mib)
}

// streamMemory is the limit for the memory of all streams. It must be larger than what a new stream
// holds while it receives its first frame: with a smaller limit, each attempt to send this frame
// would end before the frame is complete.
func (c *Config) streamMemory() int64 {
	return max(int64(c.Limits.StreamMemoryLimitMiB)*mib, 2*int64(c.Limits.MaxChunkMiB)*mib+partialFrame)
}

// userTimeout returns how long a client may leave bytes unacknowledged: keepalive's timeout, which gRPC uses
// for this, too.
func (c *Config) userTimeout() time.Duration {
	if k := c.ServerConfig.Keepalive.Get(); k != nil {
		if p := k.ServerParameters.Get(); p != nil && p.Timeout != 0 {
			return p.Timeout
		}
	}
	return 20 * time.Second // gRPC's default
}

// maxMessage returns the size of the largest message after decompression. Without
// max_recv_msg_size_mib, the size is the default of gRPC.
func (c *Config) maxMessage() int64 {
	if n := c.ServerConfig.MaxRecvMsgSizeMiB; n > 0 {
		return int64(n) * mib
	}
	return 4 * mib
}

// OTLPConfig configures plain OTLP.
type OTLPConfig struct {
	// Enabled serves OTLP. It is on by default.
	Enabled bool `mapstructure:"enabled"`

	_ struct{}
}

func createDefaultConfig() component.Config {
	server := configgrpc.NewDefaultServerConfig()
	server.NetAddr.Endpoint = "localhost:4320"
	server.MaxRecvMsgSizeMiB = 64
	server.ReadBufferSize = 512 << 10
	// Close connections without streams: they use memory, and nothing else closes them.
	server.Keepalive.Get().ServerParameters.Get().MaxConnectionIdle = 5 * time.Minute
	// Clients send keepalives while their streams are idle. By default, gRPC treats an interval
	// below five minutes as an abuse.
	policy := server.Keepalive.Get().EnforcementPolicy.Get()
	policy.MinTime = 10 * time.Second
	policy.PermitWithoutStream = true
	return &Config{
		ServerConfig:       server,
		AckInterval:        10 * time.Millisecond,
		ConsumersPerStream: 4,
		MaxBatchItems:      8192,
		MaxBatchMiB:        8,
		RetryAfter:         5 * time.Second,
		ShutdownTimeout:    5 * time.Second,
		Limits: LimitsConfig{
			MaxChunkMiB:          16,
			MaxFrameMiB:          32,
			MaxRecordAllocMiB:    16,
			MaxDictMiBPerStream:  64,
			StreamMemoryLimitMiB: 512,
			WindowMemoryMiB:      stefgrpc.DefaultWindowMemoryBytes / mib,
			MemoryLimitMiB:       512,
		},
		Admission: AdmissionConfig{RequestLimitMiB: 128, WaitingLimitMiB: 32},
		Timeouts: TimeoutsConfig{
			FirstMessage: stefgrpc.DefaultFirstMessageTimeout,
			Header:       stefgrpc.DefaultHeaderTimeout,
			Chunk:        stefgrpc.DefaultChunkTimeout,
			Idle:         stefgrpc.DefaultIdleTimeout,
		},
		OTLP: OTLPConfig{Enabled: true},
	}
}

// Validate reports all errors in the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.ServerConfig.NetAddr.Endpoint == "" {
		errs = append(errs, errors.New(`endpoint is missing: set the address to listen on, such as "localhost:4320", or "0.0.0.0:4320" for all interfaces`))
	}
	errs = append(errs, confkeys.OneOf("transport", c.ServerConfig.NetAddr.Transport,
		confignet.TransportTypeTCP, confignet.TransportTypeTCP4, confignet.TransportTypeTCP6, confignet.TransportTypeUnix))
	if c.ServerConfig.NetAddr.Transport != confignet.TransportTypeUnix {
		errs = append(errs, address(c.ServerConfig.NetAddr.Endpoint))
	} else {
		errs = append(errs, socket(c.ServerConfig.NetAddr.Endpoint))
	}
	if auth := c.ServerConfig.Auth.Get(); auth != nil {
		errs = append(errs, confkeys.Authenticator(auth.AuthenticatorID.String()))
	}
	errs = append(errs,
		c.validateClientCA(),
		// The Collector's own check reports negative numbers.
		confkeys.Between("max_recv_msg_size_mib", max(0, c.ServerConfig.MaxRecvMsgSizeMiB), 0, maxMessageMiB, "0 means 4, as in gRPC; without the key it is 64"),
		confkeys.DurationAtLeast("ack_interval", c.AckInterval, 0, "0 acknowledges immediately, the default is 10ms"),
		confkeys.Between("consumers_per_stream", c.ConsumersPerStream, 1, maxConsumers, "1 passes batches to the pipeline one after another, the default is 4"),
		confkeys.AtLeast("max_batch_items", c.MaxBatchItems, 0, "0 makes a batch of each frame, the default is 8192"),
		confkeys.Between("max_batch_mib", c.MaxBatchMiB, 1, maxMiB, "the default is 8"),
		confkeys.DurationAtLeast("retry_after", c.RetryAfter, 0, "0 lets clients retry immediately, the default is 5s"),
		confkeys.ZeroOr("max_stream_lifetime", c.MaxStreamLifetime, shortestLifetime, "for no bound", "some minutes are better: each new stream sends its dictionaries again"),
		confkeys.DurationAtLeast("shutdown_timeout", c.ShutdownTimeout, time.Microsecond, "without time to wait, the pipeline could not process the data that was already received; the default is 5s"),
	)
	return errors.Join(errs...)
}

// Validate reports invalid limits.
func (c *LimitsConfig) Validate() error {
	const formatMiB = stef.MaxFrameBytes / mib
	errs := []error{
		confkeys.Between("max_chunk_mib", c.MaxChunkMiB, 1, maxMiB, "the default is 16"),
		confkeys.Between("max_frame_mib", c.MaxFrameMiB, 1, formatMiB, fmt.Sprintf("the format allows no frame above %d MiB, the default is 32", formatMiB)),
		confkeys.Between("max_record_alloc_mib", c.MaxRecordAllocMiB, 1, maxMiB, "the default is 16"),
		confkeys.Between("max_dict_mib_per_stream", c.MaxDictMiBPerStream, 1, maxMiB/4, "the default is 64; clients reset their dictionaries at this size"),
		confkeys.Between("stream_memory_limit_mib", c.StreamMemoryLimitMiB, 1, maxTotalMiB, "the default is 512"),
		confkeys.Between("window_memory_mib", c.WindowMemoryMiB, 0, maxTotalMiB, "0 lets clients use any window, the default is 64"),
		confkeys.AtLeast("max_streams", c.MaxStreams, 0, "0 means no bound"),
		confkeys.Between("memory_limit_mib", c.MemoryLimitMiB, 1, maxTotalMiB, "the default is 512"),
	}
	if c.MemoryLimitMiB > 0 && c.MemoryLimitMiB < c.MaxChunkMiB {
		errs = append(errs, fmt.Errorf("memory_limit_mib is %d and max_chunk_mib is %d: one chunk would not fit; raise memory_limit_mib or lower max_chunk_mib",
			c.MemoryLimitMiB, c.MaxChunkMiB))
	}
	return errors.Join(errs...)
}

// Validate reports an invalid admission.
func (c *AdmissionConfig) Validate() error {
	return errors.Join(
		confkeys.Between("request_limit_mib", c.RequestLimitMiB, 0, maxTotalMiB, "0 means no bound, the default is 128"),
		confkeys.Between("waiting_limit_mib", c.WaitingLimitMiB, 0, maxTotalMiB, "0 refuses instead of waiting, the default is 32"),
	)
}

// maxMiB bounds sizes that are stored in an int, so that a sum of several of them fits in
// an int, too.
const maxMiB = math.MaxInt32 / mib / 4

// These are the limits of plausible values: a larger value is probably in bytes.
const (
	maxTotalMiB   = min(1<<20, math.MaxInt/mib) // 1 TiB
	maxMessageMiB = min(4<<10, math.MaxInt/mib) // gRPC has no larger messages
)

// maxConsumers is far above the number of batches that pipelines process at the same time. A stream makes
// a channel of one more element, and the largest int would overflow.
const maxConsumers = 1 << 16

// shortestLifetime ensures that handshakes are only a small part of a stream's
// life.
const shortestLifetime = time.Second

// socket rejects host:port: it would be the name of a socket in the working directory.
func socket(endpoint string) error {
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil || strings.Contains(endpoint, "/") {
		return nil
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil
	}
	return fmt.Errorf("endpoint is %q, but transport is unix: set endpoint to the path of the socket, such as /run/stef.sock, or remove transport", endpoint)
}

// address rejects addresses on which a server cannot listen. Port 0 means any free port.
func address(endpoint string) error {
	if scheme, rest, ok := strings.Cut(endpoint, "://"); ok {
		return fmt.Errorf("endpoint is %q: write it without %s://, such as %q", endpoint, scheme, rest)
	}
	if _, _, err := net.SplitHostPort(endpoint); err != nil && endpoint != "" {
		return fmt.Errorf("endpoint is %q: set it to host:port, such as \"localhost:4320\", or \"0.0.0.0:4320\" for all interfaces", endpoint)
	}
	text := endpoint[strings.LastIndexByte(endpoint, ':')+1:]
	if port, err := strconv.ParseUint(text, 10, 64); err == nil && port > 65535 {
		return fmt.Errorf("endpoint is %q: set the port to a number up to 65535, such as 4320", endpoint)
	}
	return nil
}
