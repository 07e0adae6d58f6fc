// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/internal/fixtures"
)

// For a stream without checksums, repair says that changed bytes may have gone unnoticed. Only for
// a stream with checksums, it says that nothing is lost.
func TestRepairClaims(t *testing.T) {
	plain, _ := mustRun(t, fixtures.Metrics(), "convert", "--quiet", "-", "-")
	checked, _ := mustRun(t, fixtures.Metrics(), "convert", "--quiet", "--checksums", "-", "-")
	_, stderr := mustRepair(t, []byte(plain), "-", "-")
	require.Contains(t, stderr, "; every frame can be read; the stream has no checksums, so changed bytes may have gone unnoticed\n")
	_, stderr = mustRepair(t, []byte(checked), "-", "-")
	require.Contains(t, stderr, "; nothing is lost\n")
	code, _, stderr := run([]byte(plain)[:len(plain)-1], "repair", "-", "-")
	require.Equal(t, cli.ExitLost, code, stderr)
	const noChecksums = "; the stream has no checksums, so changed bytes may have gone unnoticed\n"
	require.Regexp(t, "; lost: the frame that was being written when the file was cut, [0-9]+ bytes of it"+noChecksums, stderr)
	code, _, stderr = run([]byte(checked)[:len(checked)-1], "repair", "-", "-")
	require.Equal(t, cli.ExitLost, code, stderr)
	require.Regexp(t, "; lost: the frame that was being written when the file was cut, [0-9]+ bytes of it\n$", stderr)
	for _, tail := range []string{"garbage", "\x00\x00\x00\x00\x00\x00\x00"} { // a crash of the machine may leave zeros
		code, kept, stderr := run([]byte(plain+tail), "repair", "-", "-")
		require.Equal(t, cli.ExitLost, code, stderr)
		require.Equal(t, plain, kept)
		require.Contains(t, stderr, "; lost: 7 bytes after the last frame, which are not a frame"+noChecksums)
	}
}

// If the compression of a file is damaged, repair keeps the frames before the damage, which cat
// prints, and stat reports on them.
func TestRepairDamagedCompression(t *testing.T) {
	stream, _ := mustRun(t, fixtures.Traces(), "convert", "--quiet", "--checksums", "-", "-")
	var gz bytes.Buffer
	g := gzip.NewWriter(&gz)
	_, err := g.Write([]byte(stream))
	require.NoError(t, err)
	require.NoError(t, g.Close())
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	packed := map[string][]byte{"gzip": gz.Bytes(), "zstd": z.EncodeAll([]byte(stream), nil)}
	f := func(file []byte, lost, damaged string, all bool) {
		t.Helper()
		code, records, stderr := run(file, "cat", "-")
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, "; stef repair copies the whole frames before it\n")
		code, kept, stderr := run(file, "repair", "-", "-")
		require.Equal(t, cli.ExitLost, code, stderr)
		require.Contains(t, stderr, lost)
		require.Equal(t, all, kept == stream)
		require.True(t, strings.HasPrefix(stream, kept))
		want, _ := mustRun(t, []byte(kept), "cat", "-")
		require.NotEmpty(t, want)
		require.Equal(t, want, records)
		code, report, stderr := run(file, "stat", "-")
		require.Equal(t, cli.ExitData, code, stderr)
		require.Contains(t, report, "\ndamaged      "+damaged)
	}
	for _, file := range packed {
		for _, n := range []int{1, 3, 5, 20} { // a crash of the machine may leave zeros
			bytes := figure.Count(n, "byte") + " after the end of the compressed data"
			f(append(slices.Clone(file), make([]byte, n)...), "; lost: "+bytes+"\n", "lost: "+bytes+"\n", true)
		}
		changed := slices.Clone(file)
		for i := range 8 {
			changed[len(file)*4/5+i] ^= 0x55
		}
		f(changed, "what cannot be decompressed", "what cannot be decompressed is lost", false)
	}
}

// cat, repair and stat agree on whether a stream with a changed byte is damaged, also if only codes
// of the compact form are damaged. cat can read everything that repair keeps.
func TestRepairCodes(t *testing.T) {
	codes := 0
	for _, recording := range [][]byte{fixtures.Metrics(), fixtures.Traces()} {
		parts, err := fixtures.Parts(recording)
		require.NoError(t, err)
		var otlp []byte
		for _, p := range parts[:6] {
			otlp = append(binary.BigEndian.AppendUint32(otlp, uint32(len(p))), p...)
		}
		plain, _ := mustRun(t, otlp, "convert", "--quiet", "--compression", "none", "-", "-")
		for at := 500; at < len(plain); at += 41 {
			changed := []byte(plain)
			changed[at] ^= 0x04
			code, records, read := run(changed, "cat", "-")
			repaired, kept, stderr := run(changed, "repair", "-", "-")
			if strings.Contains(stderr, "writes nothing") {
				continue
			}
			if code == cli.ExitDone {
				require.Equal(t, cli.ExitDone, repaired, stderr)
				continue
			}
			require.NotEqual(t, cli.ExitDone, repaired, "offset %d: %s", at, read)
			reported, _, _ := run(changed, "stat", "-")
			require.Equal(t, cli.ExitData, reported, "offset %d: %s", at, read)
			if repaired != cli.ExitLost { // repair kept nothing: the headers are damaged, or no root was found
				continue
			}
			whole, _ := mustRun(t, []byte(kept), "cat", "-")
			require.True(t, strings.HasPrefix(records, whole))
			if strings.Contains(stderr, "is not defined") || strings.Contains(stderr, "the distance ") {
				codes++
			}
		}
	}
	require.NotZero(t, codes)
}

// repair keeps all frames of a compressed file without an end. A recording that is killed between
// two batches leaves such a file.
func TestRepairUnended(t *testing.T) {
	t.Parallel()
	plain, _ := mustRun(t, fixtures.Metrics(), "convert", "--quiet", "-", "-")
	var zipped, packed bytes.Buffer
	g := gzip.NewWriter(&zipped)
	z, err := zstd.NewWriter(&packed)
	require.NoError(t, err)
	for _, w := range []interface {
		io.Writer
		Flush() error
	}{g, z} {
		_, err := io.WriteString(w, plain)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	for i, content := range [][]byte{zipped.Bytes(), packed.Bytes()} {
		kept, stderr := mustRun(t, content, "repair", "-", "-") // everything is copied
		require.True(t, plain == kept)
		const lost = "its writer was killed, or what followed is lost"
		require.Regexp(t, "^standard input: 158 whole frames with 5,181 records in 127,366 bytes; the compressed file has no end: "+lost+"; the stream has no checksums, ", stderr)
		require.NotContains(t, stderr, "may return more") // the content ends with a whole frame
		// No command reports damage in frame 159, because the file has no byte of it.
		want := "standard input: the compressed file has no end after frame 158: " + lost
		for _, command := range []string{"cat", "stat", "inspect"} {
			code, _, stderr := run(content, command, "-")
			require.Equal(t, cli.ExitData, code)
			require.Contains(t, stderr, "stef "+command+": "+want+"; stef repair copies the whole frames\n")
		}
		_, stderr = mustRun(t, content, "convert", "--skip", "--to", "otlp-json", "-", "-")
		require.Contains(t, stderr, "\nwarning: "+want+"; all whole frames were converted\n")
		code, _, stderr := run(content, "convert", "--to", "otlp-json", "-", "-")
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, "stef convert: "+want+"; stef repair copies the whole frames, and stef convert --skip converts them\n")
		code, report, _ := run(content, "stat", "-")
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, report, "\nno end       the decompressed content ends after 127,366 bytes, and the compression has no end: its writer was killed, or what followed is lost\n")

		// If a part of a frame exists, the commands report this frame.
		var short bytes.Buffer
		g.Reset(&short)
		z.Reset(&short)
		w := []interface {
			io.Writer
			Flush() error
		}{g, z}[i]
		_, err := io.WriteString(w, plain[:len(plain)-1])
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		for _, args := range [][]string{{"cat", "-"}, {"convert", "--skip", "--to", "otlp-json", "-", "-"}} {
			_, _, stderr := run(short.Bytes(), args...)
			require.Contains(t, stderr, "frame 158 at offset ")
			require.NotContains(t, stderr, "no end")
		}
	}
}

// If only the end of the compression is missing, nothing is lost: the exit code is 0. If the file is
// cut inside a compressed block, the content of this block is lost.
func TestOnlyEndMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stream, _ := mustRun(t, fixtures.Logs(), "convert", "--quiet", "-", "-")
	lines, _ := mustRun(t, fixtures.Logs(), "convert", "--quiet", "--to", "otlp-json", "-", "-")
	parts, _ := mustRun(t, fixtures.Logs(), "convert", "--quiet", "--to", "otlp-parts", "-", "-")
	messages := string(message([]byte(stream))) + string(message([]byte(stream)))
	out, again := filepath.Join(dir, "out.json"), filepath.Join(dir, "repaired")
	for _, c := range []struct{ content, after, many string }{
		{stream, "frame 120", "frames"}, {lines, "message 120", "messages"}, {parts, "part 120", "parts"}, {messages, "message 2", "messages"},
	} {
		mustRun(t, []byte(c.content), "convert", "--quiet", "--force", "-", out)
		want, err := os.ReadFile(out)
		require.NoError(t, err)
		var zipped, packed bytes.Buffer
		g := gzip.NewWriter(&zipped)
		z, err := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		for _, w := range []interface {
			io.Writer
			Flush() error
		}{g, z} {
			_, err := io.WriteString(w, c.content)
			require.NoError(t, err)
			require.NoError(t, w.Flush())
		}
		more := bytes.Clone(packed.Bytes())
		_, err = io.WriteString(z, "the next")
		require.NoError(t, err)
		require.NoError(t, z.Flush())
		inBlock := packed.Bytes()[:packed.Len()-2]
		for _, whole := range [][]byte{zipped.Bytes(), more} {
			in := filepath.Join(dir, "in")
			require.NoError(t, os.WriteFile(in, whole, 0o666))
			_, stderr := mustRun(t, nil, "convert", "--quiet", "--skip", "--force", in, out)
			warning := "warning: " + in + ": the compressed file has no end after " + c.after + ": its writer was killed, or what followed is lost; all whole " + c.many + " were converted\n"
			require.Contains(t, stderr, warning)
			got, err := os.ReadFile(out)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
			_, stderr = mustRun(t, nil, "convert", "--quiet", "--skip", "--force", in, filepath.Join(dir, "each-{signal}.stef"))
			require.Contains(t, stderr, warning)
			code, _, stderr := run(nil, "convert", "--force", in, out)
			require.Equal(t, cli.ExitData, code)
			require.Contains(t, stderr, "the compressed file has no end after "+c.after+": ")
			require.Contains(t, stderr, " the whole "+c.many)
			if c.content == stream || c.content == messages {
				_, stderr := mustRun(t, nil, "repair", "--force", in, again)
				require.Contains(t, stderr, "; the compressed file has no end: its writer was killed, or what followed is lost; the stream has no checksums")
				kept, err := os.ReadFile(again)
				require.NoError(t, err)
				require.Equal(t, c.content, string(kept))
			}
		}
		for _, cut := range [][]byte{zipped.Bytes()[:zipped.Len()-1], inBlock} {
			in := filepath.Join(dir, "in")
			require.NoError(t, os.WriteFile(in, cut, 0o666))
			stderr := mustSkip(t, nil, "--quiet", "--force", in, out)
			require.Contains(t, stderr, "not complete: "+in+": the compressed file is cut inside a block after "+c.after+": the content of this block is lost; all whole "+c.many+" were converted\n")
			if c.content == stream || c.content == messages {
				_, stderr := mustRepair(t, nil, "--force", in, again)
				require.Contains(t, stderr, "; the compressed file is cut inside a block: the content of this block is lost; the stream has no checksums")
			}
		}
	}
}

// Concatenated streams are reported as such, with the offset at which to split.
func TestConcatenated(t *testing.T) {
	m := newMistakes(t)
	one, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	all := m.file("all.stef", append(bytes.Clone(one), one...))
	want := fmt.Sprintf("frame 159 at offset %d: another stream begins here, so files were concatenated: "+
		"split this file (A is the output of head -c %d, B is that of tail -c +%d; split B again if it has more streams), then run stef convert A B OUT, with {signal} in OUT if their signals differ", len(one), len(one), len(one)+1)
	for _, command := range []string{"cat", "stat"} {
		code, _, stderr := run(nil, command, all)
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, "all.stef: "+want+"\n")
	}
	_, stdout, _ := run(nil, "stat", all)
	require.Contains(t, stdout, fmt.Sprintf("not read     the 127,366 bytes from byte %d on: another stream\n", len(one)))
	require.NotContains(t, stdout, "lost")
	_, stdout, _ = run(nil, "inspect", all)
	require.True(t, strings.HasSuffix(stdout, ": a second stream may begin here, but a file holds one stream\n"), stdout[len(stdout)-200:])
	code, _, stderr := run(nil, "convert", "--to", "stef", all, m.path("out.stef"))
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "another stream begins here, so files were concatenated: split this file (A is the output of head -c ")
	require.NotContains(t, stderr, "stef repair")
	code, _, stderr = run(nil, "repair", all, m.path("first.stef"))
	require.Equal(t, cli.ExitLost, code)
	require.Contains(t, stderr, want+"\n")
	require.Contains(t, stderr, "; not copied: the 127,366 bytes after them; the stream has no checksums, ")
	kept, err := os.ReadFile(m.path("first.stef"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(kept, one))
}

// stef convert cannot combine concatenated streams of the user's schema, so the advice is to split
// the file and to read the parts with the flags of the user.
func TestConcatenatedOwn(t *testing.T) {
	dir := t.TempDir()
	path, all, first := filepath.Join(dir, "shop.stef"), filepath.Join(dir, "all.stef"), filepath.Join(dir, "first.stef")
	one := orders(t)
	require.NoError(t, os.WriteFile(path, []byte(shopSchema), 0o600))
	require.NoError(t, os.WriteFile(all, slices.Concat(one, one), 0o600))
	flags := " --schema " + path + " --root Order"
	want := fmt.Sprintf("another stream begins here, so files were concatenated: split this file (A is the output of head -c %d, B is that of tail -c +%d; split B again if it has more streams), "+
		"then run stef cat%s A B; keep them apart, because stef convert combines only streams of OpenTelemetry\n", len(one), len(one)+1, flags)
	for _, args := range [][]string{{"cat", all}, {"stat", all}, {"repair", all, first}} {
		code, _, stderr := run(nil, slices.Concat(args[:1], strings.Fields(flags), args[1:])...)
		require.NotEqual(t, cli.ExitDone, code)
		require.Contains(t, stderr, want)
	}
}

// Errors of headers say whether the file is cut, compressed and cut, or damaged.
func TestRepairHeaders(t *testing.T) {
	m := newMistakes(t)
	one, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	f := func(name string, content []byte, want string) {
		t.Helper()
		code, _, stderr := run(nil, "repair", m.file(name, content), m.path("out.stef"))
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, want+"\n")
		require.NoFileExists(t, m.path("out.stef"))
	}
	const damaged, cut = "; the header is damaged: without it no frame can be read", "; the file is cut before its first frame, so there is nothing to keep"
	for _, i := range []int{4, 6, 8} {
		flipped := bytes.Clone(one)
		flipped[i] ^= 0x41
		f("flipped.stef", flipped, damaged)
	}
	f("cut.stef", one[:20], cut)

	// zstd stores incompressible data in raw blocks. The zstd command returns the
	// beginning of an incomplete raw block.
	e, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	packed := e.EncodeAll(one, nil)
	f("cut.stef.zst", packed[:len(packed)/2], "; the file is cut; zstd may return more of the file: zstd -dc "+m.path("cut.stef.zst")+" | stef repair - OUT")
	for _, args := range [][]string{{"convert", "--skip", m.path("cut.stef.zst"), m.path("out.stef")}, {"cat", m.path("cut.stef.zst")}} {
		code, _, stderr := run(nil, args...)
		require.Equal(t, cli.ExitData, code)
		require.Equal(t, "stef "+args[0]+": "+m.path("cut.stef.zst")+": zstd: unexpected EOF; the file is cut; zstd may return more of the file: zstd -dc "+m.path("cut.stef.zst")+" | stef repair - OUT\n", stderr)
	}
	code, _, stderr := run(nil, "convert", m.file("cut.otlp.zst", fixtures.Logs()[:20]), m.path("out.stef"))
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, " | stef convert --skip - OUT\n")

	m.fails(cli.ExitUsage, "the output is stef, and the name c.parquet is for parquet: end it in .stef", "repair", m.metrics, m.path("c.parquet"))
	m.fails(cli.ExitUsage, "the output is not compressed as a whole: end the name in .stef, not .zst", "repair", m.metrics, m.path("c.stef.zst"))
	code, _, stderr = run(nil, "repair", m.tape, m.path("out.stef"))
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "it is otlp-parts; repair is for STEF: if the file is cut, stef convert --skip IN OUT converts everything complete before the cut\n")
}
