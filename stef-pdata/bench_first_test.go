// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The benchmarks of first batches measure batches of the original size, each in a stream of its
// own, with zstd in the compact form:
//
//	BenchmarkFirst/SIGNAL/set=S/op=encode/stream=new     new writer and encoder
//	BenchmarkFirst/SIGNAL/set=S/op=encode/stream=next    writer and encoder after Reset
//	BenchmarkFirst/SIGNAL/set=S/op=encode/stream=otlp    marshal and zstd
//	BenchmarkFirst/SIGNAL/set=S/op=decode/...            the same for reading
//
// us/stream is the time for one stream, in µs. BenchmarkAges has larger batches.

// firstStreams is the number of measured batches. They are spread evenly over the set.
const firstStreams = 8

// A resetter encodes or decodes the batches of a set in streams that reuse the memory
// of the streams before them.
type resetter[T any] struct {
	// encode writes a batch as a stream.
	encode func(dst io.Writer, batch T) error
	// decode reads a stream to its end.
	decode func(src io.Reader) error
}

// resetters returns a function that makes a resetter from the writer, encoder, reader
// and decoder of a signal.
func resetters[
	T any,
	W interface {
		Reset(dst io.Writer) error
		Close() error
	},
	E interface {
		Reset()
		Encode(batch T) error
	},
	R interface {
		Reset(src io.Reader) error
		Close()
	},
	D interface {
		Reset()
		Decode() (T, error)
	},
](
	newWriter func(io.Writer, ...stef.WriterOption) (W, error), compact stef.WriterOption, newEncoder func(W, ...stefpdata.EncoderOption) E,
	newReader func(io.Reader, ...stef.ReaderOption) (R, error), newDecoder func(R, ...stefpdata.DecoderOption) D,
) func(b *testing.B) resetter[T] {
	return func(b *testing.B) resetter[T] {
		w, err := newWriter(io.Discard, compact, stef.WithCompression(stef.Zstd))
		require.NoError(b, err)
		e := newEncoder(w)
		var r R
		var d D
		begun := false
		begin := func(src io.Reader) (err error) {
			if begun {
				err = r.Reset(src)
				d.Reset()
				return err
			}
			if r, err = newReader(src); err == nil {
				d, begun = newDecoder(r), true
			}
			return err
		}
		return resetter[T]{
			encode: func(dst io.Writer, batch T) error {
				if err := w.Reset(dst); err != nil {
					return err
				}
				e.Reset()
				return errors.Join(e.Encode(batch), w.Close())
			},
			decode: func(src io.Reader) error {
				err := begin(src)
				if err != nil {
					return err
				}
				defer r.Close()
				for err == nil {
					_, err = d.Decode()
				}
				return err
			},
		}
	}
}

func benchFirst[T any](b *testing.B, f *formsOf[T], suffix string, next func(b *testing.B) resetter[T]) {
	f.readRecordings(b, suffix, func(name string, parts []T) {
		var batches []T
		var streams, messages [][]byte
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(stef.DefaultWindowBytes))
		require.NoError(b, err)
		unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		require.NoError(b, err)
		for i := range firstStreams {
			batch := parts[i*len(parts)/firstStreams]
			batches = append(batches, batch)
			streams = append(streams, f.stream(b, []T{batch}, f.compact()))
			message, err := f.marshal(batch)
			require.NoError(b, err)
			messages = append(messages, z.EncodeAll(message, nil))
		}
		n := next(b)
		var out bytes.Buffer
		each := func(way string, op func(i int) error) {
			b.Run("set="+name+"/"+way, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for i := range batches {
						if err := op(i); err != nil && !errors.Is(err, io.EOF) {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(batches)), "us/stream")
				b.ReportMetric(0, "ns/op")
			})
		}
		var buffer []byte
		each("op=encode/stream=otlp", func(i int) error {
			message, err := f.marshal(batches[i])
			buffer = z.EncodeAll(message, buffer[:0])
			return err
		})
		each("op=encode/stream=new", func(i int) error {
			out.Reset()
			e, err := f.encoder(&out, f.mode, f.compact(), stef.WithCompression(stef.Zstd))
			if err != nil {
				return err
			}
			return errors.Join(e.encode(batches[i]), e.close())
		})
		each("op=encode/stream=next", func(i int) error {
			out.Reset()
			return n.encode(&out, batches[i])
		})
		each("op=decode/stream=otlp", func(i int) error {
			var err error
			if buffer, err = unzip.DecodeAll(messages[i], buffer[:0]); err != nil {
				return err
			}
			_, err = f.unmarshal(buffer)
			return err
		})
		each("op=decode/stream=new", func(i int) error { return f.decode(bytes.NewReader(streams[i])) })
		each("op=decode/stream=next", func(i int) error { return n.decode(bytes.NewReader(streams[i])) })
	})
}

func BenchmarkFirst(b *testing.B) {
	holdBallast()
	b.Run("metrics", func(b *testing.B) {
		benchFirst(b, &metricsForms, "metrics", resetters[pmetric.Metrics](
			otelstef.NewMetricsWriter, otelstef.CompactMetrics(), stefpdata.NewMetricsEncoder,
			otelstef.NewMetricsReader, stefpdata.NewMetricsDecoder))
	})
	b.Run("traces", func(b *testing.B) {
		benchFirst(b, &tracesForms, "traces", resetters[ptrace.Traces](
			otelstef.NewSpansWriter, otelstef.CompactSpans(), stefpdata.NewTracesEncoder,
			otelstef.NewSpansReader, stefpdata.NewTracesDecoder))
	})
	b.Run("logs", func(b *testing.B) {
		benchFirst(b, &logsForms, "logs", resetters[plog.Logs](
			otelstef.NewLogsWriter, otelstef.CompactLogs(), stefpdata.NewLogsEncoder,
			otelstef.NewLogsReader, stefpdata.NewLogsDecoder))
	})
}
