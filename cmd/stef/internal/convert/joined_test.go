// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

// convertFiles converts files into one output.
func convertFiles(names []string, o convert.Options) ([]byte, *convert.Result, error) {
	var out bytes.Buffer
	res, err := convert.RunAll(func(i int) (*file.Input, bool, error) {
		if i == len(names) {
			return nil, false, nil
		}
		in, err := file.Open(names[i], nil)
		return in, true, err
	}, &out, o)
	return out.Bytes(), res, err
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return path
}

// itemsIn returns the items of a file, in any format.
func itemsIn(t *testing.T, path string) *items {
	t.Helper()
	data, _, err := convertFiles([]string{path}, convert.Options{To: convert.OTLPParts})
	require.NoError(t, err)
	all, _ := itemsOf(t, data)
	return all
}

// A stream is converted to a table, and the table is converted to the same items in any format.
func TestTables(t *testing.T) {
	for _, signal := range signals {
		input := write(t, "in.parts", recording(t, signal, 20))
		stream, _, err := convertFiles([]string{input}, convert.Options{To: convert.STEF, Mode: convert.Ordered})
		require.NoError(t, err)
		streamName := write(t, "in.stef", stream)
		for _, to := range []convert.Format{convert.Parquet, convert.Arrow} {
			t.Run(fmt.Sprintf("%s/%s", signal, to), func(t *testing.T) {
				table, res, err := convertFiles([]string{streamName}, convert.Options{To: to})
				require.NoError(t, err)
				require.Equal(t, to, res.To)
				tableName := write(t, "table", table)
				requireSame(t, itemsIn(t, input), itemsIn(t, tableName), true)
				for _, back := range []convert.Format{convert.STEF, convert.OTLPJSON, convert.Parquet, convert.Arrow} {
					out, again, err := convertFiles([]string{tableName}, convert.Options{To: back, Mode: convert.Ordered})
					require.NoError(t, err)
					require.Equal(t, res.Items, again.Items)
					requireSame(t, itemsIn(t, input), itemsIn(t, write(t, "back", out)), true)
				}
				// Inputs of several formats are converted to one table.
				_, all, err := convertFiles([]string{streamName, tableName, input}, convert.Options{To: to})
				require.NoError(t, err)
				require.Equal(t, 3*res.Items, all.Items)
			})
		}
	}
}

func TestTableMistakes(t *testing.T) {
	logs := write(t, "logs.parts", recording(t, otlpfile.Logs, 2))
	spans := write(t, "spans.parts", recording(t, otlpfile.Traces, 2))
	_, _, err := convertFiles([]string{logs, spans}, convert.Options{To: convert.Parquet})
	require.ErrorIs(t, err, convert.ErrUnsupported)
	require.ErrorContains(t, err, " has logs and ")
	require.ErrorContains(t, err, "spans.parts has traces: --signal metrics, traces or logs converts only these")
	_, _, err = convertFiles([]string{logs}, convert.Options{To: convert.OTLP, Columns: []string{"a"}})
	require.ErrorContains(t, err, "--columns works only for an output of format parquet or arrow")
	_, _, err = convertFiles([]string{logs}, convert.Options{To: convert.STEFParts})
	require.ErrorIs(t, err, convert.ErrUnsupported)
	for _, name := range []string{"a.parquet.zst", "a.parquet.zstd", "a.parquet.gz", "a.PARQUET.GZ"} {
		out, _, err := convertFiles([]string{logs}, convert.Options{OutName: name})
		if name == "a.PARQUET.GZ" {
			out, _, err = convertFiles([]string{logs}, convert.Options{To: convert.Parquet, OutName: name})
		}
		require.ErrorIs(t, err, convert.ErrUnsupported, name)
		require.EqualError(t, err, "a Parquet file is compressed inside and cannot be read under gzip or zstd: end the name in .parquet")
		require.Empty(t, out)
	}
	require.ErrorContains(t, convert.CheckName("a.parquet"), "write stef and convert it")
	_, err = convert.NewBatchWriter(io.Discard, "a.arrow", otlpfile.Logs)
	require.ErrorIs(t, err, convert.ErrUnsupported)
	table, _, err := convertFiles([]string{logs}, convert.Options{To: convert.Parquet})
	require.NoError(t, err)
	_, _, err = run(table, convert.Options{To: convert.STEF})
	require.ErrorContains(t, err, "a Parquet file cannot be read from a pipe, because its index is at the end: write it to a file first, and name that file")
	for cut := range len(table) / 997 {
		_, _, err = convertFiles([]string{write(t, "cut.parquet", table[:997*cut+4])}, convert.Options{To: convert.STEF})
		var bad *file.ContentError
		require.True(t, errors.As(err, &bad), "%v", err)
	}
}

// A file of concatenated Arrow streams is refused: the Arrow library reads only the first stream, so the
// other streams would be lost.
func TestConcatenatedArrow(t *testing.T) {
	logs := write(t, "logs.parts", recording(t, otlpfile.Logs, 2))
	table, one, err := convertFiles([]string{logs}, convert.Options{To: convert.Arrow})
	require.NoError(t, err)
	both := write(t, "both.arrow", append(table[:len(table):len(table)], table...))
	for _, skip := range []bool{false, true} {
		_, _, err = convertFiles([]string{both}, convert.Options{To: convert.STEF, Skip: skip})
		var bad *file.ContentError
		require.ErrorAs(t, err, &bad)
		require.ErrorContains(t, err, fmt.Sprintf("the Arrow stream ends at offset %d, and bytes follow", len(table)))
	}
	_, res, err := convertFiles([]string{write(t, "a.arrow", table), write(t, "b.arrow", table)}, convert.Options{To: convert.STEF})
	require.NoError(t, err)
	require.Equal(t, 2*one.Items, res.Items)
}

// framed returns messages as the file exporter writes them: the length of each message, and then
// the message, which is a stream of one part.
func framed(t testing.TB, signal otlpfile.Signal, n int) (data []byte, ends []int, items []uint64) {
	t.Helper()
	parts := recording(t, signal, n)
	total := uint64(0)
	for len(parts) > 0 {
		size := 4 + int(binary.BigEndian.Uint32(parts))
		message, res, err := run(parts[:size], convert.Options{To: convert.STEF, Root: stream.RootOf(signal)})
		require.NoError(t, err)
		data = append(binary.BigEndian.AppendUint32(data, uint32(len(message))), message...)
		total += res.Items
		ends, items = append(ends, len(data)), append(items, total)
		parts = parts[size:]
	}
	return data, ends, items
}

// TestMessages reads files as the Collector's file exporter writes them with encoding
// stef_encoding. It reads whole files, and files that are cut at each byte near the ends of messages
// and at some bytes between these ends. STEF_LONG=1 cuts at every byte.
func TestMessages(t *testing.T) {
	for _, signal := range signals {
		data, ends, items := framed(t, signal, 6)
		for _, to := range []convert.Format{convert.STEF, convert.OTLPParts, convert.Parquet} {
			out, res, err := run(data, convert.Options{To: to})
			require.NoError(t, err)
			require.Equal(t, convert.STEFParts, res.From)
			require.Equal(t, items[len(items)-1], res.Items)
			want, _ := itemsOf(t, recording(t, signal, 6))
			requireSame(t, want, itemsIn(t, write(t, "out", out)), true)
		}
		const near = 64 // bytes: lengths and headers
		every := os.Getenv("STEF_LONG") != ""
		for cut := 8; cut < len(data); cut++ {
			next, _ := slices.BinarySearch(ends, cut)
			if end := ends[next]; !every && cut%97 != 0 && end-cut > near && (next == 0 && cut > near || next > 0 && cut-ends[next-1] > near) {
				continue
			}
			in, err := file.Open("-", bytes.NewReader(data[:cut]))
			require.NoError(t, err)
			var got uint64
			for b, err := range convert.Batches(in, nil, func([]otlpfile.UnknownField) {}) {
				if err != nil {
					require.ErrorContains(t, err, "message", "cut at %d", cut)
					break
				}
				got += uint64(b.Items())
			}
			want := uint64(0)
			for i, end := range ends {
				if end <= cut {
					want = items[i]
				}
			}
			require.Equal(t, want, got, "cut at %d: the whole messages before the cut are read", cut)
		}
	}
}

// TestMessageLength: a length that no message has is damage at a known place, not the end of a cut
// file. The error has the kind that it has in the steffile receiver.
func TestMessageLength(t *testing.T) {
	_, _, err := run([]byte("\xff\xff\xff\xf0STEF"), convert.Options{To: convert.STEF})
	require.ErrorContains(t, err, "the message has 4294967280 bytes, at most 67108864")
	require.ErrorIs(t, err, stef.ErrLimit)

	whole, _, _ := framed(t, otlpfile.Logs, 1)
	_, _, err = run(append(whole, "\xff\xff\xff\xf0STEF"...), convert.Options{To: convert.STEF})
	require.ErrorIs(t, err, stef.ErrLimit)
	require.ErrorContains(t, err, "; stef repair copies the whole messages before it")
	_, _, err = run(append(whole, 0, 0, 0, 0), convert.Options{To: convert.STEF, Skip: true})
	require.ErrorIs(t, err, stef.ErrCorrupt)
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF, "the file is damaged, not cut")
}
