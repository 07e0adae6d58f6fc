// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
)

// shortCuts returns files of 12 messages in each format and compression, for tests that cut them.
// The files are shorter than the part of a file that the tool reads to recognise the format. So the
// tool reads up to the cut before it knows the format.
func shortCuts(t *testing.T) map[string][]byte {
	t.Helper()
	parts, err := fixtures.Parts(fixtures.Traces())
	require.NoError(t, err)
	pack, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	framed := func(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	formats, each := map[string][]byte{}, map[string][]byte{}
	slices.SortFunc(parts, func(a, b []byte) int { return cmp.Compare(len(a), len(b)) })
	for _, part := range parts[:12] {
		for _, format := range []string{"otlp-parts", "otlp", "otlp-json", "stef-parts"} {
			message, behind := string(part), ""
			switch format {
			case "otlp-json":
				message, _ = mustRun(t, part, "convert", "-q", "--from", "otlp", "--to", "otlp-json", "-", "-")
				message, behind = strings.TrimSuffix(message, "\n"), "\n"
			case "stef-parts":
				message, _ = mustRun(t, part, "convert", "-q", "--from", "otlp", "-", "-")
			}
			if format != "otlp" {
				each[format] = append(each[format], framed(pack.EncodeAll([]byte(message), nil))...)
			}
			if strings.HasSuffix(format, "-parts") {
				message = string(framed([]byte(message)))
			}
			formats[format] = append(formats[format], message+behind...)
		}
	}
	stream, _ := mustRun(t, formats["otlp-parts"], "convert", "-q", "-", "-")
	formats["stef"] = []byte(stream)
	files := map[string][]byte{}
	for name, content := range formats {
		require.Less(t, len(content), 64<<10, "%s: as much as the tool looks at", name)
		files[name] = content
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		// Each flush ends a block. So the short file has several whole blocks, as a long file has
		// without flushes.
		var packed bytes.Buffer
		z, err := zstd.NewWriter(&packed)
		require.NoError(t, err)
		for at := 0; at < len(content); at += 500 {
			piece := content[at:min(at+500, len(content))]
			_, err := w.Write(piece)
			require.NoError(t, err)
			require.NoError(t, w.Flush())
			_, err = z.Write(piece)
			require.NoError(t, err)
			require.NoError(t, z.Flush())
		}
		require.NoError(t, w.Close())
		require.NoError(t, z.Close())
		files[name+".gz"], files[name+".zst"] = zipped.Bytes(), packed.Bytes()
	}
	for name, content := range each {
		files[name+", each message"] = content
	}
	return files
}

// cat, stat, inspect, repair and convert describe the position of a cut in the same words, for
// any position within a frame.
func TestCutWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "cut.stef"), filepath.Join(dir, "out.stef")
	for _, flags := range [][]string{{}, {"--compression", "none"}, {"--checksums"}} {
		whole := filepath.Join(dir, "whole.stef")
		mustRun(t, fixtures.Traces(), append([]string{"convert", "--quiet", "--force", "-", whole}, flags...)...)
		content, err := os.ReadFile(whole)
		require.NoError(t, err)
		frames, _ := mustRun(t, nil, "stat", "--json", "--frames", whole)
		var report struct {
			Frames []struct{ Offset, Bytes int }
		}
		require.NoError(t, json.Unmarshal([]byte(frames), &report))
		const n = 20 // the number of the cut frame; every command reads the frames before it
		begin, end := report.Frames[n-1].Offset, report.Frames[n].Offset
		for _, at := range []int{begin + 1, begin + 2, begin + 4, begin + 5, (begin + end) / 2, end - 6, end - 1} {
			require.NoError(t, os.WriteFile(in, content[:at], 0o666))
			want := fmt.Sprintf("cut.stef: frame %d at offset %d: corrupt stream: the stream ends inside it: unexpected EOF", n, begin)
			for _, args := range [][]string{{"cat", in}, {"stat", in}, {"inspect", in}, {"repair", "--force", in, out}, {"convert", in, filepath.Join(dir, "none.json")}} {
				code, _, stderr := run(nil, args...)
				require.NotZero(t, code)
				require.Contains(t, stderr, want, "%v: %d of %d bytes", args, at-begin, end-begin)
			}
		}
	}
}

// If a short file is cut, cat prints the whole records before the cut, and convert --skip
// converts them.
func TestShortCuts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := filepath.Join(dir, "none.stef")
	mustRun(t, []byte(`{"resourceSpans":[]}`), "convert", "-q", "-", none)
	files, summaries := shortCuts(t), 0
	input := regexp.MustCompile(`(?:whole|cut): ([a-z-]+, [0-9]+ [a-z]+, ([0-9,]+) bytes)`)
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			whole, cut, out := filepath.Join(dir, "whole"), filepath.Join(dir, "cut"), filepath.Join(dir, "out.stef")
			require.NoError(t, os.WriteFile(whole, content, 0o666))
			require.NoError(t, os.WriteFile(cut, content[:len(content)*3/4], 0o666))
			all, _ := mustRun(t, nil, "cat", whole)
			code, got, stderr := run(nil, "cat", cut)
			require.Equal(t, cli.ExitData, code)
			records := strings.Count(got, "\n")
			require.Positive(t, records, stderr)
			require.Less(t, records, strings.Count(all, "\n"))
			require.True(t, strings.HasPrefix(all, got))
			code, _, stderr = run(nil, "convert", cut, filepath.Join(dir, "fails.stef"))
			require.Equal(t, cli.ExitData, code)
			require.Contains(t, stderr, "stef convert --skip converts ")
			packed := strings.Contains(stderr, " of the uncompressed file keeps ")
			if plain := strings.Contains(stderr, " of the file keeps "); packed || plain {
				require.Equal(t, strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst"), packed, stderr)
			}
			stderr = mustSkip(t, nil, "--force", cut, none, out)
			require.Contains(t, stderr, "; everything complete before the cut was converted, and the rest is lost\n")
			kept, _ := mustRun(t, nil, "cat", out)
			require.Equal(t, records, strings.Count(kept, "\n"))
			// The cut file is the only input. Each output format and mode is tested.
			for _, args := range [][]string{{out}, {"--mode", "sorted", out}, {out + ".json"}, {out + ".parts"}, {filepath.Join(dir, "each-{signal}.stef")}} {
				stderr = mustSkip(t, nil, append([]string{"--force", cut}, args...)...)
				require.Contains(t, stderr, "; everything complete before the cut was converted, and the rest is lost\n")
				require.NotContains(t, stderr, "stef repair") // this advice is for inputs that were not converted
				kept, _ = mustRun(t, nil, "cat", strings.ReplaceAll(args[len(args)-1], "{signal}", "traces"))
				require.Equal(t, records, strings.Count(kept, "\n"), args)
				// The summary counts only the whole messages: it is the same for a file that
				// ends after them.
				plain := files[strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")]
				if counted := input.FindStringSubmatch(stderr); counted != nil && !strings.Contains(name, "each message") {
					n, err := strconv.Atoi(strings.ReplaceAll(counted[2], ",", ""))
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(whole, plain[:n], 0o666))
					_, again := mustRun(t, nil, append([]string{"convert", "--force", whole}, args...)...)
					require.Equal(t, counted[1], input.FindStringSubmatch(again)[1], args)
					summaries++
				}
			}
		})
	} // 15 files, each with the first 4 lists of arguments
	require.Equal(t, 60, summaries)
}

// If nothing of a truncated file was converted, the report says so.
func TestSkipsAllOfCutFile(t *testing.T) {
	dir := t.TempDir()
	content := shortCuts(t)["otlp-json, each message"]
	cut, other := filepath.Join(dir, "cut"), filepath.Join(dir, "other.stef")
	require.NoError(t, os.WriteFile(cut, content[:100], 0o666))
	mustRun(t, spans(t), "convert", "-q", "-", other)
	stderr := mustSkip(t, nil, cut, other, filepath.Join(dir, "out.stef"))
	require.Contains(t, stderr, "; nothing of it was converted\n")
	require.NotContains(t, stderr, "everything complete before the cut was converted")
}

// With several inputs, --skip skips each input that ends before its first whole item. Files that are
// no telemetry, and files that do not exist, are errors. All such errors are reported.
func TestSkipsFilesCutAtTheStart(t *testing.T) {
	m := newMistakes(t)
	for _, name := range []string{"a.otlp", "a.json", "a.arrow", "a.stef", "a.parquet", "a.json.gz", "a.otlp.zst"} {
		mustRun(t, nil, "convert", "-q", m.json, m.path(name))
		content, err := os.ReadFile(m.path(name))
		require.NoError(t, err)
		for n := 1; n < min(20, len(content)); n++ {
			cut := m.file("cut-"+name, content[:n])
			for _, args := range [][]string{{}, {"--signal", "logs"}} {
				for _, ins := range [][]string{{cut, m.json}, {m.json, cut}} {
					stderr := mustSkip(t, nil, append(append(append([]string{"--force", "-q"}, args...), ins...), m.path("skipped.stef"))...)
					require.Regexp(t, "^not complete: "+regexp.QuoteMeta(cut)+": .*; nothing of it was converted\n$", stderr, n)
				}
			}
			stderr := mustSkip(t, nil, "--force", "-q", cut, m.json, m.path("skipped-{signal}.stef"))
			require.Equal(t, 1, strings.Count(stderr, "not complete: "+cut+": "), stderr)
			if n == 4 || n == 19 { // the size and the ratio in the summary do not include the cut input
				_, whole := mustRun(t, nil, "convert", "--force", m.json, m.json, m.path("skipped.stef"))
				_, size, _ := strings.Cut(strings.Split(whole, "\n")[0], ", ")
				_, ratio, _ := strings.Cut(strings.Split(whole, "\n")[1], " bytes")
				for _, out := range []string{"skipped.stef", "skipped-{signal}.stef"} {
					stderr := mustSkip(t, nil, "--force", cut, m.json, m.json, m.path(out))
					require.Contains(t, stderr, "3 files, "+size+"\n")
					require.Contains(t, stderr, " bytes"+ratio)
				}
			}
			code, _, stderr := run(nil, "convert", "--skip", cut, m.path("out.stef"))
			require.Equal(t, cli.ExitData, code, stderr)
			require.Contains(t, stderr, "unexpected EOF")
		}
	}
	messages, _, _ := framedLogs(t, 1)
	for n := 5; n < 20; n++ { // before the signature of the first stream, nothing shows the format
		cut := m.file("cut-messages", messages[:n])
		stderr := mustSkip(t, nil, "--force", "-q", cut, m.json, m.path("skipped.stef"))
		require.Regexp(t, "^not complete: .*/cut-messages: offset 0, message 1: corrupt stream: the file ends after .*; nothing of it was converted\n$", stderr, n)
	}
	code, _, stderr := run(nil, "convert", "--skip", m.path("cut-a.stef"), m.file("tiny.stef", []byte("STE")), m.path("out.stef"))
	require.Equal(t, cli.ExitData, code, stderr)
	require.Contains(t, stderr, "\nstef convert: the files have no items\n")
	m.fails(cli.ExitData, "cut.json: otlp-json byte 0: the file ends before it names its signal: unexpected EOF", "convert", m.file("cut.json", []byte(`{"resou`)), m.path("out.stef"))
	m.fails(cli.ExitData, "a.zst: zstd: the file is cut inside its header, so nothing of it can be read: unexpected EOF", "cat", m.file("a.zst", []byte{0x28, 0xb5, 0x2f}))

	readme, csv, other := m.file("README", []byte("# Shop\n")), m.file("a.csv", []byte("a,b\n1,2\n")), m.file("other.json", []byte(`{"a":1`))
	code, _, stderr = run(nil, "convert", "--skip", m.json, readme, m.path("nowhere"), csv, m.path("out.stef"))
	require.Equal(t, cli.ExitIO, code)
	require.Regexp(t, "^stef convert: .*README: the content has none of .*\nstef convert: .*nowhere: open: no such file or directory\nstef convert: .*a.csv: the content has none of .*\n$", stderr)
	m.fails(cli.ExitData, "other.json: otlp-json byte 0: the file is JSON, but not OTLP: it has no resourceMetrics, resourceSpans or resourceLogs", "convert", "--skip", m.json, other, m.path("out.stef"))
}

// If each message of a file is compressed alone, errors name a byte of the decompressed content,
// not a line: the file itself has no such lines.
func TestErrorsOfEachMessage(t *testing.T) {
	m := newMistakes(t)
	pack, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	each := func(name string, messages ...string) string {
		var content []byte
		for _, message := range messages {
			packed := pack.EncodeAll([]byte(message), nil)
			content = append(binary.BigEndian.AppendUint32(content, uint32(len(packed))), packed...)
		}
		return m.file(name, content)
	}
	const logs, traces = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`, `{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}`
	m.fails(cli.ExitUsage, fmt.Sprintf("mixed: message 3, byte %d of the decompressed content, holds traces, and the messages before it hold logs; ", 2*len(logs+"\n"))+
		"--signal metrics, traces or logs converts only these; or put {signal} into the name of OUT for one file per signal", "convert", each("mixed", logs, logs, traces), m.path("out.stef"))
	m.fails(cli.ExitData, fmt.Sprintf("bad: otlp-json logs message 2, byte %d of the decompressed content: corrupt: invalid character ']' after object key", len(logs+"\n")+len(`{"resourceLogs"]`)),
		"cat", each("bad", logs, `{"resourceLogs"]}`))
	stream, _ := mustRun(t, []byte(logs), "convert", "-q", "-", "-")
	bad := each("bad-streams", stream, stream[:len(stream)-1])
	m.fails(cli.ExitData, fmt.Sprintf("bad-streams: offset %d of the decompressed content, message 2: ", 4+len(stream))+"frame 1 at offset 33: corrupt stream: the stream ends inside it: unexpected EOF; stef repair copies the whole messages before it",
		"convert", bad, m.path("out.stef"))
}

// Each command says what to do with a truncated file whose messages are compressed alone.
func TestCutEachMessage(t *testing.T) {
	files := shortCuts(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, format := range []string{"otlp-json", "otlp-parts"} {
		content := files[format+", each message"]
		end := 0
		for range 6 {
			end += 4 + int(binary.BigEndian.Uint32(content[end:]))
		}
		require.NoError(t, os.WriteFile(in, content[:end+40], 0o666))
		code, _, stderr := run(nil, "convert", in, out+".stef")
		require.Equal(t, cli.ExitData, code)
		advice := fmt.Sprintf("head -c %d %s keeps the 6 messages before it", end, in)
		require.Contains(t, stderr, advice)
		code, _, stderr = run(nil, "repair", in, out+".stef")
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, stderr, "repair is for STEF: if the file is cut, stef convert --skip IN OUT converts everything complete before the cut\n")
		require.NoError(t, os.WriteFile(in, content[:end], 0o666))
		mustRun(t, nil, "cat", in)
	}
	content := files["stef-parts, each message"]
	end := 0
	for range 6 {
		end += 4 + int(binary.BigEndian.Uint32(content[end:]))
	}
	require.NoError(t, os.WriteFile(in, content[:end+40], 0o666))
	code, want, stderr := run(nil, "cat", in)
	require.Equal(t, cli.ExitData, code)
	place := fmt.Sprintf("offset %d, message 7, which is compressed separately with zstd: corrupt stream: unexpected EOF", end)
	require.Contains(t, stderr, place+"; stef repair copies the whole messages before it, and stef convert --skip converts them\n")
	_, stderr = mustRepair(t, nil, in, out)
	require.Contains(t, stderr, place+"\n")
	require.Contains(t, stderr, ": 6 whole messages with ")
	require.Contains(t, stderr, "; lost: what cannot be decompressed after them; the stream has no checksums, so changed bytes may have gone unnoticed\n")
	got, _ := mustRun(t, nil, "cat", out)
	require.Equal(t, want, got)
}
