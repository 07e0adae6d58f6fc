// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/otelstef/stef/stef-gogrpc"
)

// server is the gRPC server of a configuration. The components of all signals start it
// and shut it down; only the first start and the first shutdown have an effect.
type server struct {
	mu       sync.Mutex
	started  bool
	stopped  bool // stopped, or being stopped
	address  net.Addr
	pending  *handshakeListener
	grpc     *grpc.Server
	stef     *stefgrpc.Server
	serving  sync.WaitGroup
	startErr error
}

// hardGrace is how long a shutdown waits for the pipeline to return after the deadline of the
// shutdown has passed.
const hardGrace = time.Second

func (s *shared) start(ctx context.Context, host component.Host) error {
	srv := &s.server
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if !srv.started && !srv.stopped {
		srv.started = true
		srv.startErr = s.listen(ctx, host)
	}
	return srv.startErr
}

// These are windows of HTTP/2. streamWindow bounds the bytes of a stream that its handler has not
// read yet. connectionWindow bounds the bytes that a connection receives in one round trip. Without
// fixed windows, gRPC enlarges the window of each stream to up to 16 MiB, which hostile clients
// could fill.
const (
	streamWindow     = 1 << 20
	connectionWindow = 4 << 20
)

// maxHeaders is the maximum size of the headers of a stream or request. As in HTTP/2, each header
// counts 32 bytes more than it has. gRPC keeps the headers until the stream or request ends. With
// gRPC's default of 16 MiB, clients could fill the memory with headers before their credentials are
// checked.
const maxHeaders = 16 << 10

func (s *shared) listen(ctx context.Context, host component.Host) error {
	srv := &s.server
	transport, err := s.newTransport()
	if err != nil {
		return err
	}
	config, creds, err := s.takeTLS(ctx)
	if err != nil {
		return serverError(err)
	}
	g, err := config.ToServer(ctx, host.GetExtensions(), s.settings.TelemetrySettings,
		configgrpc.WithGrpcServerOption(grpc.Creds(s.receiving.WithoutDecompression().Credentials(creds))),
		configgrpc.WithGrpcServerOption(grpc.InitialWindowSize(streamWindow)),
		configgrpc.WithGrpcServerOption(grpc.InitialConnWindowSize(connectionWindow)),
		configgrpc.WithGrpcServerOption(grpc.MaxHeaderListSize(maxHeaders)),
		configgrpc.WithGrpcServerOption(grpc.ForceServerCodecV2(newCodec())),
		// This interceptor runs before all chained interceptors, and so before authentication.
		configgrpc.WithGrpcServerOption(grpc.StreamInterceptor(s.explainRefused)),
		configgrpc.WithGrpcServerOption(grpc.ChainStreamInterceptor(markAdmitted)),
		configgrpc.WithGrpcServerOption(grpc.WaitForHandlers(true)))
	if err != nil {
		return serverError(err)
	}
	s.register(g, transport)
	listener, err := s.config.ServerConfig.NetAddr.Listen(ctx)
	if err != nil {
		return addressError(&s.config.ServerConfig.NetAddr, err)
	}
	if err := s.observe(transport); err != nil {
		return errors.Join(err, listener.Close())
	}
	srv.pending = newHandshakeListener(listener, s.config)
	srv.grpc, srv.stef, srv.address = g, transport, listener.Addr()
	s.logger.Info("Starting the STEF server", zap.Stringer("endpoint", srv.address), zap.Bool("otlp", s.config.OTLP.Enabled))
	srv.serving.Go(func() {
		if err := g.Serve(srv.pending); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// shutdown ends the server gracefully. The server accepts no new connections or streams, and closes
// connections that are in their handshake. Streams finish their current frame and receive its
// acknowledgement; requests are answered. Then, or when shutdown_timeout is over, all streams,
// requests and connections end.
func (s *shared) shutdown(ctx context.Context) error {
	srv := &s.server
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.stopped {
		return nil
	}
	srv.stopped = true
	defer s.telemetry.Shutdown()
	if srv.grpc == nil {
		return nil
	}
	close(s.stopping)
	return s.drain(ctx)
}

func (s *shared) drain(ctx context.Context) error {
	srv := &s.server
	ctx, cancel := context.WithTimeout(ctx, s.config.ShutdownTimeout)
	defer cancel()
	late := context.AfterFunc(ctx, func() { s.hardStop(errShutdownTimeout) })
	defer late()

	srv.pending.end()
	// Shut down the streams first: GracefulStop of gRPC waits for streams without notifying
	// their clients.
	streams := make(chan error, 1)
	go func() { streams <- srv.stef.Shutdown(ctx) }()
	graceful := make(chan struct{})
	go func() {
		defer close(graceful)
		srv.grpc.GracefulStop()
	}()
	err := <-streams
	select {
	case <-graceful:
		srv.serving.Wait()
	case <-ctx.Done():
		if err == nil {
			err = ctx.Err()
		}
		if !s.halt(graceful) {
			err = fmt.Errorf("%w; the pipeline still processes data of this receiver", err)
		}
	}
	if err != nil {
		return fmt.Errorf("shutdown_timeout (%v) was over before all requests and streams ended; clients send the rest again: %w",
			s.config.ShutdownTimeout, err)
	}
	return nil
}

// halt ends the remaining streams and requests, and reports whether they ended in time.
func (s *shared) halt(ended <-chan struct{}) bool {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.server.grpc.Stop()
	}()
	grace := time.NewTimer(hardGrace)
	defer grace.Stop()
	select {
	case <-stopped:
		<-ended
		s.server.serving.Wait()
		return true
	case <-grace.C:
		return false
	}
}
