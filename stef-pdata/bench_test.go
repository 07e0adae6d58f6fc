// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The benchmarks of all signals run OTLP and STEF on the same batches in the same way. The
// benchmarks of STEF also report their time as a share of the time of OTLP:
//
//	set=S/batch=B/zstd=Z/to=otlp                      marshal
//	set=S/batch=B/zstd=Z/to=stef/mode=M/warm=W        Encode and Flush
//	set=S/batch=B/zstd=Z/from=otlp                    unmarshal
//	set=S/batch=B/zstd=Z/from=stef/mode=M             Decode
//
// batch=parts has a frame for each part of a set, batch=one has one frame for the whole set. With
// warm=true, the encoder has already seen all content. With warm=false, each round starts a new
// stream.
//
// The garbage collector takes a smaller share of the time if the live heap is larger: it runs every
// few operations in a plain benchmark, but rarely in a busy Collector. STEF_BALLAST is the size of
// additional live heap in MiB.

// signal holds the functions of one signal that the benchmarks need.
type signal[T any] struct {
	marshal   func(T) ([]byte, error)
	unmarshal func([]byte) (T, error)
	items     func(T) int
	// encoder begins a stream.
	encoder func(dst io.Writer, mode stefpdata.Mode, options ...stef.WriterOption) (streamEncoder[T], error)
	// decode reads a stream to its end and returns the error that ended it.
	decode func(stream io.Reader) error
	modes  []stefpdata.Mode
}

type streamEncoder[T any] struct {
	encode       func(T) error
	flush, close func() error
}

type benchSet[T any] struct {
	signal[T]
	batches []T
	items   int
}

var ballast []byte

func holdBallast() {
	if mib, _ := strconv.Atoi(os.Getenv("STEF_BALLAST")); mib > 0 && ballast == nil {
		ballast = make([]byte, mib<<20)
	}
}

// eachBatching runs a benchmark with the parts of a set as batches, and with the whole set as
// one batch.
func eachBatching[T any](b *testing.B, s signal[T], name string, parts []T, one func([]T) T, run func(b *testing.B, s benchSet[T])) {
	holdBallast()
	items := 0
	for _, part := range parts {
		items += s.items(part)
	}
	all := parts
	if len(parts) > 1 {
		b.Run("set="+name+"/batch=parts", func(b *testing.B) { run(b, benchSet[T]{s, parts, items}) })
		all = []T{one(parts)}
	}
	b.Run("set="+name+"/batch=one", func(b *testing.B) { run(b, benchSet[T]{s, all, items}) })
}

// measure runs op, which writes or reads the returned number of bytes, and reports
// the time per item. otlp is the time per item with OTLP, or 0 if op itself uses OTLP.
func (s *benchSet[T]) measure(b *testing.B, otlp float64, op func() (bytes int)) (perItem float64) {
	size := 0
	b.ReportAllocs()
	runtime.GC()
	for b.Loop() {
		size = op()
	}
	perItem = float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(s.items)
	b.ReportMetric(perItem, "ns/item")
	b.ReportMetric(float64(size)/float64(s.items), "B/item")
	if otlp > 0 {
		b.ReportMetric(perItem/otlp, "xOTLP")
	}
	return perItem
}

func compressionOf(compressed bool) stef.WriterOption {
	if compressed {
		return stef.WithCompression(stef.Zstd)
	}
	return stef.WithCompression(stef.None)
}

// runs are the results of the repetitions of a benchmark.
type runs []float64

func (r *runs) add(measured float64) { *r = append(*r, measured) }

// median returns the median, or 0 if nothing was measured.
func (r runs) median() float64 {
	if len(r) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(r))
	return (sorted[(len(r)-1)/2] + sorted[len(r)/2]) / 2
}

func benchEncode[T any](b *testing.B, s benchSet[T]) {
	for _, compressed := range []bool{false, true} {
		prefix, otlp := fmt.Sprintf("zstd=%t/", compressed), runs(nil)
		b.Run(prefix+"to=otlp", func(b *testing.B) { otlp.add(s.marshalAll(b, compressed)) })
		for _, mode := range s.modes {
			for _, warm := range []bool{false, true} {
				b.Run(fmt.Sprintf("%sto=stef/mode=%v/warm=%t", prefix, mode, warm), func(b *testing.B) {
					s.encodeAll(b, otlp.median(), mode, warm, compressionOf(compressed))
				})
			}
		}
	}
}

func (s *benchSet[T]) marshalAll(b *testing.B, compressed bool) float64 {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(stef.DefaultWindowBytes))
	require.NoError(b, err)
	var out []byte
	return s.measure(b, 0, func() (n int) {
		for _, batch := range s.batches {
			data, err := s.signal.marshal(batch)
			if err != nil {
				b.Fatal(err)
			}
			if compressed {
				out = z.EncodeAll(data, out[:0])
				data = out
			}
			n += len(data)
		}
		return n
	})
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func (s *benchSet[T]) encodeAll(b *testing.B, otlp float64, mode stefpdata.Mode, warm bool, options ...stef.WriterOption) {
	var size counter
	var e streamEncoder[T]
	begin := func() {
		var err error
		e, err = s.encoder(&size, mode, options...)
		require.NoError(b, err)
	}
	encode := func() int {
		size = 0
		for _, batch := range s.batches {
			if err := errors.Join(e.encode(batch), e.flush()); err != nil {
				b.Fatal(err)
			}
		}
		return int(size)
	}
	begin()
	encode()
	s.measure(b, otlp, func() int {
		if !warm {
			require.NoError(b, e.close())
			begin()
		}
		return encode()
	})
	require.NoError(b, e.close())
}

func benchDecode[T any](b *testing.B, s benchSet[T]) {
	for _, compressed := range []bool{false, true} {
		prefix, otlp := fmt.Sprintf("zstd=%t/", compressed), runs(nil)
		b.Run(prefix+"from=otlp", func(b *testing.B) { otlp.add(s.unmarshalAll(b, compressed)) })
		for _, mode := range s.modes {
			b.Run(fmt.Sprintf("%sfrom=stef/mode=%v", prefix, mode), func(b *testing.B) {
				s.decodeAll(b, otlp.median(), mode, compressionOf(compressed))
			})
		}
	}
}

func (s *benchSet[T]) unmarshalAll(b *testing.B, compressed bool) float64 {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(stef.DefaultWindowBytes))
	require.NoError(b, err)
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(b, err)
	defer r.Close()
	var messages [][]byte
	for _, batch := range s.batches {
		message, err := s.signal.marshal(batch)
		require.NoError(b, err)
		if compressed {
			message = z.EncodeAll(message, nil)
		}
		messages = append(messages, message)
	}
	var plain []byte
	return s.measure(b, 0, func() (n int) {
		for _, message := range messages {
			n += len(message)
			if compressed {
				if plain, err = r.DecodeAll(message, plain[:0]); err != nil {
					b.Fatal(err)
				}
				message = plain
			}
			if _, err := s.signal.unmarshal(message); err != nil {
				b.Fatal(err)
			}
		}
		return n
	})
}

func (s *benchSet[T]) decodeAll(b *testing.B, otlp float64, mode stefpdata.Mode, options ...stef.WriterOption) {
	var stream bytes.Buffer
	e, err := s.encoder(&stream, mode, options...)
	require.NoError(b, err)
	for _, batch := range s.batches {
		require.NoError(b, errors.Join(e.encode(batch), e.flush()))
	}
	require.NoError(b, e.close())
	s.measure(b, otlp, func() int {
		if err := s.decode(bytes.NewReader(stream.Bytes())); !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		return stream.Len()
	})
}
