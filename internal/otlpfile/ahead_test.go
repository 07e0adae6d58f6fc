// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelstef/stef/internal/otlpfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read returns the batches of a file as OTLP, and the error or io.EOF that follows them.
// skipped is the sum of what Skipped returns after each call of Next.
func read(src io.Reader, format otlpfile.Format, signal otlpfile.Signal, opts ...otlpfile.ReaderOption) (all [][]byte, skipped uint64, err error) {
	r, err := otlpfile.Open(src, format, signal, opts...)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	for {
		b, err := r.Next()
		for _, s := range otlpfile.Signals() {
			skipped += r.Skipped(s)
		}
		if err != nil {
			return all, skipped, err
		}
		otlp, err := b.Marshal()
		if err != nil {
			return all, skipped, err
		}
		all = append(all, bytes.Clone(otlp))
	}
}

// A reader that reads ahead returns the same batches, counts and errors in the same order,
// for whole files, truncated files and files with a message of another signal.
func TestConcurrency(t *testing.T) {
	for signal, file := range files {
		batches, err := readAll(open(t, file))
		require.NoError(t, err)
		batches = batches[:40]
		other, err := readAll(open(t, files[signal%3+1]))
		require.NoError(t, err)
		for _, format := range formats {
			whole := write(t, format, signal, batches)
			mixed := slices.Concat(whole, write(t, format, signal%3+1, other[:20]), whole)
			damaged := bytes.Clone(whole)
			copy(damaged[len(damaged)*3/4:], "\xff\xff\xff\xff\xff\xff\xff\xff")
			for name, content := range map[string][]byte{"whole": whole, "truncated": whole[:len(whole)*2/3], "mixed": mixed, "damaged": damaged} {
				for _, opts := range [][]otlpfile.ReaderOption{
					{otlpfile.WithBatchSize(1000)},
					{otlpfile.WithBatchSize(1000), otlpfile.WithOtherSignals(), otlpfile.WithoutPdata(func(otlpfile.Signal) bool { return true })},
				} {
					want, wantSkipped, wantErr := read(bytes.NewReader(content), format, signal, opts...)
					require.NotEmpty(t, want)
					if name == "whole" || name == "truncated" {
						require.Equal(t, name == "whole", wantErr == io.EOF, "%s %s: %v", format, name, wantErr)
					}
					for _, n := range []int{2, 5} {
						got, skipped, err := read(bytes.NewReader(content), format, signal, append(opts, otlpfile.WithConcurrency(n))...)
						require.EqualError(t, err, wantErr.Error(), "%s %s %s", signal, format, name)
						require.Equal(t, want, got, "%s %s %s", signal, format, name)
						require.Equal(t, wantSkipped, skipped)
					}
				}
			}
		}
	}
}

// The error of a source that fails follows the batches before it.
func TestConcurrencySourceFails(t *testing.T) {
	failed := errors.New("the disk is gone")
	for signal, file := range files {
		batches, err := readAll(open(t, file))
		require.NoError(t, err)
		whole := write(t, otlpfile.JSON, signal, batches[:20])
		src := func() io.Reader { return io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(failed)) }
		got, _, err := read(src(), otlpfile.JSON, signal, otlpfile.WithConcurrency(3))
		require.ErrorIs(t, err, failed)
		require.ErrorIs(t, err, otlpfile.ErrRead)
		require.Len(t, got, 20)
	}
}

// Close ends the goroutines of a reader whose file was not read to the end.
func TestConcurrencyClose(t *testing.T) {
	for signal, file := range files {
		for batches := range 4 {
			r := open(t, file, otlpfile.WithConcurrency(2))
			for range batches {
				_, err := r.Next()
				require.NoError(t, err, signal)
			}
			r.Close()
			r.Close()
		}
	}
}
