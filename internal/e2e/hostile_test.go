// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/otelstef/stef/internal/teltest/compressed"
	"github.com/otelstef/stef/internal/teltest/unfinished"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// receiverSum is the sum in the README of the receiver, in MiB, for two processors.
const receiverSum = 2952

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
	var alone []time.Duration
	for range 200 {
		alone = append(alone, honest())
		time.Sleep(10 * time.Millisecond)
	}
	before := p99(alone)
	for _, attack := range []struct {
		name string
		run  func(t testing.TB, address string)
	}{
		{"messages that gRPC compresses, 64 streams", compressedMessages},
		{"requests of 59 KB of gzip that become 57 MiB, 8 connections of 100 streams", func(t testing.TB, address string) { compressedRequests(t, address, gzip.Name) }},
		{"requests of 6 KB of zstd that become 57 MiB, 8 connections of 100 streams", func(t testing.TB, address string) { compressedRequests(t, address, "zstd") }},
		{"requests of zstd with windows of 512 MiB, 8 connections of 100 streams", func(t testing.TB, address string) {
			compressedRequests(t, address, "zstd", zstd.WithWindowSize(512<<20))
		}},
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
		most := 0.0
		var beside []time.Duration
		for attacking := true; attacking; {
			beside = append(beside, honest())
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
		t.Logf("%s: at most %.0f MiB resident, %d honest batches beside it, p99 %v, alone %v", attack.name, most, len(beside), p99(beside), before)
		require.Less(t, most, float64(receiverSum), attack.name)
	}
}

// deliverHonestly returns a function that sends a batch and waits until it is acknowledged.
func deliverHonestly(t *testing.T, address string) func() time.Duration {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)
	return func() time.Duration {
		began := time.Now()
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
		return time.Since(began)
	}
}

func p99(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)*99/100]
}

// compressedRequests sends for 15 seconds, on 100 streams of each of 8 connections, a request
// of OTLP that is small as it is sent and large after decompression.
func compressedRequests(t testing.TB, address, encoding string, options ...zstd.EOption) {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("text", strings.Repeat("x", 57<<20))
	rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
	body, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	require.NoError(t, err)
	var message bytes.Buffer
	var w io.WriteCloser = stdgzip.NewWriter(&message)
	if encoding == "zstd" {
		w, err = zstd.NewWriter(&message, options...)
		require.NoError(t, err)
	}
	_, err = w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, message.Len(), compressed.MaxBytes)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			compressed.Send(conn, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", encoding, message.Bytes(), 100, 15*time.Second)
		})
	}
	group.Wait()
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
