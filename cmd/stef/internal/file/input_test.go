// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/file"
)

const text = "telemetry, telemetry, telemetry\n"

func zstdOf(t *testing.T, s string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return z.EncodeAll([]byte(s), nil)
}

func gzipOf(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, s)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestInput(t *testing.T) {
	dir := t.TempDir()
	f := func(name string, data []byte, want, packed, contentName string) {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		in, err := file.Open(path, nil)
		require.NoError(t, err)
		defer in.Close()
		require.Equal(t, packed, in.Packed)
		require.Equal(t, int64(len(data)), in.Size)
		require.Equal(t, filepath.Join(dir, contentName), in.ContentName())
		head, err := in.Peek(4)
		require.NoError(t, err)
		require.Equal(t, want[:min(4, len(want))], string(head))
		got, err := io.ReadAll(iotest.OneByteReader(in))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		require.Equal(t, int64(len(data)), in.Taken())
		require.Equal(t, int64(len(want)), in.Content())
	}
	f("a.stef", []byte(text), text, "", "a.stef")
	f("a.stef.zst", zstdOf(t, text), text, "zstd", "a.stef")
	f("a.stef.gz", gzipOf(t, text), text, "gzip", "a.stef")
	f("a", zstdOf(t, ""), "", "zstd", "a")
	f("a.zst", []byte(text), text, "", "a.zst") // the name implies compression, but the content is not compressed
	f("empty", nil, "", "", "empty")
	f("short", []byte{0x28}, "\x28", "", "short")
}

// After Random, the whole file counts as content.
func TestRandom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	in, err := file.Open(path, nil)
	require.NoError(t, err)
	defer in.Close()
	_, err = in.Peek(4)
	require.NoError(t, err)
	r, err := in.Random()
	require.NoError(t, err)
	var end [5]byte
	_, err = r.ReadAt(end[:], int64(len(text)-5))
	require.NoError(t, err)
	require.Equal(t, text[len(text)-5:], string(end[:]))
	require.EqualValues(t, 5, in.Taken())
	require.EqualValues(t, len(text), in.Content())
}

func TestStandardInput(t *testing.T) {
	in, err := file.Open("-", strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, "standard input", in.Name)
	require.EqualValues(t, -1, in.Size)
	got, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

// A file that cannot be read and a file with bad content have different errors.
func TestBlame(t *testing.T) {
	read := func(src io.Reader) error {
		in, err := file.Open("-", src)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.ReadAll(in)
		return in.Blame(err)
	}
	failure := errors.New("the disk is gone")
	packed := zstdOf(t, strings.Repeat(text, 100))
	zipped := gzipOf(t, strings.Repeat(text, 100))
	fails := func(data []byte) {
		t.Helper()
		err := read(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(failure)))
		var failed *file.Error
		require.ErrorAs(t, err, &failed)
		require.ErrorIs(t, err, failure)
		require.EqualError(t, err, "standard input: the disk is gone")
	}
	fails(nil)
	fails([]byte("STEF"))
	fails(packed[:len(packed)-1])
	fails(zipped[:len(zipped)-1])
	bad := func(data []byte, want string) {
		t.Helper()
		err := read(bytes.NewReader(data))
		var content *file.ContentError
		require.ErrorAs(t, err, &content)
		require.EqualError(t, err, "standard input: "+want)
	}
	bad(packed[:len(packed)-1], "zstd: unexpected EOF")
	bad(zipped[:len(zipped)-1], "gzip: unexpected EOF")
	bad(zipped[:5], "gzip: the file is cut inside its header, so nothing of it can be read: unexpected EOF")
	damaged := bytes.Clone(zipped)
	damaged[len(damaged)-6] ^= 1
	bad(damaged, "gzip: invalid checksum")

	in, err := file.Open("-", strings.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, in.Blame(nil))
	other := &file.Error{Name: "out", Err: failure}
	require.Same(t, other, in.Blame(other))
}

func TestOpenFails(t *testing.T) {
	var failed *file.Error
	_, err := file.Open(filepath.Join(t.TempDir(), "none"), nil)
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, 1, strings.Count(err.Error(), "none"), "%v", err)
	_, err = file.Open(t.TempDir(), nil)
	require.ErrorAs(t, err, &failed)
}

// The error about a folder names patterns for the files that it has.
func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	f := func(want string, names ...string) {
		t.Helper()
		for _, name := range names {
			require.NoError(t, os.WriteFile(name, nil, 0o666))
		}
		for _, folder := range []string{".", dir} {
			_, err := file.Open(folder, nil)
			require.EqualError(t, err, folder+": is a folder; name its files: "+strings.ReplaceAll(want, "./", folder+string(filepath.Separator)))
		}
	}
	require.NoError(t, os.Mkdir("sub.stef", 0o777))
	f("./*")
	f("./*.log ./*.txt", "b.log", "c.log", "a.txt", ".hidden.stef")
	f("./*.otlp.zst", "a.otlp.zst")
	f("./*.stef ./*.otlp.zst", "a.stef", "b.stef")
	f("./*.stef ./*.json ./*.otlp.zst", "a.json", "z.parquet")
}
