// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-gogrpc"
)

const mib = 1 << 20

// Config is the configuration of the receiver.
type Config struct {
	// ServerConfig is the gRPC server: address, TLS, authentication, keepalive,
	// sizes, middlewares.
	ServerConfig configgrpc.ServerConfig `mapstructure:",squash"`

	// AckInterval is the least time between two acknowledgements of a stream. 0
	// sends each at once.
	AckInterval time.Duration `mapstructure:"ack_interval"`

	// ConsumersPerStream is how many batches of one stream the pipeline may have
	// at a time.
	ConsumersPerStream int `mapstructure:"consumers_per_stream"`

	// MaxBatchItems is how many spans, points or log records a batch of a stream
	// has at most. A frame of a stream can hold many times more, and the pipeline
	// is likely to lead to something that takes no messages of any size. 0 makes a
	// batch of each frame.
	MaxBatchItems int `mapstructure:"max_batch_items"`

	// MaxBatchMiB is how large a batch of a stream is at most as OTLP. A record that
	// is larger is a batch of its own.
	MaxBatchMiB int `mapstructure:"max_batch_mib"`

	// RetryAfter is how long clients are asked to wait when data is refused for
	// the moment. 0 lets them come back at once.
	RetryAfter time.Duration `mapstructure:"retry_after"`

	// MaxStreamLifetime ends streams in order when they are that old, so that
	// clients open new ones, perhaps to other servers. 0 is never.
	MaxStreamLifetime time.Duration `mapstructure:"max_stream_lifetime"`

	// ShutdownTimeout is how long a shutdown waits for data that is in the
	// receiver.
	ShutdownTimeout time.Duration `mapstructure:"shutdown_timeout"`

	// Limits bound what STEF streams may demand.
	Limits LimitsConfig `mapstructure:"limits"`

	// Admission bounds the telemetry that is decoded and not yet taken over by
	// the pipeline.
	Admission AdmissionConfig `mapstructure:"admission"`

	// Timeouts bound how long clients of STEF streams may make the receiver wait.
	Timeouts TimeoutsConfig `mapstructure:"timeouts"`

	// OTLP serves plain OTLP over gRPC on the same port. It is on by default.
	OTLP configoptional.Optional[OTLPConfig] `mapstructure:"otlp"`

	_ struct{}
}

// LimitsConfig bounds what STEF streams may demand.
type LimitsConfig struct {
	// MaxChunkMiB bounds a chunk, a header or a frame, as it is sent.
	MaxChunkMiB int `mapstructure:"max_chunk_mib"`
	// MaxFrameMiB bounds a frame after decompression.
	MaxFrameMiB int `mapstructure:"max_frame_mib"`
	// MaxRecordAllocMiB bounds the memory that one record may newly take.
	MaxRecordAllocMiB int `mapstructure:"max_record_alloc_mib"`
	// MaxDictMiBPerStream is told to clients, which begin their dictionaries
	// anew when they reach it.
	MaxDictMiBPerStream int `mapstructure:"max_dict_mib_per_stream"`
	// MaxStreams bounds the streams of all clients together. 0 is no bound.
	MaxStreams int `mapstructure:"max_streams"`
	// StreamMemoryLimitMiB bounds the memory that all streams hold between batches,
	// beyond 3 MiB of each: dictionaries, the buffers of the last frame, windows of
	// zstd. When it is exceeded, the stream that holds most is ended in order.
	StreamMemoryLimitMiB int `mapstructure:"stream_memory_limit_mib"`
	// MemoryLimitMiB bounds the bytes that were received on all streams and not
	// yet decoded.
	MemoryLimitMiB int `mapstructure:"memory_limit_mib"`

	_ struct{}
}

// AdmissionConfig bounds the telemetry that is decoded and not yet taken over
// by the pipeline, of all streams and requests together, in bytes of
// uncompressed OTLP.
type AdmissionConfig struct {
	// RequestLimitMiB bounds what is admitted. 0 is no bound.
	RequestLimitMiB int `mapstructure:"request_limit_mib"`
	// WaitingLimitMiB bounds what waits to be admitted; beyond it, data is
	// refused. 0 refuses instead of waiting.
	WaitingLimitMiB int `mapstructure:"waiting_limit_mib"`

	_ struct{}
}

// TimeoutsConfig bounds how long clients of STEF streams may make the receiver
// wait. Time in which the receiver itself is busy does not count. 0 is no bound.
type TimeoutsConfig struct {
	// FirstMessage is the time from opening a stream to naming its signal.
	FirstMessage time.Duration `mapstructure:"first_message"`
	// Header is the time from there to the end of the headers.
	Header time.Duration `mapstructure:"header"`
	// Chunk is the time from the first byte of a frame to its last.
	Chunk time.Duration `mapstructure:"chunk"`
	// Idle is the time without data after which a stream is ended in order, so that
	// it holds no memory. Its client opens a new one when it has data.
	Idle time.Duration `mapstructure:"idle"`

	_ struct{}
}

// Validate says what is wrong with the timeouts.
func (c *TimeoutsConfig) Validate() error {
	return errors.Join(
		duration("first_message", c.FirstMessage, 0, "0 is no bound, the default is 10s"),
		duration("header", c.Header, 0, "0 is no bound, the default is 1m"),
		duration("chunk", c.Chunk, 0, "0 is no bound, the default is 2m"),
		duration("idle", c.Idle, 0, "0 is no bound, the default is 10m"),
	)
}

// OTLPConfig is the configuration of plain OTLP. It has no options of its own.
type OTLPConfig struct {
	_ struct{}
}

func createDefaultConfig() component.Config {
	server := configgrpc.NewDefaultServerConfig()
	server.NetAddr.Endpoint = "localhost:4320"
	server.MaxRecvMsgSizeMiB = 64
	server.ReadBufferSize = 512 << 10
	// Clients of streams that are idle for long send keepalives, and gRPC's own
	// default calls an interval below five minutes an abuse.
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
			MemoryLimitMiB:       512,
		},
		Admission: AdmissionConfig{RequestLimitMiB: 128, WaitingLimitMiB: 32},
		Timeouts: TimeoutsConfig{
			FirstMessage: stefgrpc.DefaultFirstMessageTimeout,
			Header:       stefgrpc.DefaultHeaderTimeout,
			Chunk:        stefgrpc.DefaultChunkTimeout,
			Idle:         stefgrpc.DefaultIdleTimeout,
		},
		OTLP: configoptional.Some(OTLPConfig{}),
	}
}

// Validate says what is wrong with the configuration, all of it.
func (c *Config) Validate() error {
	var errs []error
	if c.ServerConfig.NetAddr.Endpoint == "" {
		errs = append(errs, errors.New(`endpoint is missing: set the address to listen on, such as "localhost:4320", or "0.0.0.0:4320" for all interfaces`))
	}
	errs = append(errs, port(c.ServerConfig.NetAddr.Endpoint))
	errs = append(errs,
		duration("ack_interval", c.AckInterval, 0, "0 acknowledges at once, the default is 10ms"),
		atLeast("consumers_per_stream", c.ConsumersPerStream, 1, "1 hands batches on one after another, the default is 4"),
		atLeast("max_batch_items", c.MaxBatchItems, 0, "0 makes a batch of each frame, the default is 8192"),
		between("max_batch_mib", c.MaxBatchMiB, 1, maxMiB, "the default is 8"),
		duration("retry_after", c.RetryAfter, 0, "0 lets clients come back at once, the default is 5s"),
		lifetime(c.MaxStreamLifetime),
		duration("shutdown_timeout", c.ShutdownTimeout, time.Nanosecond, "without time to wait, data that is in the receiver would be cut off; the default is 5s"),
	)
	return errors.Join(errs...)
}

// Validate says what is wrong with the limits.
func (c *LimitsConfig) Validate() error {
	const formatMiB = stef.MaxFrameBytes / mib
	errs := []error{
		between("max_chunk_mib", c.MaxChunkMiB, 1, maxMiB, "the default is 16"),
		between("max_frame_mib", c.MaxFrameMiB, 1, formatMiB, fmt.Sprintf("the format allows no frame above %d, the default is 32", formatMiB)),
		between("max_record_alloc_mib", c.MaxRecordAllocMiB, 1, maxMiB, "the default is 16"),
		between("max_dict_mib_per_stream", c.MaxDictMiBPerStream, 1, maxMiB/4, "the default is 64; clients send dictionaries anew when they reach it"),
		between("stream_memory_limit_mib", c.StreamMemoryLimitMiB, 1, math.MaxInt/mib, "the default is 512"),
		atLeast("max_streams", c.MaxStreams, 0, "0 is no bound"),
		between("memory_limit_mib", c.MemoryLimitMiB, 1, math.MaxInt/mib, "the default is 512"),
	}
	if c.MemoryLimitMiB > 0 && c.MemoryLimitMiB < c.MaxChunkMiB {
		errs = append(errs, fmt.Errorf("memory_limit_mib is %d and max_chunk_mib is %d: one chunk would not fit, raise memory_limit_mib or lower max_chunk_mib",
			c.MemoryLimitMiB, c.MaxChunkMiB))
	}
	return errors.Join(errs...)
}

// Validate says what is wrong with the admission.
func (c *AdmissionConfig) Validate() error {
	return errors.Join(
		between("request_limit_mib", c.RequestLimitMiB, 0, math.MaxInt/mib, "0 is no bound, the default is 128"),
		between("waiting_limit_mib", c.WaitingLimitMiB, 0, math.MaxInt/mib, "0 refuses instead of waiting, the default is 32"),
	)
}

// maxMiB bounds sizes that are kept in an int, with room to add some up.
const maxMiB = math.MaxInt32 / mib / 4

func atLeast(key string, value, least int, hint string) error {
	if value < least {
		return fmt.Errorf("%s is %d, set it to %d or more (%s)", key, value, least, hint)
	}
	return nil
}

func between(key string, value, least, most int, hint string) error {
	if value < least || value > most {
		return fmt.Errorf("%s is %d, set it to a number from %d to %d (%s)", key, value, least, most, hint)
	}
	return nil
}

func duration(key string, value, least time.Duration, hint string) error {
	switch {
	case value > 0 && value < time.Microsecond:
		return fmt.Errorf("%s is %v, write it with a unit, such as %ds or %dms (%s)", key, value, value, value, hint)
	case value >= least:
		return nil
	case least == 0:
		return fmt.Errorf("%s is %v, set it to 0 or a positive duration such as 1s (%s)", key, value, hint)
	}
	return fmt.Errorf("%s is %v, set it to a positive duration such as 1s (%s)", key, value, hint)
}

// shortestLifetime keeps streams from being little else than handshakes.
const shortestLifetime = time.Second

// port finds ports that no address has. 0 is any free port.
func port(endpoint string) error {
	text := endpoint[strings.LastIndexByte(endpoint, ':')+1:]
	if port, err := strconv.ParseUint(text, 10, 64); err == nil && port > 65535 {
		return fmt.Errorf("endpoint is %q, set the port to a number up to 65535, such as 4320", endpoint)
	}
	return nil
}

func lifetime(d time.Duration) error {
	if d != 0 && d < shortestLifetime {
		return fmt.Errorf("max_stream_lifetime is %v, set it to 0 for no bound or to %v or more, better some minutes: each stream sends its dictionaries anew", d, shortestLifetime)
	}
	return nil
}
