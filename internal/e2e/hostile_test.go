// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/otelstef/stef/internal/teltest/rawgrpc"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// receiverSum is the memory bound, in MiB, in the row "sum" of the README of the receiver. It is
// for two processors.
const receiverSum = 2952

// honestFloor is the p99 that is always accepted for an honest client during an attack. Other
// processes of the machine can delay a process by up to 10 ms at a time.
const honestFloor = 10 * time.Millisecond

type attack struct {
	name string
	// prepare creates the data of the clients. It returns the function that sends this data once.
	prepare func(t testing.TB) func(t testing.TB, address string)
}

var attacks = []attack{
	{"messages that gRPC compresses, 64 streams", func(testing.TB) func(testing.TB, string) { return compressedMessages }},
	{"requests of 59 KB of gzip that become 57 MiB, 8 connections of 100 streams", requests(gzip.Name)},
	{"requests of 6 KB of zstd that become 57 MiB, 8 connections of 100 streams", requests("zstd")},
	{"requests of zstd with windows of 512 MiB, 8 connections of 100 streams", requests("zstd", zstd.WithWindowSize(512<<20))},
	{"messages that are not finished, 60 connections", func(testing.TB) func(testing.TB, string) { return unfinishedMessages }},
	{"one text of 7 MiB in 8,192 records, 24 streams", streams(sharedText)},
	{"1,000 attributes in 8,000 records, 24 streams", streams(manyAttributes)},
	{"150 MiB of texts for dictionaries, 24 streams", streams(largeDictionaries)},
}

// requests returns an attack with compressed requests of OTLP.
func requests(encoding string, options ...zstd.EOption) func(testing.TB) func(testing.TB, string) {
	return func(t testing.TB) func(testing.TB, string) {
		message := compressedRequest(t, encoding, options...)
		return func(t testing.TB, address string) { compressedRequests(t, address, encoding, message) }
	}
}

// streams returns an attack with 24 streams that all send the same records.
func streams(write func(w *otelstef.MetricsWriter) error) func(testing.TB) func(testing.TB, string) {
	return func(t testing.TB) func(testing.TB, string) {
		list := hostileChunks(t, write)
		return func(t testing.TB, address string) { hostileStreams(t, address, 24, list) }
	}
}

// TestAttacker is not a test: TestHostile runs it in a process of its own, and keeps the standard
// input of this process open. The process prints a line when the attack is prepared. Then it
// repeats the attack until its standard input ends.
func TestAttacker(t *testing.T) {
	var i int
	var address string
	if _, err := fmt.Sscan(os.Getenv(attackerEnv), &i, &address); err != nil {
		t.Skip("for TestHostile")
	}
	run := attacks[i].prepare(t)
	fmt.Println(attackerReady)
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	for !over.Load() {
		run(t, address)
	}
}

type attacker struct {
	command *exec.Cmd
	input   io.Closer
}

// attackerReady is the line that an attacker prints before it begins.
const attackerReady = "ready"

// startAttacker starts an attack. Real attackers run on other machines. To imitate this, the
// process has the lowest priority: it uses only processor time that the Collector does not
// need.
func startAttacker(t *testing.T, i int, address string) *attacker {
	command := append(lowestPriority(), os.Args[0], "-test.run=^TestAttacker$")
	c := again(t, fmt.Sprintf("%s=%d %s", attackerEnv, i, address), command...)
	input, err := c.StdinPipe()
	require.NoError(t, err)
	output, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(output)
	require.True(t, lines.Scan(), "the attacker has ended")
	require.Equal(t, attackerReady, lines.Text())
	go func() { _, _ = io.Copy(io.Discard, output) }()
	return &attacker{c, input}
}

// lowestPriority returns a command that runs the command after it at the lowest priority. Linux
// treats a processor that runs only processes of SCHED_IDLE as free: a thread of the Collector
// that wakes up runs there immediately. With nice, such a thread can wait some milliseconds.
func lowestPriority() []string {
	if path, err := exec.LookPath("chrt"); err == nil {
		return []string{path, "--idle", "0"}
	}
	return []string{"nice", "-n", "19"}
}

func (a *attacker) stop(t *testing.T) {
	require.NoError(t, a.input.Close())
	require.NoError(t, a.command.Wait(), "the attacker")
}

// TestHostile attacks a Collector whose receiver has the default configuration, and which sends
// all accepted data to a backend. The Collector uses less memory than the README of the receiver
// states. It serves an honest client during and after each attack. During an attack, the p99 of
// the client's latencies is at most honestFloor or three times the p99 without an attack,
// whichever is larger.
func TestHostile(t *testing.T) {
	binary(t)
	entry := address(t)
	c := start(t, "backend", fmt.Sprintf(`
receivers:
  stef:
    endpoint: %s
exporters:
  otlp:
    endpoint: %s
    tls: {insecure: true}
    sending_queue: {enabled: false} # the receiver waits for the backend
`, entry, startBackend(t)), pipelines("stef", "otlp"))
	honest := startHonest(t, entry)
	_ = honest.await(t, 20)
	for i, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			// Other processes of the machine can delay the honest client, so it is enough that
			// one of five attempts succeeds.
			for attempt := 1; ; attempt++ {
				alone := p99(honest.await(t, 600))
				most, took := c.attackDuring(t, i, entry, honest)
				beside := p99(took)
				t.Logf("%s: at most %.0f MiB resident, %d honest batches beside it, p99 %v, alone %v", attack.name, most, len(took), beside, alone)
				require.Less(t, most, float64(receiverSum), attack.name)
				if beside <= max(3*alone, honestFloor) {
					break
				}
				require.Less(t, attempt, 5, "%s: p99 %v beside it, %v alone", attack.name, beside, alone)
			}
			_ = honest.await(t, 20) // all attackers have ended
		})
	}
}

// attackDuring repeats an attack until the honest client has sent 1,000 batches during the attack, or for
// half a minute. It returns the largest resident memory of the Collector in MiB, and the latencies of
// these batches.
func (c *collector) attackDuring(t *testing.T, attack int, address string, honest *honestClient) (most float64, took []time.Duration) {
	attacker := startAttacker(t, attack, address)
	_ = honest.take(t)
	for begin := time.Now(); ; time.Sleep(honestPause) {
		took = append(took, honest.take(t)...)
		resident, _, _, err := processFigures(c.command.Process.Pid)
		require.NoError(t, err, "the Collector has ended:\n%s", &c.output)
		most = max(most, resident)
		if len(took) >= 1000 || time.Since(begin) > 30*time.Second {
			break
		}
	}
	attacker.stop(t)
	require.Greater(t, len(took), 100, "batches beside %s", attacks[attack].name)
	return most, took
}

// compressedRequest returns a request of OTLP that is small on the wire and large after
// decompression.
func compressedRequest(t testing.TB, encoding string, options ...zstd.EOption) []byte {
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
	require.Less(t, message.Len(), rawgrpc.MaxBytes)
	return message.Bytes()
}

// compressedRequests sends a request for 15 seconds, on 100 streams of each of 8 connections.
func compressedRequests(t testing.TB, address, encoding string, message []byte) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			rawgrpc.Send(conn, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", encoding, message, 100, 15*time.Second)
		})
	}
	group.Wait()
}

// compressedMessages sends, on 64 streams, a message of 61 KB that decompresses to 60 MiB.
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
			// Send the message only if the Collector accepts the stream: compressing a message
			// for each stream would take CPU from the honest client.
			if stream.RecvMsg(&stefpb.STEFServerMessage{}) != nil {
				return
			}
			_ = stream.SendMsg(large)
			_ = stream.RecvMsg(&stefpb.STEFServerMessage{}) // waits until the server ends the stream
		})
	}
	group.Wait()
}

// unfinishedMessages begins a message of 60 MiB on each of 60 connections, and sends only 15 MiB
// of each message.
func unfinishedMessages(t testing.TB, address string) {
	for range 60 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_ = rawgrpc.Begin(conn, "/STEFDestination/Stream", 1, 15<<20) // the Collector may close the connection
	}
}

// chunks are what a writer wrote: the headers, then frames.
type chunks [][]byte

// Write implements io.Writer.
func (c *chunks) Write(p []byte) (int, error) {
	*c = append(*c, bytes.Clone(p))
	return len(p), nil
}

type hostileStream struct {
	chunks  chunks
	records uint64
}

func hostileChunks(t testing.TB, write func(w *otelstef.MetricsWriter) error) (s hostileStream) {
	w, err := otelstef.NewMetricsWriter(&s.chunks, stef.WithCompression(stef.Zstd), stef.WithDictBytes(1<<30), stef.WithFrameBytes(31<<20))
	require.NoError(t, err)
	require.NoError(t, write(w))
	s.records = w.Stats().Records
	return s
}

// hostileStreams sends list on n streams, each on its own connection. It waits until the
// Collector has acknowledged all records of each stream or ended the stream, at most ten seconds.
func hostileStreams(t testing.TB, address string, n int, list hostileStream) {
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
			for _, chunk := range list.chunks {
				if stream.SendMsg(&stefpb.STEFClientMessage{StefBytes: chunk, IsEndOfChunk: true}) != nil {
					break
				}
			}
			for stream.RecvMsg(&answer) == nil && answer.GetResponse().GetAckRecordId() < list.records {
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
