// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asWriter); dir != "" {
		crashingWriter(dir)
	}
	goleak.VerifyTestMain(m)
}

// startLogs begins a stream of logs.
func startLogs(dst io.Writer) (*otelstef.LogsWriter, error) {
	return otelstef.NewLogsWriter(dst, stef.WithCompression(stef.Zstd), stef.WithSchemaHeader())
}

// writeLogs writes log records numbered from first to last as one batch.
func writeLogs(w *Writer[*otelstef.LogsWriter], first, last uint64) error {
	return w.Write(func(s *otelstef.LogsWriter) error { return putLogs(s, first, last) })
}

func putLogs(s *otelstef.LogsWriter, first, last uint64) error {
	for n := first; n <= last; n++ {
		s.Record().Record().SetTime(n)
		s.Record().Record().Body().SetString(fmt.Sprintf("record %d of %x", n, n*0x9e3779b97f4a7c15))
		if err := s.Write(); err != nil {
			return err
		}
	}
	return nil
}

func open(t *testing.T, o Options) *Writer[*otelstef.LogsWriter] {
	t.Helper()
	return openOn(t, o, osDisk{})
}

func openOn(t *testing.T, o Options, d disk) *Writer[*otelstef.LogsWriter] {
	t.Helper()
	if o.Signal == "" {
		o.Signal = "logs"
	}
	w, err := newWriter(o, startLogs, d)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// names lists the files of a folder, sorted.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// readLogs returns the numbers of the records of one file, and the error at its end.
func readLogs(t *testing.T, path string) (got []uint64, end error) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := otelstef.NewLogsReader(f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for r.Next() {
		n := r.Record().Record().Time()
		require.Equal(t, fmt.Sprintf("record %d of %x", n, n*0x9e3779b97f4a7c15), string(r.Record().Record().Body().String()))
		got = append(got, n)
	}
	return got, r.Err()
}

// readAll returns the numbers of the records of all files in the order of their
// names. All files must be complete.
func readAll(t *testing.T, dir string) (got []uint64) {
	t.Helper()
	for _, name := range names(t, dir) {
		part, err := readLogs(t, filepath.Join(dir, name))
		require.NoError(t, err, name)
		got = append(got, part...)
	}
	return got
}

func upTo(n uint64) (want []uint64) {
	for i := uint64(1); i <= n; i++ {
		want = append(want, i)
	}
	return want
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, 2*time.Millisecond)
}
