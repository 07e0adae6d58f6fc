// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
	"github.com/otelstef/stef/stef-pdata"
)

// raw is a client that sends arbitrary messages.
type raw struct {
	t            testing.TB
	stream       grpc.ClientStream
	capabilities *stefpb.STEFDestinationCapabilities
	acked        uint64 // the last acknowledged id that the client has read
}

func rawOpen(t testing.TB, r *rig, root string) *raw {
	t.Helper()
	return rawOpenOn(t, r.dial(), timeout(t), root)
}

func rawOpenOn(t testing.TB, conn *grpc.ClientConn, ctx context.Context, root string) *raw {
	t.Helper()
	desc := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err := conn.NewStream(ctx, desc, stefgrpc.StreamMethod)
	require.NoError(t, err)
	p := &raw{t: t, stream: stream}
	err = stream.SendMsg(&stefpb.STEFClientMessage{
		FirstMessage: &stefpb.STEFClientFirstMessage{RootStructName: root},
	})
	if err != io.EOF { // io.EOF: a server that is full ends the stream without waiting for the message
		require.NoError(t, err)
	}
	var answer stefpb.STEFServerMessage
	if stream.RecvMsg(&answer) == nil {
		p.capabilities = answer.GetCapabilities()
	}
	return p
}

func (p *raw) data(b []byte, endOfChunk bool) {
	p.t.Helper()
	err := p.stream.SendMsg(&stefpb.STEFClientMessage{StefBytes: b, IsEndOfChunk: endOfChunk})
	if err != io.EOF { // io.EOF: the stream has ended; the test checks how
		require.NoError(p.t, err)
	}
}

// awaitAck reads responses until the record id is acknowledged, and returns the last acknowledged
// id.
func (p *raw) awaitAck(id uint64) uint64 {
	p.t.Helper()
	for {
		var m stefpb.STEFServerMessage
		require.NoError(p.t, p.stream.RecvMsg(&m))
		p.acked = max(p.acked, m.GetResponse().GetAckRecordId())
		if p.acked >= id {
			return p.acked
		}
	}
}

// receive reads a response. If the stream has ended, it returns the status.
func (p *raw) receive() (end *status.Status, ok bool) {
	var m stefpb.STEFServerMessage
	switch err := p.stream.RecvMsg(&m); {
	case err == io.EOF:
		return status.New(codes.OK, ""), false
	case err != nil:
		return status.Convert(err), false
	}
	p.acked = max(p.acked, m.GetResponse().GetAckRecordId())
	return nil, true
}

// endAcked returns the status of the ended stream, and the last acknowledged id.
func (p *raw) endAcked() (uint64, *status.Status) {
	for {
		if end, ok := p.receive(); !ok {
			return p.acked, end
		}
	}
}

func (p *raw) end() *status.Status {
	_, st := p.endAcked()
	return st
}

// chunkList stores the chunks of a writer.
type chunkList [][]byte

func (c *chunkList) Write(p []byte) (int, error) {
	*c = append(*c, append([]byte(nil), p...))
	return len(p), nil
}

func newMetricsEncoder(w *otelstef.MetricsWriter) func(pmetric.Metrics) error {
	return stefpdata.NewMetricsEncoder(w).Encode
}

// sumOf returns the sum of the data points of a metric that have the attribute key with this
// value. If key is empty, it sums all data points. It returns 0 if the metric does not exist.
func sumOf(t testing.TB, telemetry *componenttest.Telemetry, name, key, value string) int64 {
	t.Helper()
	got, err := telemetry.GetMetric(name)
	if err != nil {
		return 0
	}
	var sum int64
	data, ok := got.Data.(metricdata.Sum[int64])
	require.True(t, ok, "%s is %T", name, got.Data)
	for _, dp := range data.DataPoints {
		if attr, ok := dp.Attributes.Value(attribute.Key(key)); key == "" || ok && attr.AsString() == value {
			sum += dp.Value
		}
	}
	return sum
}
