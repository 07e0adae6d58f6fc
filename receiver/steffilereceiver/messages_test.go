// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/rotate"
)

// message returns the length of a message and the message, which has a frame for each batch.
func message(t testing.TB, batches ...plog.Logs) []byte {
	t.Helper()
	var out bytes.Buffer
	e, err := signal.Logs.NewEncoder(&out, nil, otelstef.CompactLogs(), stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	for _, ld := range batches {
		require.NoError(t, e.Encode(ld))
		require.NoError(t, e.Writer.Flush())
	}
	return framed(out.Bytes())
}

func framed(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }

// messageFile returns a file of n messages with 3 records each. The last message has two frames. until
// has the number of the last record of each message. The key is the offset at which the message ends.
func messageFile(t testing.TB, n int) (file []byte, until map[int]uint64) {
	until = map[int]uint64{0: 0}
	for i := range uint64(n) {
		file = append(file, message(t, numbered(3*i+1, 3*i+2), numbered(3*i+3, 3*i+3))...)
		until[len(file)] = 3*i + 3
	}
	return file, until
}

// TestMessagesCut: if a file of messages is truncated at any byte, the records of the complete
// messages are delivered. The other records are delivered when the rest is written.
func TestMessagesCut(t *testing.T) {
	file, until := messageFile(t, 3)
	step := 1
	if testing.Short() {
		step = 17
	}
	for cut := 0; cut <= len(file); cut += step {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.stef")
		seen := map[uint64]int{}
		f := lookAt(t, dir, seen)
		require.NoError(t, os.WriteFile(path, file[:cut], 0o600))
		f.runPass()
		whole := uint64(0)
		for end, n := range until {
			if end <= cut {
				whole = max(whole, n)
			}
		}
		require.Len(t, seen, int(whole), "cut at byte %d", cut)
		require.NoError(t, os.WriteFile(path, file, 0o600))
		f.runPass()
		require.Len(t, seen, 9, "cut at byte %d", cut)
		for n, times := range seen {
			require.Equal(t, 1, times, "record %d, cut at byte %d", n, cut)
		}
		for key := range f.open {
			f.close(key)
		}
	}
}

// lookAt returns a follower of a folder without a goroutine: the test calls its methods. The follower
// counts in seen how often each number was delivered.
func lookAt(t testing.TB, dir string, seen map[uint64]int, changes ...func(*Config)) *follower[plog.Logs] {
	t.Helper()
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.ID = component.NewID(metadata.Type)
	f, err := newFollower(signal.Logs, settings, testConfig(dir, changes...), sink[plog.Logs]{
		consume: func(_ context.Context, ld plog.Logs) error {
			each(ld, func(n uint64, _ string) { seen[n]++ })
			return nil
		},
		rest:  func(error) (plog.Logs, bool) { return plog.Logs{}, false },
		start: (*receiverhelper.ObsReport).StartLogsOp,
		end:   (*receiverhelper.ObsReport).EndLogsOp,
	})
	require.NoError(t, err)
	require.NoError(t, f.prepare(context.Background(), testHost{}))
	return f
}

// TestMessagesRotate: a writer renames its file and begins a new file under the old name, as the file
// exporter does, sometimes while the receiver is stopped. Each record is delivered once.
func TestMessagesRotate(t *testing.T) {
	for _, backup := range []string{"logs-%d.stef", "logs.stef-%d.stef"} { // sorted before and after the active name
		dir, store := t.TempDir(), &memory{}
		path := filepath.Join(dir, "logs.stef")
		to := &collected{t: t}
		r := start(t, testConfig(dir), to, store)
		n := uint64(0)
		for i := range 30 {
			if i%7 == 6 {
				require.Zero(t, r.finished(removed))
				r.stop() // the rotation happens while no receiver runs
			} else {
				r.idle()
			}
			if i%3 == 2 {
				require.NoError(t, os.Rename(path, filepath.Join(dir, fmt.Sprintf(backup, i))))
			}
			out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			require.NoError(t, err)
			_, err = out.Write(message(t, numbered(n+1, n+5)))
			require.NoError(t, err)
			require.NoError(t, out.Close())
			n += 5
			if i%7 == 6 {
				r = start(t, testConfig(dir), to, store)
			}
		}
		to.requireOnce(int(n))
		require.Zero(t, r.finished(removed))
		r.stop()
	}
}

// TestMessagesEnds checks which outcome the metric counts for files of messages: for complete files and
// for files with several defects.
func TestMessagesEnds(t *testing.T) {
	good := message(t, numbered(1, 4))
	var traces bytes.Buffer
	e, err := signal.Traces.NewEncoder(&traces, nil, otelstef.CompactSpans())
	require.NoError(t, err)
	require.NoError(t, e.Encode(receivertestSpan()))
	require.NoError(t, e.Writer.Flush())
	for name, c := range map[string]struct {
		file    []byte
		outcome string
		records int
	}{
		"whole":                    {append(bytes.Clone(good), message(t, numbered(5, 8))...), complete, 8},
		"no records":               {append(message(t), good...), complete, 4},
		"half-written":             {append(bytes.Clone(good), good[:len(good)-1]...), cut, 4},
		"half a length":            {append(bytes.Clone(good), 0, 0), cut, 4},
		"zeros after a crash":      {append(bytes.Clone(good), make([]byte, 64)...), damaged, 4},
		"another signal":           {append(bytes.Clone(good), framed(traces.Bytes())...), damaged, 4},
		"another format":           {append(bytes.Clone(good), framed([]byte(`{"resourceLogs":[]}`))...), damaged, 4},
		"cut within the message":   {append(bytes.Clone(good), framed(good[4:len(good)-2])...), damaged, 4},
		"length beyond the limit":  {append(bytes.Clone(good), 0xff, 0xff, 0xff, 0xff, 'S', 'T', 'E', 'F'), damaged, 4},
		"bytes behind the message": {append(framed(append(bytes.Clone(good[4:]), 0xff, 0xff)), good...), damaged, 4},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			to := &collected{t: t}
			appear(t, filepath.Join(dir, "x.stef"), c.file)
			r := start(t, testConfig(dir), to, nil)
			r.requireFinished(c.outcome, 1)
			to.requireOnce(c.records)
			r.stop()
		})
	}
}

// TestKeepsWhatIsNotSTEF: a file that does not begin as STEF is never deleted, whatever its
// name is.
func TestKeepsWhatIsNotSTEF(t *testing.T) {
	packed := append([]byte{0, 0, 2, 'B'}, "\x28\xb5\x2f\xfdrest"...)
	require.ErrorContains(t, otherFormat(bytes.NewReader(packed)), "compressed by the file exporter: remove compression from its configuration")
	for _, content := range []string{"{}\n", "{}", "some text that is longer than a header", string(packed)} {
		dir := t.TempDir()
		w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
		require.NoError(t, w.put(numbered(1, 1)))
		require.NoError(t, w.Close())
		names, err := filepath.Glob(filepath.Join(dir, "*.stef"))
		require.NoError(t, err)
		require.Len(t, names, 1)
		name := names[0]
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		r := start(t, testConfig(dir, func(c *Config) { c.OnFinished = Delete }), &collected{t: t}, nil)
		r.requireFinished(damaged, 1)
		require.Eventually(t, func() bool {
			kept, err := os.ReadFile(name + damagedSuffix)
			return err == nil && string(kept) == content
		}, time.Minute, time.Millisecond)
		r.stop()
	}
}

// TestMessagesDictionaries: if the messages of a file need a shared zstd dictionary that the receiver
// does not have, the file stays in the folder. The receiver logs one warning, and counts one error.
func TestMessagesDictionaries(t *testing.T) {
	content := []byte("customer order of customer order of")
	dict, err := stef.NewZstdDict(content)
	require.NoError(t, err)
	var second bytes.Buffer
	e, err := signal.Logs.NewEncoder(&second, nil, otelstef.CompactLogs(), stef.WithCompression(stef.Zstd), stef.WithZstdDict(dict))
	require.NoError(t, err)
	require.NoError(t, e.Encode(numbered(4, 9)))
	require.NoError(t, e.Writer.Flush())

	dir, store := t.TempDir(), &memory{}
	path, shared := filepath.Join(dir, "x.stef"), filepath.Join(t.TempDir(), "dictionary")
	appear(t, path, append(message(t, numbered(1, 3)), framed(second.Bytes())...))
	appear(t, shared, content)
	to := &collected{t: t}
	with := func(files ...string) *Config {
		return testConfig(dir, func(c *Config) { c.OnFinished, c.ReadDictionaries = Delete, files })
	}
	r := start(t, with(), to, store)
	to.requireOnce(3)
	r.idle()
	require.Equal(t, int64(1), r.errors("read"))
	require.FileExists(t, path)
	appear(t, filepath.Join(dir, "y.stef"), framed(second.Bytes()))
	require.Eventually(t, func() bool { return r.errors("read") == 2 }, time.Minute, time.Millisecond)
	appear(t, filepath.Join(dir, "y.stef"), message(t, numbered(10, 12))) // another file is read
	to.requireOnce(6)
	r.requireFinished(complete, 1)
	requireFiles(t, dir, 1)
	r.stop()
	// While the file does not change, passes over the folder do not decode it again.
	require.True(t, r.part.(*follower[plog.Logs]).otherFiles[path].undecodable)

	r = start(t, with(shared), to, store)
	r.requireFinished(complete, 1)
	to.requireOnce(12)
	require.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return os.IsNotExist(err)
	}, time.Minute, time.Millisecond)
	r.stop()

	settings := receivertest.NewNopSettings(metadata.Type)
	part, err := NewFactory().CreateLogs(context.Background(), settings, with(filepath.Join(dir, "missing")), to)
	require.NoError(t, err)
	require.ErrorContains(t, part.Start(context.Background(), testHost{}), "read_dictionaries: open")
	require.NoError(t, part.Shutdown(context.Background()))
}

// FuzzMessages follows a file of messages that is written in two parts. Whatever its bytes are,
// the receiver never fails, and delivers no more records than a reader finds in the messages.
func FuzzMessages(f *testing.F) {
	file, _ := messageFile(f, 3)
	f.Add(file, uint16(len(file)/2))
	f.Add(file[:len(file)-3], uint16(20))
	f.Add(append(file[:60:60], file[70:]...), uint16(61))
	f.Add(append(framed(nil), file...), uint16(3))
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		dir := t.TempDir()
		seen := map[uint64]int{}
		r := lookAt(t, dir, seen, func(c *Config) {
			c.AssumeSignal = "logs"
			c.Limits = LimitsConfig{MaxFrameMiB: 1, MaxRecordAllocMiB: 1, MaxDictMiB: 1, MaxOpenFiles: 2}
		})
		path := filepath.Join(dir, "x.stef")
		delivered := func() (n int) {
			for _, times := range seen {
				n += times
			}
			return n
		}
		for _, part := range [][]byte{b[:min(int(at), len(b))], b} {
			appear(t, path, part)
			r.runPass()
			require.LessOrEqual(t, len(r.open), 1)
		}
		for key := range r.open {
			r.close(key)
		}
		if len(b) >= 8 && string(b[4:8]) == signature {
			require.LessOrEqual(t, delivered(), readableMessages(b, r.config.limits()))
		}
	})
}

// readableMessages returns the number of records that a reader finds in the messages of a
// file.
func readableMessages(b []byte, limits stef.Limits) (n int) {
	for len(b) >= 4 {
		length := int(binary.BigEndian.Uint32(b))
		if length > len(b)-4 {
			break
		}
		n += readable(b[4:4+length], limits)
		b = b[4+length:]
	}
	return n
}
