// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// setOnce writes record n. It sets the time in each record, and most other fields only in the first record.
func setOnce(s *otelstef.LogsWriter, n uint64) error {
	if rec := s.Record(); n == 1 {
		rec.EditResource().Attributes().AppendString("service.name", "cart")
		rec.SetScope(otelstef.NewScope())
		rec.EditScope().SetName("checkout")
		rec.Record().Body().SetString("started")
		rec.Record().Attributes().AppendInt64("code.line", 7)
	}
	s.Record().Record().SetTime(n)
	return s.Write()
}

// requireAllSet reads all files. Their records must have the fields that setOnce sets.
func requireAllSet(t *testing.T, dir string, files int, times []uint64) {
	t.Helper()
	list, got := names(t, dir), []uint64(nil)
	require.Len(t, list, files)
	for _, name := range list {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		defer f.Close()
		r, err := otelstef.NewLogsReader(f)
		require.NoError(t, err)
		for r.Next() {
			rec := r.Record()
			got = append(got, rec.Record().Time())
			require.Equal(t, `{"service.name":"cart"}`, rec.Resource().Attributes().String(), name)
			require.Equal(t, "checkout", rec.Scope().Name(), name)
			require.Equal(t, "started", string(rec.Record().Body().String()), name)
			require.Equal(t, `{"code.line":7}`, rec.Record().Attributes().String(), name)
		}
		require.NoError(t, r.Err())
	}
	require.Equal(t, times, got)
}

// If a program sets fields only once, the records of all later files still have them, whatever the reason
// for a new file.
func TestRecordContinues(t *testing.T) {
	for name, options := range map[string][]stef.WriterOption{
		"full": nil, "compact": {otelstef.CompactLogs(), stef.WithCompression(stef.Zstd)},
	} {
		start := func(dst io.Writer) (*otelstef.LogsWriter, error) { return otelstef.NewLogsWriter(dst, options...) }
		t.Run(name+"/rotate and size", func(t *testing.T) {
			dir := t.TempDir()
			w, err := New(Options{Dir: dir, Signal: "logs", MaxBytes: 1}, start)
			require.NoError(t, err)
			for n := uint64(1); n <= 4; n++ {
				require.NoError(t, w.Write(func(s *otelstef.LogsWriter) error { return setOnce(s, n) }))
			}
			require.NoError(t, w.Close())
			requireAllSet(t, dir, 4, upTo(4))
		})
		t.Run(name+"/age", func(t *testing.T) {
			dir := t.TempDir()
			w, err := New(Options{Dir: dir, Signal: "logs", MaxAge: 30 * time.Millisecond}, start)
			require.NoError(t, err)
			for n := uint64(1); n <= 2; n++ {
				require.NoError(t, w.Write(func(s *otelstef.LogsWriter) error { return setOnce(s, n) }))
				eventually(t, func() bool { return w.Stats().Finished == n })
			}
			require.NoError(t, w.Close())
			requireAllSet(t, dir, 2, upTo(2))
		})
	}
}

// The function that begins streams fails once, and later another program removes the active file. The
// records of both files are lost. The record in the next file still has the fields that were set only once.
func TestRecordContinuesAfterError(t *testing.T) {
	dir := t.TempDir()
	fails := false
	w, err := New(Options{Dir: dir, Signal: "logs"}, func(dst io.Writer) (*otelstef.LogsWriter, error) {
		if fails {
			return nil, errors.New("no stream")
		}
		return startLogs(dst)
	})
	require.NoError(t, err)
	put := func(n uint64) error {
		return w.Write(func(s *otelstef.LogsWriter) error { return setOnce(s, n) })
	}
	require.NoError(t, put(1))
	require.NoError(t, w.Rotate())
	fails = true
	require.ErrorContains(t, put(2), "no stream")
	fails = false
	require.NoError(t, put(3))
	require.NoError(t, os.Remove(filepath.Join(dir, names(t, dir)[1]))) // the active file
	time.Sleep(2 * checkEvery)
	require.NoError(t, put(4))
	require.NoError(t, w.Close())
	requireAllSet(t, dir, 2, []uint64{1, 4})
}

// The function that begins streams can set fields for each file. All other fields keep their values from the
// previous file, even if the type of the stream embeds a writer.
func TestRecordContinuesButForStart(t *testing.T) {
	type stream struct{ *otelstef.LogsWriter }
	dir, files := t.TempDir(), uint64(0)
	w, err := New(Options{Dir: dir, Signal: "logs", MaxBytes: 1}, func(dst io.Writer) (stream, error) {
		s, err := otelstef.NewLogsWriter(dst)
		if err == nil {
			s.Record().EditScope().SetDroppedAttributesCount(files)
			files++
		}
		return stream{s}, err
	})
	require.NoError(t, err)
	for n := uint64(1); n <= 3; n++ {
		require.NoError(t, w.Write(func(s stream) error {
			require.Equal(t, n, s.Record().Scope().DroppedAttributesCount()) // New began stream 0
			if n == 1 {
				s.Record().EditResource().SetSchemaURL("set once")
			}
			require.Equal(t, "set once", s.Record().Resource().SchemaURL())
			return s.Write()
		}))
	}
	require.NoError(t, w.Close())
}

// The function that begins streams may set a field to the value that the field has in a new record, or
// write a record of its own. Then the field gets the value of the last file, as the comment of New says.
// If the function changes a field, the whole field is kept.
func TestRecordContinuesOverUnchangedFields(t *testing.T) {
	f := func(begin func(*otelstef.LogsWriter) error, count uint64, version string) {
		t.Helper()
		w, err := New(Options{Dir: t.TempDir(), Signal: "logs"}, func(dst io.Writer) (*otelstef.LogsWriter, error) {
			s, err := otelstef.NewLogsWriter(dst)
			if err == nil {
				err = begin(s)
			}
			return s, err
		})
		require.NoError(t, err)
		require.NoError(t, w.Write(func(s *otelstef.LogsWriter) error {
			s.Record().EditScope().SetDroppedAttributesCount(7)
			s.Record().EditScope().SetVersion("v1")
			return s.Write()
		}))
		require.NoError(t, w.Rotate())
		require.NoError(t, w.Write(func(s *otelstef.LogsWriter) error {
			require.Equal(t, count, s.Record().Scope().DroppedAttributesCount())
			require.Equal(t, version, s.Record().Scope().Version())
			return s.Write()
		}))
		require.NoError(t, w.Close())
	}
	f(func(s *otelstef.LogsWriter) error {
		s.Record().EditScope().SetDroppedAttributesCount(0)
		return nil
	}, 7, "v1")
	f(func(s *otelstef.LogsWriter) error {
		s.Record().EditScope().SetDroppedAttributesCount(5)
		return s.Write()
	}, 7, "v1")
	f(func(s *otelstef.LogsWriter) error {
		s.Record().EditScope().SetDroppedAttributesCount(5)
		return nil
	}, 5, "")
}

// If fill returns an error of the stream, the next Write uses a new file, even if flushes are delayed.
// The error says how many records are lost.
func TestStreamErrorBetweenFlushes(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, FlushInterval: time.Hour})
	require.NoError(t, writeLogs(w, 1, 1))
	require.NoError(t, w.Flush())
	require.NoError(t, writeLogs(w, 2, 2))
	err := w.Write(func(s *otelstef.LogsWriter) error {
		require.NoError(t, putLogs(s, 3, 3))
		for i := range 600 { // 72 MB, in texts that are too short for a check of the record
			text := strings.Repeat(fmt.Sprintf("%04d", i), 15<<10)
			s.Record().Record().Attributes().AppendString("key"+text, "value"+text)
		}
		err := s.Write()
		s.Record().Record().Attributes().Reset()
		return err
	})
	require.ErrorIs(t, err, stef.ErrFrameTooLarge)
	var fault *Error
	require.ErrorAs(t, err, &fault)
	require.EqualValues(t, 3, fault.Lost)
	require.NoError(t, writeLogs(w, 2, 5))
	require.NoError(t, w.Flush())
	require.Equal(t, upTo(5), readAll(t, dir))
	require.Len(t, names(t, dir), 2)
	require.EqualValues(t, 3, w.Stats().Lost)
}

// Two writers of one folder, which were created before the clock was set back, choose different names. Otherwise
// one would replace the finished files of the other.
func TestClockSetBackUnderTwoWriters(t *testing.T) {
	dir := t.TempDir()
	ahead := Name{Prefix: "telemetry", Time: time.Now().Add(time.Hour).UTC(), PID: 1, Sequence: 1, Signal: "logs"}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ahead.String()), nil, 0o600))
	a, b := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	for n := range uint64(2 * tries) {
		require.NoError(t, writeLogs(a, n+1, n+1))
		require.NoError(t, a.Rotate())
	}
	require.NoError(t, writeLogs(b, 2*tries+1, 2*tries+1))
	require.NoError(t, b.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, ahead.String())))
	require.Equal(t, upTo(2*tries+1), readAll(t, dir))
}

// A new file does not get the name of a finished file. Otherwise the rename at the end of the new file
// would replace the finished file.
func TestNameOfFinishedFile(t *testing.T) {
	dir := t.TempDir()
	name := Name{Prefix: "telemetry", Time: time.Now().UTC(), PID: 1, Signal: "logs"}
	finished := name
	finished.Sequence = 1
	require.NoError(t, os.WriteFile(filepath.Join(dir, finished.String()), []byte("records"), 0o600))
	var o activeFile
	require.NoError(t, o.create(osDisk{}, dir, 0o600, func() Name {
		name.Sequence++
		name.Active = true
		return name
	}))
	require.Equal(t, 2, name.Sequence)
	require.NoError(t, o.finish(false, true))
	require.Len(t, names(t, dir), 2)
}

// A Write with an error of fill flushes, but does not acknowledge records. If the file is removed then,
// the next Flush reports that the records of earlier calls of Write are lost.
func TestLostAfterFillError(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove open files")
	}
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, FlushInterval: time.Hour})
	require.NoError(t, writeLogs(w, 1, 2))
	require.ErrorContains(t, w.Write(func(*otelstef.LogsWriter) error { return errors.New("own") }), "own")
	require.Equal(t, upTo(2), readAll(t, dir))
	require.NoError(t, os.Remove(filepath.Join(dir, names(t, dir)[0])))
	time.Sleep(checkEvery)
	require.NoError(t, writeLogs(w, 3, 3))
	var fault *Error
	require.ErrorAs(t, w.Flush(), &fault)
	require.EqualValues(t, 2, fault.Lost)
	require.NoError(t, w.Flush())
	require.Equal(t, []uint64{3}, readAll(t, dir))
}
