// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc"
)

// formRoots returns the roots of a signal with the compact, the full and the published schema: from
// the newest to the oldest.
func formRoots(t *testing.T, compact, full *schema.Struct, published schema.WireSchema) []*schema.Struct {
	t.Helper()
	oldest, err := schema.Cut(full, published)
	require.NoError(t, err)
	return []*schema.Struct{compact, full, oldest}
}

// olderLogs is an older wire schema of logs, in which LogRecord has no attributes. A wire schema has
// the number of fields of each struct.
var olderLogs = schema.WireSchema{4, 1, 4, 7, 4, 5, 10, 3, 7, 2}

// firstCompact is the wire schema of the first version of the compact form of logs.
var firstCompact = schema.WireSchema{8, 1, 4, 7, 4, 5, 15, 3, 7, 2, 2}

// secondCompact is the wire schema of the second version of the compact form of logs.
var secondCompact = schema.WireSchema{8, 1, 4, 7, 4, 5, 15, 3, 7, 2, 3}

// A server that has an older version of the compact form receives streams in that version, and current
// readers can read them.
func TestOlderCompactLogs(t *testing.T) {
	newest := otelstef.LogsCompactRoot()
	first, err := schema.Cut(newest, firstCompact)
	require.NoError(t, err)
	second, err := schema.Cut(newest, secondCompact)
	require.NoError(t, err)
	sendLogs(t, newest, first, firstCompact)
	sendLogs(t, first, newest, firstCompact)
	sendLogs(t, first, first, firstCompact)
	sendLogs(t, newest, second, secondCompact)
	sendLogs(t, second, newest, secondCompact)
	sendLogs(t, second, first, firstCompact)
	sendLogs(t, newest, newest, schema.WireOf(newest))
	sendLogs(t, first, otelstef.LogsRoot(), schema.WireOf(otelstef.LogsRoot()))
}

// firstCompactMetrics is the wire schema of the first version of the compact form of metrics.
var firstCompactMetrics = schema.WireSchema{8, 1, 8, 7, 4, 4, 5, 5, 5, 5, 9, 2, 3, 2, 5, 2, 6}

func TestFirstCompactMetrics(t *testing.T) {
	newest := otelstef.MetricsCompactRoot()
	first, err := schema.Cut(newest, firstCompactMetrics)
	require.NoError(t, err)
	sendMetrics(t, newest, first, firstCompactMetrics)
	sendMetrics(t, first, newest, firstCompactMetrics)
	sendMetrics(t, first, first, firstCompactMetrics)
	sendMetrics(t, newest, newest, schema.WireOf(newest))
	sendMetrics(t, first, otelstef.MetricsRoot(), schema.WireOf(otelstef.MetricsRoot()))
}

// If sender and receiver have different schemas, the stream has the older schema. The records arrive
// unchanged. The test covers all pairs of schemas.
func TestAllPairsOfSchemas(t *testing.T) {
	names := []string{"compact", "full", "reference"}
	metrics := formRoots(t, otelstef.MetricsCompactRoot(), otelstef.MetricsRoot(), otelstef.MetricsBaseSchema())
	// Logs have no published schema. So the test uses an older schema, which has only the first
	// fields of each struct.
	logs := formRoots(t, otelstef.LogsCompactRoot(), otelstef.LogsRoot(), olderLogs)
	spans := formRoots(t, otelstef.SpansCompactRoot(), otelstef.SpansRoot(), otelstef.SpansBaseSchema())
	for sender := range names {
		for receiver := range names {
			t.Run(fmt.Sprintf("%s to %s", names[sender], names[receiver]), func(t *testing.T) {
				agreed := max(sender, receiver)
				sendMetrics(t, metrics[sender], metrics[receiver], schema.WireOf(metrics[agreed]))
				sendSpans(t, spans[sender], spans[receiver], schema.WireOf(spans[agreed]))
				sendLogs(t, logs[sender], logs[receiver], schema.WireOf(logs[agreed]))
			})
		}
	}
}

func open(t *testing.T, sender, receiver *schema.Struct, h stefgrpc.HandlerFunc) *stefgrpc.Stream {
	t.Helper()
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(receiver, h))
	g := grpc.NewServer()
	server.Register(g)
	client, err := stefgrpc.NewClient(serveGRPC(t, g))
	require.NoError(t, err)
	s, err := client.Open(within(t, 10*time.Second), sender)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func setPoint(rec *otelstef.Metrics, i int) {
	rec.EditMetric().SetName(fmt.Sprint("m", i%3))
	rec.Point().SetTimestamp(uint64(1_000_000_000 * i))
	if i%3 == 0 {
		rec.Point().Value().SetFloat64(float64(i) / 4)
	} else {
		rec.Point().Value().SetInt64(int64(i * i))
	}
	list := rec.Point().Exemplars()
	list.SetLen(1 + i%3)
	for k := range list.Len() {
		list.At(k).SetTimestamp(uint64(i / (3 + k)))
		list.At(k).SetTraceID([]byte(fmt.Sprintf("trace%011d", k)))
		list.At(k).SetSpanID([]byte(fmt.Sprintf("span%04d", k)))
	}
}

func sendMetrics(t *testing.T, sender, receiver *schema.Struct, want schema.WireSchema) {
	t.Helper()
	send(t, sender, receiver, want, otelstef.NewMetrics, setPoint, otelstef.NewMetricsReader, otelstef.NewMetricsWriter)
}

// send sends records in the agreed schema, and compares them with the received records.
func send[R any, P interface {
	*R
	Equal(*R) bool
}, In interface {
	Next() bool
	Record() *R
	Stats() stef.ReaderStats
	Err() error
	Close()
}, Out interface {
	Schema() schema.WireSchema
	Record() *R
	Write() error
	Flush() error
}](t *testing.T, sender, receiver *schema.Struct, want schema.WireSchema, newRecord func() P, set func(rec *R, i int),
	newReader func(io.Reader, ...stef.ReaderOption) (In, error), newWriter func(io.Writer, ...stef.WriterOption) (Out, error)) {
	t.Helper()
	const n = 50
	s := open(t, sender, receiver, func(s *stefgrpc.ServerStream) error {
		r, err := newReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		expected := newRecord()
		for i := 0; r.Next(); i++ {
			set(expected, i)
			if !expected.Equal(r.Record()) {
				return fmt.Errorf("record %d differs from the one that was sent", i)
			}
			s.AckUpTo(r.Stats().Records)
		}
		return r.Err()
	})
	w, err := newWriter(s, s.WriterOptions()...)
	require.NoError(t, err)
	require.Equal(t, want, w.Schema())
	for i := range n {
		set(w.Record(), i)
		require.NoError(t, w.Write())
		if i%7 == 0 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Flush())
	require.NoError(t, s.AwaitAll(within(t, 10*time.Second)))
	require.NoError(t, s.Drain(within(t, 10*time.Second)))
}

func setSpan(rec *otelstef.Spans, i int) {
	span := rec.Span()
	span.SetTraceID([]byte(fmt.Sprintf("trace%011d", i/5)))
	span.SetSpanID([]byte(fmt.Sprintf("span%04d", i)))
	span.SetParentSpanID([]byte(fmt.Sprintf("span%04d", i/2)))
	span.SetStartTimeUnixNano(uint64(1_000_000 * i))
	span.SetEndTimeUnixNano(uint64(1_000_000*i + 1_500))
}

func sendSpans(t *testing.T, sender, receiver *schema.Struct, want schema.WireSchema) {
	t.Helper()
	send(t, sender, receiver, want, otelstef.NewSpans, setSpan, otelstef.NewSpansReader, otelstef.NewSpansWriter)
}

func setLog(rec *otelstef.Logs, i int) {
	log := rec.Record()
	log.SetTime(uint64(1_000_000 * i))
	log.SetObservedTime(uint64(1_000_000*i + 700*(i%3)))
	log.SetTraceID([]byte(fmt.Sprintf("trace%011d", i/5)))
	log.SetSpanID([]byte(fmt.Sprintf("span%04d", i/2)))
	log.SetSeverityNumber(uint64(i % 20))
	log.Body().SetString(fmt.Sprint("line ", i))
}

func sendLogs(t *testing.T, sender, receiver *schema.Struct, want schema.WireSchema) {
	t.Helper()
	send(t, sender, receiver, want, otelstef.NewLogs, setLog, otelstef.NewLogsReader, otelstef.NewLogsWriter)
}
