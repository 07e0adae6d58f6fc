// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-gogrpc"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// shared is what the pipes of one configuration have in common. It lasts from
// the creation of the first component of the configuration to the shutdown of
// the last; the server is there while one of them is started (server.go).
type shared struct {
	config    *Config
	logger    *zap.Logger
	settings  receiver.Settings
	telemetry *metadata.TelemetryBuilder
	admission admission
	// decoding has a place for each batch that may be decoded at a time. To
	// decode takes a processor and can make much of few bytes, so it is no use
	// to have many streams do it at once.
	decoding chan struct{}
	server   server

	// hard ends when a shutdown has no more time.
	hard     context.Context
	hardStop context.CancelCauseFunc

	mu      sync.Mutex
	outlets []outlet
	refs    int // components created and not shut down
}

// instances has the shared part of every configuration that is in use.
var instances = struct {
	sync.Mutex
	of map[*Config]*shared
}{of: map[*Config]*shared{}}

// share returns the shared part of a configuration, made if it is new, for one
// component more.
func share(config *Config, settings receiver.Settings) (*shared, error) {
	instances.Lock()
	defer instances.Unlock()
	s := instances.of[config]
	if s == nil {
		var err error
		if s, err = newShared(config, settings); err != nil {
			return nil, err
		}
		instances.of[config] = s
	}
	s.refs++
	return s, nil
}

// leave is for one component less.
func (s *shared) leave() {
	instances.Lock()
	defer instances.Unlock()
	if s.refs--; s.refs == 0 {
		delete(instances.of, s.config)
		s.hardStop(nil)
	}
}

func newShared(config *Config, settings receiver.Settings) (*shared, error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	s := &shared{
		config:    config,
		logger:    settings.Logger,
		settings:  settings,
		telemetry: telemetry,
		admission: admission{
			limit:        int64(config.Admission.RequestLimitMiB) * mib,
			waitingLimit: int64(config.Admission.WaitingLimitMiB) * mib,
		},
		decoding: make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0))),
	}
	s.hard, s.hardStop = context.WithCancelCause(context.Background())
	return s, nil
}

// add takes a pipe in. It must be called before the server starts.
func (s *shared) add(o outlet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outlets = append(s.outlets, o)
}

// newTransport returns the STEF server with the pipes as handlers.
func (s *shared) newTransport() (*stefgrpc.Server, error) {
	limits := &s.config.Limits
	transport, err := stefgrpc.NewServer(
		stefgrpc.WithMaxChunkBytes(limits.MaxChunkMiB*mib),
		stefgrpc.WithMaxBufferedBytes(limits.MemoryLimitMiB*mib),
		stefgrpc.WithMaxStreams(limits.MaxStreams),
		stefgrpc.WithMaxDictBytes(limits.MaxDictMiBPerStream*mib),
		stefgrpc.WithAckInterval(s.config.AckInterval),
		stefgrpc.WithMaxStreamLifetime(s.config.MaxStreamLifetime),
	)
	for i := 0; err == nil && i < len(s.outlets); i++ {
		err = s.outlets[i].handle(transport)
	}
	return transport, err
}

// register adds the services of all pipes to a gRPC server.
func (s *shared) register(g *grpc.Server, transport *stefgrpc.Server) {
	transport.Register(g)
	if !s.config.OTLP.HasValue() {
		return
	}
	for _, o := range s.outlets {
		o.register(g)
	}
}

// readerOptions adds the configured limits to the options of a stream. The limit
// of dictionaries stays that of the stream.
func (s *shared) readerOptions(options []stef.ReaderOption) []stef.ReaderOption {
	return append(slices.Clip(options), stef.WithLimits(stef.Limits{
		FrameBytes:  s.config.Limits.MaxFrameMiB * mib,
		RecordBytes: s.config.Limits.MaxRecordAllocMiB * mib,
	}))
}

// maxItems is how many items a batch has at most.
func (s *shared) maxItems() int {
	if n := s.config.MaxBatchItems; n > 0 {
		return n
	}
	return math.MaxInt
}

var errNoTime = errors.New("the receiver is ending and has no more time")

// outlive returns a context with the values of ctx, but with an end of its own:
// that of the time of a shutdown.
func (s *shared) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(s.hard, func() { cancel(errNoTime) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// catch turns a panic of what it is deferred in into an error. It is deferred at
// the edges: around the decoders, which see bytes of others, and the pipeline.
func (s *shared) catch(m *meter, what string, err *error) {
	value := recover()
	if value == nil {
		return
	}
	m.panicked()
	s.logger.Error("Panic while data was received, the data is rejected",
		zap.String("in", what), zap.Any("panic", value), zap.ByteString("stack", debug.Stack()))
	*err = panicked(what, value)
}

// observe makes the state of the admission and the transport metrics.
func (s *shared) observe(transport *stefgrpc.Server) error {
	return errors.Join(
		s.telemetry.RegisterReceiverStefAdmissionInFlightBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
			inFlight, _ := s.admission.state()
			o.Observe(inFlight)
			return nil
		}),
		s.telemetry.RegisterReceiverStefAdmissionWaitingBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
			_, waiting := s.admission.state()
			o.Observe(waiting)
			return nil
		}),
		s.telemetry.RegisterReceiverStefBufferedBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(transport.Stats().BufferedBytes)
			return nil
		}),
	)
}

func addressError(endpoint string, err error) error {
	return fmt.Errorf("cannot listen on %q: %w; set endpoint to an address of this host and a port that is free, such as \"localhost:4320\"", endpoint, err)
}
