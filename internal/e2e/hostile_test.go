// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/otelstef/stef/internal/teltest/unfinished"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// receiverSum is the sum in the README of the receiver, in MiB, for two processors.
const receiverSum = 2752

// TestHostile attacks a Collector with the default configuration, which sends what it
// accepts to a backend. It stays below the memory that its README states, and serves an
// honest client beside each attack and after it.
func TestHostile(t *testing.T) {
	entry, s := address(t), newSink(t)
	c := start(t, "backend", fmt.Sprintf(`
receivers:
  stef:
    endpoint: %s
exporters:
  otlp:
    endpoint: %s
    tls: {insecure: true}
    sending_queue: {enabled: false} # the receiver waits for the backend
`, entry, s.address), pipelines("stef", "otlp"))
	honest := deliverHonestly(t, entry)
	honest()
	for _, attack := range []struct {
		name string
		run  func(t testing.TB, address string)
	}{
		{"messages that gRPC compresses, 64 streams", compressedMessages},
		{"messages that are not finished, 60 connections", unfinishedMessages},
		{"one text of 7 MiB in 8,192 records, 24 streams", func(t testing.TB, address string) { hostileStreams(t, address, 24, sharedText) }},
		{"1,000 attributes in 8,000 records, 24 streams", func(t testing.TB, address string) { hostileStreams(t, address, 24, manyAttributes) }},
		{"150 MiB of texts for dictionaries, 24 streams", func(t testing.TB, address string) { hostileStreams(t, address, 24, largeDictionaries) }},
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			attack.run(t, entry)
		}()
		most, served := 0.0, 0
		for attacking := true; attacking; {
			honest()
			served++
			resident, _, _, err := processFigures(c.command.Process.Pid)
			require.NoError(t, err, "the Collector has ended:\n%s", &c.output)
			most = max(most, resident)
			select {
			case <-done:
				attacking = false
			case <-time.After(10 * time.Millisecond):
			}
		}
		honest()
		t.Logf("%s: at most %.0f MiB resident, %d honest batches beside it", attack.name, most, served)
		require.Less(t, most, float64(receiverSum), attack.name)
	}
}

// deliverHonestly returns a function that sends a batch and waits until it is acknowledged.
func deliverHonestly(t *testing.T, address string) func() {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		stream, err := client.Open(ctx, otelstef.MetricsRoot())
		require.NoError(t, err)
		defer stream.Close()
		w, err := otelstef.NewMetricsWriter(stream, stream.WriterOptions()...)
		require.NoError(t, err)
		md := pmetric.NewMetrics()
		m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName("honest")
		m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
		require.NoError(t, stefpdata.NewMetricsEncoder(w).Encode(md))
		require.NoError(t, w.Flush())
		require.NoError(t, stream.AwaitAll(ctx))
	}
}

// compressedMessages sends on 64 streams a message of 61 KB that becomes one of 60 MiB.
func compressedMessages(t testing.TB, address string) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name), grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	large := &stefpb.STEFClientMessage{StefBytes: make([]byte, 60<<20)}
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/STEFDestination/Stream")
			if err != nil {
				return
			}
			_ = stream.SendMsg(&stefpb.STEFClientMessage{FirstMessage: &stefpb.STEFClientFirstMessage{RootStructName: "Metrics"}})
			// Compressing the message of each stream would starve the honest client, which
			// is in this process, too. So only a stream that is accepted gets one.
			if stream.RecvMsg(&stefpb.STEFServerMessage{}) != nil {
				return
			}
			_ = stream.SendMsg(large)
			_ = stream.RecvMsg(&stefpb.STEFServerMessage{}) // until the server ends the stream
		})
	}
	group.Wait()
}

// unfinishedMessages sends 15 of 60 MiB of a message on each of 60 connections.
func unfinishedMessages(t testing.TB, address string) {
	for range 60 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_ = unfinished.Begin(conn, "/STEFDestination/Stream", 1, 15<<20) // the Collector may close the connection
	}
}

// chunks are what a writer wrote: the headers, then frames.
type chunks [][]byte

// Write implements io.Writer.
func (c *chunks) Write(p []byte) (int, error) {
	*c = append(*c, bytes.Clone(p))
	return len(p), nil
}

// hostileStreams sends the records of an attack on streams of their own connections, and
// waits until the Collector has acknowledged or refused them, or for ten seconds.
func hostileStreams(t testing.TB, address string, n int, write func(w *otelstef.MetricsWriter) error) {
	var list chunks
	w, err := otelstef.NewMetricsWriter(&list, stef.WithCompression(stef.Zstd), stef.WithDictBytes(1<<30), stef.WithFrameBytes(31<<20))
	if err == nil {
		err = write(w)
	}
	if err != nil {
		t.Error(err)
		return
	}
	records := w.Stats().Records
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/STEFDestination/Stream")
			if err != nil {
				return
			}
			_ = stream.SendMsg(&stefpb.STEFClientMessage{FirstMessage: &stefpb.STEFClientFirstMessage{RootStructName: "Metrics"}})
			var answer stefpb.STEFServerMessage
			if stream.RecvMsg(&answer) != nil {
				return
			}
			for _, chunk := range list {
				if stream.SendMsg(&stefpb.STEFClientMessage{StefBytes: chunk, IsEndOfChunk: true}) != nil {
					break
				}
			}
			for stream.RecvMsg(&answer) == nil && answer.GetResponse().GetAckRecordId() < records {
			}
		})
	}
	group.Wait()
}

func hostilePoint(w *otelstef.MetricsWriter, i int) *otelstef.Metrics {
	rec := w.Record()
	rec.EditMetric().SetName("m")
	rec.EditMetric().SetType(otelstef.MetricTypeGauge)
	rec.Point().SetTimestamp(uint64(i))
	rec.Point().Value().SetInt64(1)
	return rec
}

func sharedText(w *otelstef.MetricsWriter) error {
	attrs := hostilePoint(w, 0).Attributes()
	attrs.SetLen(1)
	attrs.SetString(0, "text", strings.Repeat("x", 7<<20))
	for i := range 8192 {
		hostilePoint(w, i)
		if err := w.Write(); err != nil {
			return err
		}
	}
	return w.Flush()
}

func manyAttributes(w *otelstef.MetricsWriter) error {
	attrs := hostilePoint(w, 0).Attributes()
	attrs.SetLen(1000)
	for k := range 1000 {
		attrs.SetInt64(k, "", 0)
	}
	for range 8000 {
		if err := w.Write(); err != nil {
			return err
		}
	}
	return w.Flush()
}

func largeDictionaries(w *otelstef.MetricsWriter) error {
	for i := range 150 {
		attrs := hostilePoint(w, i).Attributes()
		attrs.SetLen(1)
		attrs.SetString(0, "text", strings.Repeat(fmt.Sprintf("%04d", i), 1<<18))
		if err := w.Write(); err != nil {
			return err
		}
		if i%10 == 9 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}
