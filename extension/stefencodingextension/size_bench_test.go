// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest"
)

// The benchmarks print the name of their data first.
var _ = teltest.BenchSets("recordings of the repository")

var messageItems = []int{1, 10, 100, 1000, 8192}

type source struct {
	name  string
	parts [][]byte
	all   func(tb testing.TB, parts [][]byte, items int) []message
}

// cut returns at most maxMessages messages of the given number of items, spread evenly over
// the parts.
func (s *source) cut(tb testing.TB, parts [][]byte, items int) []message {
	return pick(s.all(tb, parts, items), maxMessages)
}

// message marshals one batch as STEF or OTLP. back unmarshals STEF and returns the number of items.
type message struct {
	items int
	stef  func(e *stefEncoding) ([]byte, error)
	back  func(e *stefEncoding, b []byte) (int, error)
	otlp  func() ([]byte, error)
}

// maxMessages is the maximum number of messages of a size that are measured. They are
// spread over the recording.
const maxMessages = 50

// pick returns up to most elements of a list, evenly spread.
func pick[B any](list []B, most int) []B {
	var picked []B
	n := min(len(list), most)
	for i := range n {
		picked = append(picked, list[i*len(list)/n])
	}
	return picked
}

func traceMessages(tb testing.TB, parts [][]byte, n int) (list []message) {
	for _, td := range cutTraces(unmarshalAll(tb, parts, (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces), n) {
		list = append(list, message{
			items: td.SpanCount(),
			stef:  func(e *stefEncoding) ([]byte, error) { return e.MarshalTraces(td) },
			back: func(e *stefEncoding, b []byte) (int, error) {
				td, err := e.UnmarshalTraces(b)
				return td.SpanCount(), err
			},
			otlp: func() ([]byte, error) { return (&ptrace.ProtoMarshaler{}).MarshalTraces(td) },
		})
	}
	return list
}

func metricMessages(tb testing.TB, parts [][]byte, n int) (list []message) {
	for _, md := range cutMetrics(unmarshalAll(tb, parts, (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics), n) {
		list = append(list, message{
			items: md.DataPointCount(),
			stef:  func(e *stefEncoding) ([]byte, error) { return e.MarshalMetrics(md) },
			back: func(e *stefEncoding, b []byte) (int, error) {
				md, err := e.UnmarshalMetrics(b)
				return md.DataPointCount(), err
			},
			otlp: func() ([]byte, error) { return (&pmetric.ProtoMarshaler{}).MarshalMetrics(md) },
		})
	}
	return list
}

func logMessages(tb testing.TB, parts [][]byte, n int) (list []message) {
	for _, ld := range cutLogs(unmarshalAll(tb, parts, (&plog.ProtoUnmarshaler{}).UnmarshalLogs), n) {
		list = append(list, message{
			items: ld.LogRecordCount(),
			stef:  func(e *stefEncoding) ([]byte, error) { return e.MarshalLogs(ld) },
			back: func(e *stefEncoding, b []byte) (int, error) {
				ld, err := e.UnmarshalLogs(b)
				return ld.LogRecordCount(), err
			},
			otlp: func() ([]byte, error) { return (&plog.ProtoMarshaler{}).MarshalLogs(ld) },
		})
	}
	return list
}

func recordings(tb testing.TB) []source {
	return []source{
		{"traces", partsOf(tb, fixtures.Traces()), traceMessages},
		{"metrics", partsOf(tb, fixtures.Metrics()), metricMessages},
		{"logs", partsOf(tb, fixtures.Logs()), logMessages},
	}
}

func largeSets(tb testing.TB) []source {
	list := recordings(tb)
	for _, s := range []struct {
		folder string
		cut    func(testing.TB, [][]byte, int) []message
		names  []string
	}{
		{"traces", traceMessages, []string{"hipstershop-oteltraces"}},
		{"metrics", metricMessages, []string{"hipstershop-otelmetrics", "hostandcollector-otelmetrics"}},
		{"logs", logMessages, []string{"kafka-otellogs", "webnodes-otellogs", "cloudtrail-otellogs", "astronomy-otellogs", "k8sapps-otellogs"}},
	} {
		for _, name := range s.names {
			path := teltest.Data(tb, s.folder, name+".zst")
			list = append(list, source{name, teltest.Parts(tb, path), s.cut})
		}
	}
	return list
}

// compressors are the codecs that Kafka producers offer.
var compressors = []struct {
	name     string
	compress func(tb testing.TB, b []byte) int
}{
	{"zstd", compressZstd},
	{"gzip", func(tb testing.TB, b []byte) int {
		return compressed(tb, b, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	}},
	{"snappy", func(_ testing.TB, b []byte) int { return len(snappy.Encode(nil, b)) }},
	{"lz4", func(tb testing.TB, b []byte) int {
		return compressed(tb, b, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) })
	}},
	{"none", func(_ testing.TB, b []byte) int { return len(b) }},
}

type form struct {
	name string
	size func(tb testing.TB, m message) int
}

// stefForm returns the form of STEF with a configuration. It checks that all items can be read.
func stefForm(tb testing.TB, name, config string) form {
	e := newEncoding(tb, config)
	return form{name, func(tb testing.TB, m message) int {
		out, err := m.stef(e)
		require.NoError(tb, err)
		got, err := m.back(e, out)
		require.NoError(tb, err)
		require.Equal(tb, m.items, got)
		return len(out)
	}}
}

// forms returns the columns of the table of sizes: STEF in two schemas, and otlp_proto with
// each compression.
func forms(tb testing.TB) []form {
	list := []form{stefForm(tb, "stef-compact", "{}"), stefForm(tb, "stef-full", "{schema: full}")}
	for _, c := range compressors {
		list = append(list, form{"otlp-" + c.name, func(tb testing.TB, m message) int {
			out, err := m.otlp()
			require.NoError(tb, err)
			return c.compress(tb, out)
		}})
	}
	return list
}

func (f form) perItem(tb testing.TB, messages []message) float64 {
	bytes, items := 0, 0
	for _, m := range messages {
		bytes, items = bytes+f.size(tb, m), items+m.items
	}
	return float64(bytes) / float64(items)
}

// zstdEncoder is shared, because creating an encoder takes longer than compressing a message.
var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
})

func compressZstd(tb testing.TB, b []byte) int {
	z, err := zstdEncoder()
	require.NoError(tb, err)
	return len(z.EncodeAll(b, nil))
}

func compressed(tb testing.TB, b []byte, newWriter func(io.Writer) io.WriteCloser) int {
	var out bytes.Buffer
	w := newWriter(&out)
	_, err := w.Write(b)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return out.Len()
}

// BenchmarkSize reports the bytes per item for several sizes of messages, for STEF and for
// otlp_proto with each compression that Kafka producers offer.
func BenchmarkSize(b *testing.B) { benchmarkSize(b, recordings(b)) }

func BenchmarkSizeLarge(b *testing.B) { benchmarkSize(b, largeSets(b)) }

func benchmarkSize(b *testing.B, sources []source) {
	forms := forms(b)
	for _, s := range sources {
		for _, n := range messageItems {
			messages := s.cut(b, s.parts, n)
			if messages[0].items < n {
				continue // the recording has fewer than n items
			}
			for _, f := range forms {
				b.Run(fmt.Sprintf("set=%s/items=%d/as=%s", s.name, n, f.name), func(b *testing.B) {
					for b.Loop() {
					}
					b.ReportMetric(f.perItem(b, messages), "B/item")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

var batchMessages = []int{1, 2, 5, 10}

var batchForms = []string{"message", "batch", "otlp"}

const maxBatches = 10

// BenchmarkRecordBatches reports the bytes per item if a Kafka producer sends several
// messages in a record batch:
//
//	zstd=message    STEF compresses each message, the producer does not compress
//	zstd=batch      the producer compresses a batch of STEF with compression: none
//	zstd=otlp       the producer compresses a batch of otlp_proto
func BenchmarkRecordBatches(b *testing.B) { benchmarkRecordBatches(b, recordings(b)) }

func BenchmarkRecordBatchesLarge(b *testing.B) { benchmarkRecordBatches(b, largeSets(b)) }

func benchmarkRecordBatches(b *testing.B, sources []source) {
	alone, plain := newEncoding(b, "{}"), newEncoding(b, "{compression: none}")
	for _, s := range sources {
		for _, n := range []int{10, 100, 1000} {
			for _, k := range batchMessages {
				batches := pick(recordBatches(s.all(b, s.parts, n), k), maxBatches)
				if len(batches) == 0 || batches[0][0].items < n {
					continue // the recording has too few items for one batch
				}
				for _, as := range batchForms {
					b.Run(fmt.Sprintf("set=%s/items=%d/messages=%d/zstd=%s", s.name, n, k, as), func(b *testing.B) {
						for b.Loop() {
						}
						b.ReportMetric(batchesPerItem(b, batches, as, alone, plain), "B/item")
						b.ReportMetric(0, "ns/op")
					})
				}
			}
		}
	}
}

func recordBatches(messages []message, k int) (batches [][]message) {
	for ; len(messages) >= k; messages = messages[k:] {
		batches = append(batches, messages[:k])
	}
	return batches
}

func batchesPerItem(tb testing.TB, batches [][]message, as string, alone, plain *stefEncoding) float64 {
	size, items := 0, 0
	for _, batch := range batches {
		bytes, n := recordBatch(tb, batch, as, alone, plain)
		size, items = size+bytes, items+n
	}
	return float64(size) / float64(items)
}

func recordBatch(tb testing.TB, batch []message, as string, alone, plain *stefEncoding) (size, items int) {
	var values []byte
	for _, m := range batch {
		var value []byte
		var err error
		switch as {
		case "message":
			value, err = m.stef(alone)
		case "batch":
			value, err = m.stef(plain)
		default:
			value, err = m.otlp()
		}
		require.NoError(tb, err)
		values, items = append(values, value...), items+m.items
	}
	if as == "message" {
		return len(values), items
	}
	return compressZstd(tb, values), items
}

// TestRecordBatches: if a producer compresses several messages together, uncompressed STEF messages
// are smaller than otlp_proto. Messages of 100 points of the recorded metrics are an exception.
func TestRecordBatches(t *testing.T) {
	plain := newEncoding(t, "{compression: none}")
	for _, s := range recordings(t) {
		for _, n := range []int{100, 1000} {
			if s.name == "metrics" && n == 100 {
				continue
			}
			messages := s.all(t, s.parts, n)
			for _, k := range batchMessages {
				ours, theirs := 0, 0
				for _, batch := range pick(recordBatches(messages, k), maxBatches) {
					stef, _ := recordBatch(t, batch, "batch", nil, plain)
					otlp, _ := recordBatch(t, batch, "otlp", nil, nil)
					ours, theirs = ours+stef, theirs+otlp
				}
				require.LessOrEqual(t, ours, theirs, "%s, %d items a message, %d messages", s.name, n, k)
			}
		}
	}
}

// TestSmallerThanOTLP: STEF messages of at least 10 items are smaller than otlp_proto with any
// compression of a producer.
func TestSmallerThanOTLP(t *testing.T) { requireSmaller(t, recordings(t), 10, 100, 1000) }

func TestSmallerThanOTLPLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("cuts large sets")
	}
	requireSmaller(t, largeSets(t), 10, 100)
}

func requireSmaller(t *testing.T, sources []source, numbers ...int) {
	t.Helper()
	e := newEncoding(t, "{}")
	for _, s := range sources {
		for _, n := range numbers {
			ours, theirs := 0, make([]int, len(compressors))
			for _, m := range s.cut(t, s.parts, n) {
				out, err := m.stef(e)
				require.NoError(t, err)
				ours += len(out)
				otlp, err := m.otlp()
				require.NoError(t, err)
				for i, c := range compressors {
					theirs[i] += c.compress(t, otlp)
				}
			}
			for i, c := range compressors {
				require.Less(t, ours, theirs[i], "%s, %d items a message, %s", s.name, n, c.name)
			}
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	e := newEncoding(b, "{}")
	benchmarkMessages(b, "stef", func(m *message) func() error {
		return func() error { _, err := m.stef(e); return err }
	})
	benchmarkMessages(b, "otlp", func(m *message) func() error {
		return func() error { _, err := m.otlp(); return err }
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	e := newEncoding(b, "{}")
	benchmarkMessages(b, "stef", func(m *message) func() error {
		out, err := m.stef(e)
		require.NoError(b, err)
		return func() error { _, err := m.back(e, out); return err }
	})
}

func benchmarkMessages(b *testing.B, as string, prepare func(m *message) func() error) {
	for _, s := range recordings(b) {
		for _, n := range messageItems {
			messages := s.cut(b, s.parts, n)
			work := make([]func() error, len(messages))
			for i := range messages {
				work[i] = prepare(&messages[i])
			}
			b.Run(fmt.Sprintf("set=%s/items=%d/as=%s", s.name, n, as), func(b *testing.B) {
				b.ReportAllocs()
				items := 0
				for i := 0; b.Loop(); i++ {
					if err := work[i%len(work)](); err != nil {
						b.Fatal(err)
					}
					items += messages[i%len(work)].items
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(items), "ns/item")
			})
		}
	}
}
