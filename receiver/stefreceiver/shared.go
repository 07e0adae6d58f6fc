// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/otelstef/stef/internal/injected"
	"github.com/otelstef/stef/stef-gogrpc"
)

// shared is used by all components of one configuration: the core, and the server
// with a handler for each signal. It exists from the creation of the first component
// of the configuration to the shutdown of the last component. The server runs from the
// first start of a component to the first shutdown of a component (server.go).
type shared struct {
	*core
	settings receiver.Settings
	server   server
	full     limitedLog
	unserved limitedLog
	closed   limitedLog
	otlpOff  limitedLog

	handshakes [len(handshakeHints) + 1]limitedLog // logs failed handshakes, by cause
	tlsClients limitedLog                          // logs clients that use TLS if the receiver does not
	http1      limitedLog                          // logs clients that use HTTP/1.1

	receiving *stefgrpc.ReceiveLimit
	refused   map[string]metric.MeasurementOption // attributes of refused streams by reason

	mu       sync.Mutex
	handlers []handler
	refs     int // components created and not shut down
}

var instances = struct {
	sync.Mutex
	of map[*Config]*shared
}{of: map[*Config]*shared{}}

// share returns the shared part of a configuration and adds one component to it.
// It creates the shared part if necessary.
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

func (s *shared) leave() {
	instances.Lock()
	defer instances.Unlock()
	if s.refs--; s.refs == 0 {
		delete(instances.of, s.config)
		s.hardStop(nil)
	}
}

func newShared(config *Config, settings receiver.Settings) (*shared, error) {
	settings.TelemetrySettings = injected.WithoutSignal(settings.TelemetrySettings) // else log lines of all signals would have the signal of the first component
	c, err := newCore(config, settings)
	if err != nil {
		return nil, err
	}
	s := &shared{core: c, settings: settings, refused: map[string]metric.MeasurementOption{}}
	id := attribute.String("receiver", settings.ID.String())
	own := metric.WithAttributes(id)
	for _, reason := range []string{refusedFull, refusedSignal, refusedAuth, refusedFirst, endServer, refusedOther} {
		s.refused[reason] = metric.WithAttributeSet(attribute.NewSet(id, attribute.String("reason", reason)))
	}
	s.receiving = stefgrpc.NewReceiveLimit(config.receiving(), func(client net.Addr, bytes int64) {
		s.telemetry.ReceiverStefConnectionsClosed.Add(context.Background(), 1, own)
		if skipped, ok := s.closed.due(); ok {
			s.logger.Warn("A connection was closed: unfinished messages reached limits::memory_limit_mib, and this client held the most bytes of them. If the client is not hostile, raise the limit.",
				zap.Stringer("client", client), zap.Int64("bytes", bytes), zap.Int64("not_logged", skipped))
		}
	})
	return s, nil
}

// add adds the handler of a signal. It must be called before the server starts.
func (s *shared) add(h handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append(s.handlers, h)
}

func (s *shared) newTransport() (*stefgrpc.Server, error) {
	limits := &s.config.Limits
	transport, err := stefgrpc.NewServer(
		stefgrpc.WithMaxChunkBytes(limits.MaxChunkMiB*mib),
		stefgrpc.WithMaxBufferedBytes(limits.MemoryLimitMiB*mib),
		stefgrpc.WithMaxStreams(limits.MaxStreams),
		stefgrpc.WithMaxDictBytes(limits.MaxDictMiBPerStream*mib),
		stefgrpc.WithWindowMemoryBytes(limits.WindowMemoryMiB*mib),
		stefgrpc.WithAckInterval(s.config.AckInterval),
		stefgrpc.WithMaxStreamLifetime(s.config.MaxStreamLifetime),
		stefgrpc.WithFirstMessageTimeout(s.config.Timeouts.FirstMessage),
		stefgrpc.WithHeaderTimeout(s.config.Timeouts.Header),
		stefgrpc.WithChunkTimeout(s.config.Timeouts.Chunk),
		stefgrpc.WithIdleTimeout(s.config.Timeouts.Idle),
	)
	for i := 0; err == nil && i < len(s.handlers); i++ {
		err = s.handlers[i].handle(transport)
	}
	return transport, err
}

func (s *shared) register(g *grpc.Server, transport *stefgrpc.Server) {
	transport.Register(g)
	for _, h := range s.handlers {
		if s.config.OTLP.Enabled {
			h.register(g)
		} else {
			service, meter := h.service()
			s.refuseOTLP(g, service, meter)
		}
	}
}

func (s *shared) observe(transport *stefgrpc.Server) error {
	own := metric.WithAttributes(attribute.String("receiver", s.settings.ID.String()))
	observe := func(register func(metric.Int64Callback) error, value func() int64) error {
		return register(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(value(), own)
			return nil
		})
	}
	t := s.telemetry
	t.ReceiverStefConnectionsClosed.Add(context.Background(), 0, own)
	for _, reason := range s.refused {
		t.ReceiverStefStreamsRefused.Add(context.Background(), 0, reason)
	}
	return errors.Join(
		observe(t.RegisterReceiverStefAdmissionInFlightBytesCallback, func() int64 {
			inFlight, _ := s.admission.state()
			return inFlight
		}),
		observe(t.RegisterReceiverStefAdmissionWaitingBytesCallback, func() int64 {
			_, waiting := s.admission.state()
			return waiting
		}),
		observe(t.RegisterReceiverStefDecompressionWaitingCallback, s.decompression.waiting),
		observe(t.RegisterReceiverStefStreamMemoryBytesCallback, s.memory.bytes),
		observe(t.RegisterReceiverStefBufferedBytesCallback, func() int64 { return transport.Stats().BufferedBytes + s.receiving.Bytes() }),
		observe(t.RegisterReceiverStefStreamsHandshakingCallback, func() int64 { return int64(transport.Stats().Handshaking) }),
	)
}

func addressError(at *confignet.AddrConfig, err error) error {
	endpoint := at.Endpoint
	if at.Transport == confignet.TransportTypeUnix {
		return fmt.Errorf("cannot listen on the socket %q: %w; set endpoint to a path in a folder that exists, and remove the file if it is left from a process that was killed", endpoint, err)
	}
	return fmt.Errorf("cannot listen on %q: %w; set endpoint to an address of this host and a port that is free, such as \"localhost:4320\"", endpoint, err)
}

func serverError(err error) error {
	if strings.Contains(err.Error(), "authenticator not found") {
		return fmt.Errorf("cannot create the gRPC server: %w; define this extension under extensions, and list it in service::extensions", err)
	}
	return fmt.Errorf("cannot create the gRPC server: %w", err)
}
