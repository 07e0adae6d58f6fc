// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest/canon"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// files writes the recordings as STEF files, reads them back and compares. It
// keeps the files in dir; if dir is "", it deletes them.
func files(out io.Writer, dir string) error {
	keep := dir != ""
	if !keep {
		var err error
		if dir, err = os.MkdirTemp("", "stefdemo-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	fmt.Fprintln(out, "Recordings of a small shop, to STEF and back.")
	f := &filesDemo{out: out, dir: dir}
	err := errors.Join(
		tripsOf(f, metrics, signal.Metrics, func(b otlpfile.Batch) pmetric.Metrics { return b.Metrics }, canon.Options.MergeMetrics,
			canon.Options.Metrics, canon.DiffOrderedMetrics),
		tripsOf(f, traces, signal.Traces, func(b otlpfile.Batch) ptrace.Traces { return b.Traces }, canon.Options.MergeTraces,
			canon.Options.Traces, canon.DiffOrderedTraces),
		tripsOf(f, logs, signal.Logs, func(b otlpfile.Batch) plog.Logs { return b.Logs }, canon.Options.MergeLogs,
			canon.Options.Logs, canon.DiffOrderedLogs),
	)
	if err != nil {
		return err
	}
	shown := "FOLDER/logs.sorted.zstd.stef"
	fmt.Fprint(out, "\nEvery item came back as it was.\n\nWhat to look at next, in the root of the repository:\n")
	if keep {
		shown = filepath.Join(dir, filepath.Base(shown))
	} else {
		fmt.Fprintln(out, "  go run ./cmd/stefdemo -files -dir FOLDER     keeps the files, for the commands below")
	}
	fmt.Fprintf(out, "  (cd cmd/stef && go build -o ../../bin/ .)    builds bin/stef\n"+
		"  bin/stef stat %s   where the bytes go\n  bin/stef cat -n 3 %s   the records\n  bin/stef inspect %s   every bit, with its meaning\n", shown, shown, shown)
	return nil
}

type filesDemo struct {
	out io.Writer
	dir string
}

// tripsOf writes the recording of a signal in both orders, with and without
// compression, and compares what it reads back.
func tripsOf[T any](f *filesDemo, s kind, d *signal.Descriptor[T], of func(otlpfile.Batch) T, merge func(canon.Options, ...T) T,
	items func(canon.Options, ...T) *canon.Items, diffOrdered func(want, got T) string) error {
	r, err := load(s, signals[s].short())
	if err != nil {
		return err
	}
	var want []T
	for _, b := range r.batches {
		want = append(want, of(b))
	}
	fmt.Fprintf(f.out, "\n%s: %d %s in %d batches\n  %-24s %12s %8s %10s %10s\n", d.Name, r.items, d.ItemName, len(want), "", "bytes", "ratio", "to STEF", "to OTLP")
	size, err := otlpSizes(f.out, d, want)
	if err != nil {
		return err
	}
	for _, mode := range []stefpdata.Mode{stefpdata.Ordered, stefpdata.Sorted} {
		for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
			name := filepath.Join(f.dir, fmt.Sprintf("%s.%s.%s.stef", d.Name, modeNames[mode], compression))
			begin := time.Now()
			written, err := writeFile(name, d, want, mode, compression)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			there := time.Since(begin)
			begin = time.Now()
			got, err := readFile(name, d)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			back := time.Since(begin)
			anyOrder := canon.Options{SortAttributes: true}
			change := canon.Diff(items(anyOrder, want...), items(anyOrder, got...))
			if mode == stefpdata.Ordered {
				change = diffOrdered(merge(canon.Options{}, want...), merge(canon.Options{}, got...))
			}
			if change != "" {
				return fmt.Errorf("%s differs from the telemetry that was written: %s", name, change)
			}
			fmt.Fprintf(f.out, "  %-24s %12d %8.2f %9.3fs %9.3fs  same\n", fmt.Sprintf("STEF, %s, %s", modeNames[mode], compression),
				written, float64(size)/float64(written), there.Seconds(), back.Seconds())
		}
	}
	return nil
}

var modeNames = map[stefpdata.Mode]string{stefpdata.Ordered: "ordered", stefpdata.Sorted: "sorted"}

func otlpSizes[T any](out io.Writer, d *signal.Descriptor[T], batches []T) (size int, err error) {
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	each := 0
	for _, b := range batches {
		otlp, err := d.Marshal(b)
		if err != nil {
			return 0, err
		}
		size += len(otlp)
		each += len(z.EncodeAll(otlp, nil))
		if _, err := z.Write(otlp); err != nil {
			return 0, err
		}
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	for _, row := range []struct {
		name string
		size int
	}{{"OTLP", size}, {"OTLP, zstd, each batch", each}, {"OTLP, zstd, all in one", packed.Len()}} {
		fmt.Fprintf(out, "  %-24s %12d %8.2f\n", row.name, row.size, float64(size)/float64(row.size))
	}
	return size, nil
}

// writeFile writes batches to a STEF file in the compact form, as stef convert does. Each batch is
// one frame.
func writeFile[T any](name string, d *signal.Descriptor[T], batches []T, mode stefpdata.Mode, compression stef.Compression) (size int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	e, err := d.NewEncoder(f, []stefpdata.EncoderOption{stefpdata.WithMode(mode)}, stef.WithCompression(compression), stef.WithSchema(schema.WireOf(d.Compact())))
	if err != nil {
		return 0, err
	}
	for _, b := range batches {
		if err := errors.Join(e.Encode(b), e.Writer.Flush()); err != nil {
			return 0, err
		}
	}
	if err := e.Writer.Close(); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// readFile reads a STEF file, one batch per frame.
func readFile[T any](name string, d *signal.Descriptor[T]) ([]T, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := d.NewDecoder(f, []stefpdata.DecoderOption{stefpdata.WithMaxItems(math.MaxInt32)})
	if err != nil {
		return nil, err
	}
	defer r.Reader.Close()
	var batches []T
	for {
		b, err := r.Decode()
		if err == io.EOF {
			return batches, nil
		}
		if err != nil {
			return nil, err
		}
		batches = append(batches, b)
	}
}
