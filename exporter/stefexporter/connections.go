// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/exporter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

const (
	// maxReconnectPause bounds the pause before the next attempt to connect or to open a
	// stream. Jitter can add up to a fifth of it. With the default of gRPC, a peer that
	// restarts could wait two minutes for data.
	maxReconnectPause = 5 * time.Second
	// connectTimeout bounds an attempt to connect. This is the default of gRPC.
	connectTimeout = 20 * time.Second
)

type pauses struct {
	connection backoff.Config
	stream     stefgrpc.Backoff
}

func defaultPauses() pauses {
	p := pauses{connection: backoff.DefaultConfig, stream: stefgrpc.Backoff{Max: maxReconnectPause}}
	p.connection.MaxDelay = maxReconnectPause
	return p
}

type connections struct {
	stef []*grpc.ClientConn
	otlp *grpc.ClientConn
	all  []*grpc.ClientConn

	// changed, if it is set, is called when a connection for streams is made or lost.
	changed atomic.Pointer[func()]
	// ready, if it is set, is called when a connection for streams can be used.
	ready    atomic.Pointer[func()]
	watchers sync.WaitGroup
}

// connect creates the connections. They are opened in the background.
func connect(ctx context.Context, c *Config, host component.Host, settings exporter.Settings, t *telemetry, p pauses) (*connections, error) {
	x := &connections{}
	dial := func(endpoint string, changed func()) (*grpc.ClientConn, error) {
		own := c.ClientConfig
		own.Endpoint = endpoint
		own.Compression = "" // no compression for all messages: each protocol compresses its own messages
		agent := fmt.Sprintf("%s/%s (%s/%s)", settings.BuildInfo.Description, settings.BuildInfo.Version, runtime.GOOS, runtime.GOARCH)
		conn, err := own.ToClientConn(ctx, host.GetExtensions(), settings.TelemetrySettings,
			configgrpc.WithGrpcDialOption(grpc.WithUserAgent(agent)),
			configgrpc.WithGrpcDialOption(grpc.WithConnectParams(grpc.ConnectParams{Backoff: p.connection, MinConnectTimeout: connectTimeout})),
			configgrpc.WithGrpcDialOption(grpc.WithStatsHandler(requestMeter{t, changed})),
			configgrpc.WithGrpcDialOption(grpc.WithChainUnaryInterceptor(markRequests)),
			configgrpc.WithGrpcDialOption(grpc.WithChainStreamInterceptor(markStreams)))
		if err != nil {
			return nil, errors.Join(c.explain(err), x.close())
		}
		x.all = append(x.all, conn)
		return conn, nil
	}
	if c.Protocol != ProtocolOTLP {
		for range c.Stef.Connections {
			conn, err := dial(c.ClientConfig.Endpoint, x.report)
			if err != nil {
				return nil, err
			}
			x.stef = append(x.stef, conn)
			x.watchers.Go(func() { x.watch(conn) })
		}
	}
	switch {
	case c.Protocol == ProtocolSTEF:
	case c.Fallback.Endpoint == "" && len(x.stef) > 0:
		x.otlp = x.stef[0]
	default:
		var err error
		if x.otlp, err = dial(c.otlpEndpoint(), nil); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (x *connections) report() {
	if changed := x.changed.Load(); changed != nil {
		(*changed)()
	}
}

// watch reports when a connection can be used, until the connection is closed.
func (x *connections) watch(conn *grpc.ClientConn) {
	for state := conn.GetState(); state != connectivity.Shutdown; state = conn.GetState() {
		if ready := x.ready.Load(); ready != nil && state == connectivity.Ready {
			(*ready)()
		}
		conn.WaitForStateChange(context.Background(), state)
	}
}

func (x *connections) close() error {
	var errs []error
	for _, conn := range x.all {
		errs = append(errs, conn.Close())
	}
	x.all = nil
	x.watchers.Wait()
	return errors.Join(errs...)
}
