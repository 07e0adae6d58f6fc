// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"strings"

	"google.golang.org/grpc/stats"
)

// requestMeter counts the bytes of OTLP requests on the wire. It also notes which calls the
// peer ended, and when connections begin and end. STEF streams may use the same connection.
type requestMeter struct {
	telemetry *telemetry
	changed   func() // called when a connection is made or lost; may be nil
}

var _ stats.Handler = requestMeter{}

const otlpServices = "/opentelemetry.proto.collector."

type requestKey struct{}

// TagRPC implements stats.Handler.
func (requestMeter) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if strings.HasPrefix(info.FullMethodName, otlpServices) {
		return context.WithValue(ctx, requestKey{}, true)
	}
	return ctx
}

// HandleRPC implements stats.Handler.
func (m requestMeter) HandleRPC(ctx context.Context, event stats.RPCStats) {
	noteAnswer(ctx, event)
	sent, ok := event.(*stats.OutPayload)
	if !ok || ctx.Value(requestKey{}) == nil {
		return
	}
	// Both metrics are counted here, so that their ratio is right: neither metric counts attempts
	// without a connection, which write nothing.
	m.telemetry.builder.ExporterStefOtlpBytes.Add(ctx, int64(sent.Length), m.telemetry.plain)
	m.telemetry.builder.ExporterStefOtlpBytesCompressed.Add(ctx, int64(sent.CompressedLength), m.telemetry.plain)
}

// TagConn implements stats.Handler.
func (requestMeter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (m requestMeter) HandleConn(context.Context, stats.ConnStats) {
	if m.changed != nil {
		m.changed()
	}
}
