// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/exporter"
	"google.golang.org/grpc"
)

// connections are the connections of one exporter.
type connections struct {
	stef []*grpc.ClientConn
	otlp *grpc.ClientConn
	all  []*grpc.ClientConn

	// changed is called when a connection for streams is made or lost, once it is set.
	changed atomic.Pointer[func()]
}

// connect creates the connections. They are opened in the background.
func connect(ctx context.Context, c *Config, host component.Host, settings exporter.Settings, t *telemetry) (*connections, error) {
	x := &connections{}
	dial := func(endpoint string, changed func()) (*grpc.ClientConn, error) {
		own := c.ClientConfig
		own.Endpoint = endpoint
		own.Compression = "" // no compression of messages: each protocol sets its own
		agent := fmt.Sprintf("%s/%s (%s/%s)", settings.BuildInfo.Description, settings.BuildInfo.Version, runtime.GOOS, runtime.GOARCH)
		conn, err := own.ToClientConn(ctx, host.GetExtensions(), settings.TelemetrySettings,
			configgrpc.WithGrpcDialOption(grpc.WithUserAgent(agent)),
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
		}
	}
	switch {
	case c.Protocol == ProtocolSTEF:
	case c.Fallback.Endpoint == "" && len(x.stef) > 0:
		x.otlp = x.stef[0]
	default:
		endpoint := c.Fallback.Endpoint
		if endpoint == "" {
			endpoint = c.ClientConfig.Endpoint
		}
		var err error
		if x.otlp, err = dial(endpoint, nil); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// report reports that a connection was made or lost.
func (x *connections) report() {
	if changed := x.changed.Load(); changed != nil {
		(*changed)()
	}
}

// close closes all connections.
func (x *connections) close() error {
	var errs []error
	for _, conn := range x.all {
		errs = append(errs, conn.Close())
	}
	x.all = nil
	return errors.Join(errs...)
}
