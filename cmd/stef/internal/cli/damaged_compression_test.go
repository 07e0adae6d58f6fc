// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
)

// damaged compresses content and damages the result in several ways. It returns the files by name; a
// name ends in the suffix of the compression. whole says that all of the content precedes the damage.
func damaged(t *testing.T, content []byte) map[string]struct {
	file  []byte
	whole bool
} {
	t.Helper()
	stored := func(flip int) []byte { // gzip without compression: a flipped byte becomes a byte of content
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		b.Bytes()[(b.Len()+flip)%b.Len()] ^= 0xff
		return b.Bytes()
	}
	blocks := func(flip int) []byte { // zstd in blocks
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		for piece := range bytes.SplitAfterSeq(content, content[len(content)/2:len(content)/2+8]) {
			_, err := w.Write(piece)
			require.NoError(t, err)
			require.NoError(t, w.Flush())
		}
		require.NoError(t, w.Close())
		b.Bytes()[(b.Len()+flip)%b.Len()] ^= 0xff
		return b.Bytes()
	}
	return map[string]struct {
		file  []byte
		whole bool
	}{
		"content.gz":   {stored(len(content) / 2), false},
		"checksum.gz":  {stored(-6), true},
		"checksum.zst": {blocks(-1), true},
	}
}

// TestSkipDamagedCompression: convert --skip converts everything complete before damage of the compression, and
// reports the rest. Without --skip it fails, as for other damage.
func TestSkipDamagedCompression(t *testing.T) {
	for _, format := range []string{"otlp-json", "otlp-parts", "stef-parts", "stef", "otlp"} {
		content := shortCuts(t)[format]
		require.NotEmpty(t, content)
		dir := t.TempDir()
		plain := filepath.Join(dir, "plain")
		require.NoError(t, os.WriteFile(plain, content, 0o600))
		all, _ := mustRun(t, nil, "cat", "--signal", "traces", plain)
		for name, d := range damaged(t, content) {
			if format == "otlp" && !d.whole { // its entries are read as one batch, which is damaged
				continue
			}
			in := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(in, d.file, 0o600))
			for _, to := range []string{".stef", ".json", ".arrow"} {
				out := filepath.Join(dir, "out"+to)
				args := []string{"convert", "--force", "--from", format, "--mode", "ordered", in, out}
				if to != ".stef" {
					args = append(args[:4:4], in, out)
				}
				code, _, stderr := run(nil, args...)
				require.Equal(t, cli.ExitData, code, "%s %s: %s", format, name, stderr)
				code, _, stderr = run(nil, append([]string{args[0], "--skip"}, args[1:]...)...)
				require.Equal(t, cli.ExitLost, code, "%s %s: %s", format, name, stderr)
				require.Contains(t, stderr, "; everything complete before the damage was converted, and the rest is lost; changed bytes may have gone unnoticed\n")
				got, _ := mustRun(t, nil, "cat", out)
				require.NotEmpty(t, got)
				if to == ".stef" && d.whole {
					require.Equal(t, all, got, "%s %s", format, name)
				}
			}
		}
	}
}

// TestSkipSeveralDamaged: of several inputs, --skip converts all that precedes the damage of a compression.
// Damage of content that is not compressed ends the conversion.
func TestSkipSeveralDamaged(t *testing.T) {
	content := shortCuts(t)["otlp-json"]
	dir := t.TempDir()
	whole, bad, out := filepath.Join(dir, "whole.json"), filepath.Join(dir, "bad.json.gz"), filepath.Join(dir, "out.stef")
	require.NoError(t, os.WriteFile(whole, content, 0o600))
	require.NoError(t, os.WriteFile(bad, damaged(t, content)["content.gz"].file, 0o600))
	code, _, stderr := run(nil, "convert", "--skip", bad, whole, out)
	require.Equal(t, cli.ExitLost, code, stderr)
	require.Contains(t, stderr, "not complete: "+bad+": ")
	require.Contains(t, stderr, "; the compression is damaged, too: gzip: invalid checksum; everything complete before the damage was converted")

	content[len(content)/2] ^= 0xff
	require.NoError(t, os.WriteFile(whole, content, 0o600))
	code, _, stderr = run(nil, "convert", "--skip", whole, bad, filepath.Join(dir, "none.stef"))
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "--skip omits items that cannot be converted, not damaged messages")
}
