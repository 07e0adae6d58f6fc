// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The benchmarks of revisions measure the streams that a revision of this repository writes by
// default. "make before" compares two revisions with these benchmarks.
//
//	BenchmarkRevision/SIGNAL/set=S/op=encode     Encode and Flush of each part, zstd
//	BenchmarkRevision/SIGNAL/set=S/op=decode     Decode to the end
//	BenchmarkRevision/SIGNAL/set=S/op=iterate    Next to the end, without pdata
//
// Each operation is a stream of its own. cpu-ns/item is CPU time of the process.
//
// This file is copied into old revisions that have no compact form, so it uses only functions that
// these revisions have. revisionOptions is empty in them, because bench_defaults_test.go is not
// copied.

// revisionOptions has a function for each signal. The function returns the options of writers
// that the exporter sets by default.
var revisionOptions = map[string]func() []stef.WriterOption{}

// cpuTime is the CPU time of the process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The functions below read a stream to its end without pdata. If halfway is not 0, they call
// mark after this number of records.

func iterateMetrics(stream io.Reader, halfway int, mark func()) error {
	r, err := otelstef.NewMetricsReader(stream)
	if err != nil {
		return err
	}
	defer r.Close()
	for n := 1; r.Next(); n++ {
		if n == halfway {
			mark()
		}
	}
	return r.Err()
}

func iterateSpans(stream io.Reader, halfway int, mark func()) error {
	r, err := otelstef.NewSpansReader(stream)
	if err != nil {
		return err
	}
	defer r.Close()
	for n := 1; r.Next(); n++ {
		if n == halfway {
			mark()
		}
	}
	return r.Err()
}

func iterateLogs(stream io.Reader, halfway int, mark func()) error {
	r, err := otelstef.NewLogsReader(stream)
	if err != nil {
		return err
	}
	defer r.Close()
	for n := 1; r.NextBorrowing(); n++ {
		if n == halfway {
			mark()
		}
	}
	return r.Err()
}

func benchRevision[T any](b *testing.B, s signal[T], suffix string, mode stefpdata.Mode, iterate func(stream io.Reader, halfway int, mark func()) error,
	large func(run func(name string, parts []T)),
) {
	options := []stef.WriterOption{stef.WithCompression(stef.Zstd)}
	if more := revisionOptions[suffix]; more != nil {
		options = append(options, more()...)
	}
	run := func(name string, parts []T) {
		items := 0
		for _, part := range parts {
			items += s.items(part)
		}
		write := func() []byte {
			var out bytes.Buffer
			e, err := s.encoder(&out, mode, options...)
			require.NoError(b, err)
			for _, part := range parts {
				if err := errors.Join(e.encode(part), e.flush()); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, e.close())
			return out.Bytes()
		}
		stream := write()
		measure := func(op string, f func()) {
			b.Run("set="+name+"/op="+op, func(b *testing.B) {
				f()
				start := cpuTime()
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(b.N)/float64(items), "cpu-ns/item")
				b.ReportMetric(float64(len(stream)), "bytes")
				b.ReportMetric(0, "ns/op")
			})
		}
		measure("encode", func() { write() })
		measure("decode", func() {
			if err := s.decode(bytes.NewReader(stream)); !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
		})
		measure("iterate", func() { require.NoError(b, iterate(bytes.NewReader(stream), 0, nil)) })
	}

	end := "-" + suffix + ".otlp.zst"
	files, err := filepath.Glob(filepath.Join("..", "internal", "fixtures", "recordings", "*"+end))
	require.NoError(b, err)
	require.NotEmpty(b, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(b, err)
		parts, err := fixtures.Parts(data)
		require.NoError(b, err)
		var batches []T
		for _, part := range parts {
			batch, err := s.unmarshal(part)
			require.NoError(b, err)
			batches = append(batches, batch)
		}
		run(strings.TrimSuffix(filepath.Base(file), end), batches)
	}
	large(run)
}

func BenchmarkRevision(b *testing.B) {
	b.Run("traces", func(b *testing.B) {
		benchRevision(b, tracesSignal, "traces", stefpdata.Sorted, iterateSpans, func(run func(string, []ptrace.Traces)) {
			run("hipstershop", realTraces(b, hipstershopTraces))
		})
	})
	b.Run("metrics", func(b *testing.B) {
		benchRevision(b, metricsSignal, "metrics", stefpdata.Sorted, iterateMetrics, func(run func(string, []pmetric.Metrics)) {
			for _, set := range []string{"hipstershop", "hostandcollector"} {
				run(set, realMetrics(b, set+"-otelmetrics"))
			}
		})
	})
	b.Run("logs", func(b *testing.B) {
		benchRevision(b, logsSignal, "logs", stefpdata.Ordered, iterateLogs, func(run func(string, []plog.Logs)) {
			for _, set := range logSets {
				run(set, unmarshalLogs(b, logParts(b, set)))
			}
		})
	})
}
