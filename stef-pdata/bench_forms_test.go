// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The benchmarks of forms compare the compact form with the full form, each with the level
// of zstd that the exporter selects for this form. Each operation measures both forms in turn,
// so that other load of the machine slows both down:
//
//	BenchmarkForms/SIGNAL/set=S/op=encode     Encode and Flush of each part, zstd
//	BenchmarkForms/SIGNAL/set=S/op=decode     Decode to the end
//	BenchmarkForms/SIGNAL/set=S/op=iterate    Next to the end, without pdata
//	BenchmarkForms/SIGNAL/set=S/op=steady     the second half of the records of iterate
//
// Each operation has its own stream. op=steady measures only the second half of the stream, after
// it has read the first half. ns/item is the CPU time of the process in the compact form, xfull is
// the ratio of this time to the time in the full form, and xbytes is the ratio of the bytes. Use an
// even number of turns, such as -benchtime 10x.

// formsOf holds what the benchmarks of forms need in addition to the functions of signal.
type formsOf[T any] struct {
	signal[T]
	mode    stefpdata.Mode
	join    func(parts []T) T
	compact func() stef.WriterOption
	level   stef.Level // level for the compact form
	// iterate reads the records of a stream to its end without pdata. It calls mark after the
	// number of records in halfway.
	iterate func(stream io.Reader, halfway int, mark func()) error
}

func (f *formsOf[T]) run(b *testing.B, name string, parts []T) {
	items := 0
	for _, part := range parts {
		items += f.items(part)
	}
	form := f.defaults()
	full, compact := f.stream(b, parts), f.stream(b, parts, form...)
	perItem := func(b *testing.B, items int, op func(b *testing.B, begin *time.Duration, stream []byte, options ...stef.WriterOption)) {
		var start time.Duration
		ops := [2]func(){
			func() { op(b, &start, full) },
			func() { op(b, &start, compact, form...) },
		}
		ops[0]()
		ops[1]()
		var spent [2]time.Duration
		b.ResetTimer()
		for turn := 0; b.Loop(); turn++ {
			// The order of the two forms alternates: most garbage of both forms is collected while the
			// second one runs, so the second one seems slower.
			for i := range ops {
				form := (turn + i) % 2
				start = cpuTime()
				ops[form]()
				spent[form] += cpuTime() - start
			}
		}
		b.ReportMetric(float64(spent[1].Nanoseconds())/float64(b.N)/float64(items), "ns/item")
		b.ReportMetric(float64(spent[1])/float64(spent[0]), "xfull")
		b.ReportMetric(float64(len(compact))/float64(len(full)), "xbytes")
		b.ReportMetric(float64(len(compact)), "bytes")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("set="+name+"/op=encode", func(b *testing.B) {
		perItem(b, items, func(b *testing.B, _ *time.Duration, _ []byte, options ...stef.WriterOption) {
			f.stream(b, parts, options...)
		})
	})
	b.Run("set="+name+"/op=decode", func(b *testing.B) {
		perItem(b, items, func(b *testing.B, _ *time.Duration, stream []byte, _ ...stef.WriterOption) {
			if err := f.decode(bytes.NewReader(stream)); !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
		})
	})
	b.Run("set="+name+"/op=iterate", func(b *testing.B) {
		perItem(b, items, func(b *testing.B, _ *time.Duration, stream []byte, _ ...stef.WriterOption) {
			require.NoError(b, f.iterate(bytes.NewReader(stream), 0, nil))
		})
	})
	b.Run("set="+name+"/op=steady", func(b *testing.B) {
		perItem(b, items-items/2, func(b *testing.B, begin *time.Duration, stream []byte, _ ...stef.WriterOption) {
			require.NoError(b, f.iterate(bytes.NewReader(stream), items/2, func() { *begin = cpuTime() }))
		})
	})
}

// stream returns a stream with a frame for each part.
func (f *formsOf[T]) stream(b *testing.B, parts []T, options ...stef.WriterOption) []byte {
	var out bytes.Buffer
	e, err := f.encoder(&out, f.mode, append([]stef.WriterOption{stef.WithCompression(stef.Zstd)}, options...)...)
	require.NoError(b, err)
	for _, part := range parts {
		if err := errors.Join(e.encode(part), e.flush()); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, e.close())
	return out.Bytes()
}

func BenchmarkForms(b *testing.B) {
	holdBallast()
	b.Run("traces", func(b *testing.B) {
		f := &tracesForms
		f.readRecordings(b, "traces", func(name string, parts []ptrace.Traces) { f.run(b, name, parts) })
		f.run(b, "hipstershop", realTraces(b, hipstershopTraces))
	})
	b.Run("metrics", func(b *testing.B) {
		f := &metricsForms
		f.readRecordings(b, "metrics", func(name string, parts []pmetric.Metrics) { f.run(b, name, parts) })
		for _, set := range []string{"hipstershop", "hostandcollector"} {
			f.run(b, set, realMetrics(b, set+"-otelmetrics"))
		}
	})
	b.Run("logs", func(b *testing.B) {
		f := &logsForms
		f.readRecordings(b, "logs", func(name string, parts []plog.Logs) { f.run(b, name, parts) })
		for _, set := range logSets {
			f.run(b, set, unmarshalLogs(b, logParts(b, set)))
		}
	})
}
