// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
)

// smallest returns the shortest part of a recording, among the parts that have items.
func smallest(f *testing.F, signal otlpfile.Signal) otlpfile.Batch {
	r, err := otlpfile.Open(bytes.NewReader(files[signal]), otlpfile.Parts, signal)
	require.NoError(f, err)
	all, err := readAll(r)
	require.NoError(f, err)
	parts, err := fixtures.Parts(files[signal])
	require.NoError(f, err)
	var best otlpfile.Batch
	for i, b := range all {
		if b.Items() > 0 && (best.OTLP == nil || len(parts[i]) < len(best.OTLP)) {
			best = b
			best.OTLP = parts[i]
		}
	}
	return best
}

// limited bounds the memory that a fuzzed file may use.
func limited(file []byte, format otlpfile.Format, signal otlpfile.Signal) (*otlpfile.Reader, error) {
	return otlpfile.Open(bytes.NewReader(file), format, signal, otlpfile.WithMaxPart(1<<20), otlpfile.WithBatchSize(1<<16))
}

// For any bytes, reading ends without a panic, and the batches that were read
// can be written and read again.
func FuzzOpen(f *testing.F) {
	for signal := otlpfile.Metrics; signal <= otlpfile.Logs; signal++ {
		batch := smallest(f, signal)
		for _, format := range formats {
			for c := otlpfile.None; c <= otlpfile.Gzip; c++ {
				file := compressed(f, c, write(f, format, signal, []otlpfile.Batch{batch, batch}))
				f.Add(file, uint8(format), uint8(signal))
				f.Add(file, uint8(0), uint8(0))
			}
		}
	}
	f.Add([]byte("{}\n{\"resourceLogs\":[null,{\"scopeLogs\":null}]}"), uint8(otlpfile.JSON), uint8(otlpfile.Logs))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd}, uint8(0), uint8(0))
	f.Add([]byte{0x1f, 0x8b}, uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, file []byte, format, signal uint8) {
		r, err := limited(file, otlpfile.Format(format%4), otlpfile.Signal(signal%4))
		if err != nil {
			return
		}
		got, err := readAll(r)
		if err != nil || len(got) == 0 {
			return
		}
		again := write(t, otlpfile.Parts, r.Signal(), got)
		r, err = otlpfile.Open(bytes.NewReader(again), otlpfile.Parts, r.Signal())
		require.NoError(t, err)
		second, err := readAll(r)
		require.NoError(t, err)
		require.Empty(t, diff(got, second))
	})
}

// Reading a message as one part and reading it as one file have the same outcome.
func FuzzMessage(f *testing.F) {
	for signal := otlpfile.Metrics; signal <= otlpfile.Logs; signal++ {
		f.Add(smallest(f, signal).OTLP, uint8(signal))
	}
	f.Add([]byte{0x0a, 12, 0x12, 10, 0x12, 8, 0x30, 1, 0x0a, 4, 1, 2, 3, 4}, uint8(otlpfile.Traces))
	f.Fuzz(func(t *testing.T, message []byte, s uint8) {
		signal := otlpfile.Signal(s%3 + 1)
		if len(message) == 0 {
			return
		}
		read := func(format otlpfile.Format, file []byte) ([]otlpfile.Batch, error) {
			r, err := limited(file, format, signal)
			if err != nil {
				return nil, err
			}
			return readAll(r)
		}
		part := write(t, otlpfile.Parts, signal, []otlpfile.Batch{{Signal: signal, OTLP: message}})
		want, err := read(otlpfile.Parts, part)
		if err != nil {
			return
		}
		got, err := read(otlpfile.Proto, message)
		require.NoError(t, err)
		require.Empty(t, diff(want, got))
	})
}

// JSON is split into the same messages regardless of how its bytes arrive.
func FuzzJSON(f *testing.F) {
	for signal := otlpfile.Metrics; signal <= otlpfile.Logs; signal++ {
		var out bytes.Buffer
		w, err := otlpfile.NewWriter(&out, otlpfile.JSON, signal)
		require.NoError(f, err)
		require.NoError(f, w.Write(smallest(f, signal)))
		require.NoError(f, w.Close())
		f.Add(out.String(), uint8(signal))
	}
	f.Add("{}\r\n{\"resourceLogs\":\n[]} {}", uint8(otlpfile.Logs))
	f.Add(`{"resource_logs":[{"scopeLogs":[{"logRecords":[{"body":{"kvlistValue":{"values":[{"key":"\u0000\"}]"}]}}}]}]}]}`, uint8(otlpfile.Logs))
	f.Fuzz(func(t *testing.T, text string, s uint8) {
		signal := otlpfile.Signal(s%3 + 1)
		read := func(slow bool) ([]otlpfile.Batch, error) {
			in := strings.NewReader(text)
			r, err := otlpfile.Open(in, otlpfile.JSON, signal, otlpfile.WithMaxPart(1<<20))
			if slow {
				in.Reset(text)
				r, err = otlpfile.Open(iotest.OneByteReader(in), otlpfile.JSON, signal, otlpfile.WithMaxPart(1<<20))
			}
			if err != nil {
				return nil, err
			}
			return readAll(r)
		}
		want, wantErr := read(false)
		got, err := read(true)
		require.Equal(t, len(want), len(got))
		if wantErr != nil {
			require.EqualError(t, err, wantErr.Error())
			return
		}
		require.NoError(t, err)
		if len(want) > 0 {
			require.Empty(t, diff(want, got))
		}
	})
}
