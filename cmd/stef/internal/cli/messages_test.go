// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/internal/fixtures"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// framedLogs returns a file of the Collector's file exporter with encoding
// stef_encoding, the ends of its messages, and their streams.
func framedLogs(t *testing.T, n int) (data []byte, ends []int, messages [][]byte) {
	t.Helper()
	parts, err := fixtures.Parts(fixtures.Logs())
	require.NoError(t, err)
	ends = []int{0}
	for _, part := range parts[:n] {
		framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(part))), part...)
		message, _ := mustRun(t, framed, "convert", "--from", "otlp-parts", "--signal", "logs", "-", "-")
		data = append(binary.BigEndian.AppendUint32(data, uint32(len(message))), message...)
		ends, messages = append(ends, len(data)), append(messages, []byte(message))
	}
	return data, ends, messages
}

// Messages that need a shared dictionary can be read with the dictionary. Without the dictionary,
// every command says what to do.
func TestDictionary(t *testing.T) {
	parts, err := fixtures.Parts(fixtures.Logs())
	require.NoError(t, err)
	dir := t.TempDir()
	dictionary := filepath.Join(dir, "dictionary")
	typical, _ := mustRun(t, parts[0], "convert", "--from", "otlp", "--signal", "logs", "--compression", "none", "-", "-")
	require.NoError(t, os.WriteFile(dictionary, []byte(typical), 0o666))
	d, err := stef.NewZstdDict([]byte(typical))
	require.NoError(t, err)
	ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(parts[1])
	require.NoError(t, err)
	var object bytes.Buffer
	w, err := otelstef.NewLogsWriter(&object, stef.WithCompression(stef.Zstd), stef.WithZstdDict(d), otelstef.CompactLogs())
	require.NoError(t, err)
	require.NoError(t, stefpdata.NewLogsEncoder(w).Encode(ld))
	require.NoError(t, w.Close())
	in, out := filepath.Join(dir, "in.stef"), filepath.Join(dir, "out")
	for name, content := range map[string][]byte{
		"object": object.Bytes(),
		"file":   append(binary.BigEndian.AppendUint32(nil, uint32(object.Len())), object.Bytes()...),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(in, content, 0o666))
			for _, to := range []string{"stef", "otlp", "otlp-json", "parquet"} {
				args := []string{"convert", "--force", "--to", to, in, out}
				code, _, stderr := run(nil, args...)
				require.Equal(t, cli.ExitData, code)
				require.Contains(t, stderr, "use stef convert --dictionary FILE, with the file that the sender sets as dictionary")
				require.NotContains(t, stderr, "WithZstdDicts")
				mustRun(t, nil, append(args[:1], append([]string{"--dictionary", dictionary}, args[1:]...)...)...)
				lines, _ := mustRun(t, nil, "cat", out)
				require.Equal(t, ld.LogRecordCount(), strings.Count(lines, "\n"))
			}
			require.NoError(t, os.Remove(out))
			for _, command := range [][]string{{"cat", in}, {"stat", in}, {"inspect", in}, {"repair", in, out}} {
				code, stdout, stderr := run(nil, command...)
				require.Equal(t, cli.ExitData, code, command)
				require.Contains(t, stderr, "use stef convert --dictionary FILE", command)
				require.NotContains(t, stdout+stderr, "lost", command) // the file may be undamaged
			}
			require.NoFileExists(t, out)
		})
	}
	code, _, stderr := run(nil, "convert", "--dictionary", filepath.Join(dir, "none"), in, out)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "no such file")
}

// Every command reads files of messages: whole files, rotated files and cut files.
func TestMessages(t *testing.T) {
	data, ends, messages := framedLogs(t, 6)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.bin"), filepath.Join(dir, "out.bin")
	require.NoError(t, os.WriteFile(in, data, 0o666))
	var each string
	for _, m := range messages {
		lines, _ := mustRun(t, m, "cat", "-")
		each += lines
	}
	lines, _ := mustRun(t, nil, "cat", in)
	require.Equal(t, strings.Count(each, "\n"), strings.Count(lines, "\n"))
	stat, _ := mustRun(t, nil, "stat", in)
	require.Contains(t, stat, "stef-parts, as the stream that stef convert makes of it")
	inspected, _ := mustRun(t, nil, "inspect", in)
	for i, m := range messages {
		require.Contains(t, inspected, fmt.Sprintf("# message %d at offset %d: 4 bytes of length, %d bytes of logs\n", i+1, ends[i], len(m)))
		alone, _ := mustRun(t, m, "inspect", "-")
		require.Contains(t, inspected, alone)
	}
	begin, _ := mustRun(t, nil, "inspect", "--frames", "2", in)
	require.True(t, strings.HasPrefix(inspected, begin+"# message 3 at"))

	// If a file is cut inside a message, the whole messages before the cut are printed and kept.
	for i := range messages {
		for _, cut := range []int{ends[i] + 2, ends[i] + 4, ends[i] + 20, ends[i+1] - 1} {
			if cut < 8 {
				continue // no format can be recognised
			}
			require.NoError(t, os.WriteFile(in, data[:cut], 0o666))
			_, stderr := mustRepair(t, nil, "--force", in, out)
			require.Contains(t, stderr, ": "+figure.Count(i, "whole message")+" with ")
			require.Contains(t, strings.ReplaceAll(stderr, ",", ""), fmt.Sprintf("lost: the %d bytes after them", cut-ends[i]))
			kept, err := os.ReadFile(out)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data[:ends[i]], kept))
			code, stdout, stderr := run(nil, "cat", in)
			require.Equal(t, cli.ExitData, code)
			require.Contains(t, stderr, fmt.Sprintf("offset %d, message %d: ", ends[i], i+1))
			require.Equal(t, i > 0, strings.HasSuffix(stderr, "; stef repair copies the whole messages before it, and stef convert --skip converts them\n"), stderr)
			if i > 0 {
				whole, _ := mustRun(t, nil, "cat", out)
				require.Equal(t, whole, stdout)
				want, _ := mustRun(t, nil, "stat", out)
				code, report, _ := run(nil, "stat", in)
				require.Equal(t, cli.ExitData, code)
				damaged := fmt.Sprintf("damaged      the last %s bytes of the file are lost\n", figure.Grouped(cut-ends[i]))
				require.Contains(t, report, damaged)
				require.Equal(t, want, strings.Replace(report, damaged, "", 1))
			}
		}
	}
	require.NoError(t, os.WriteFile(in, data, 0o666))
	_, stderr := mustRepair(t, nil, "--force", in, out)
	require.Contains(t, stderr, ": 6 whole messages with ")
	require.Contains(t, stderr, "; every frame can be read")
	named := filepath.Join(dir, "named.stef") // a file of messages may have any name
	mustRepair(t, nil, in, named)
	kept, err := os.ReadFile(named)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, kept))

	// If the stream in a whole message ends too early, the file is damaged, not cut. --skip refuses
	// this file, because it would leave out the later messages.
	short := messages[1][:len(messages[1])-9]
	damaged := append(binary.BigEndian.AppendUint32(bytes.Clone(data[:ends[1]]), uint32(len(short))), short...)
	require.NoError(t, os.WriteFile(in, append(damaged, data[ends[2]:]...), 0o666))
	for _, flags := range [][]string{{}, {"--skip"}} {
		code, _, stderr := run(nil, append([]string{"convert", in, filepath.Join(dir, "none.stef")}, flags...)...)
		require.Equal(t, cli.ExitData, code)
		require.True(t, strings.HasSuffix(stderr, "; stef repair copies the whole messages before it\n"), stderr)
		require.Contains(t, stderr, fmt.Sprintf("offset %d, message 2: ", ends[1]))
	}
	require.NoError(t, os.WriteFile(in, data, 0o666))

	// The inputs are a rotated file with message lengths, and an object of a bucket without them.
	object := filepath.Join(dir, "object")
	require.NoError(t, os.WriteFile(object, messages[0], 0o666))
	_, stderr = mustRun(t, nil, "convert", in, object, filepath.Join(dir, "all.parquet"))
	require.Contains(t, stderr, "2 files, ")
	lines, _ = mustRun(t, nil, "cat", filepath.Join(dir, "all.parquet"))
	first, _ := mustRun(t, messages[0], "cat", "-")
	require.Equal(t, strings.Count(each+first, "\n"), strings.Count(lines, "\n"))
}
