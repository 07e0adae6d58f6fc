// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
)

// asWriter is an environment variable that TestKill sets. It makes the test binary run crashingWriter. Its
// value is the folder of the files.
const asWriter = "STEF_ROTATE_CRASH"

// crashingWriter writes until it is killed. It prints the number of the last record
// after each Write.
func crashingWriter(dir string) {
	w, err := New(Options{Dir: dir, Signal: "logs", MaxBytes: 20 << 10}, startLogs)
	for n := uint64(0); err == nil; n += 20 {
		if err = writeLogs(w, n+1, n+20); err == nil {
			fmt.Println(n + 20)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// kills returns the number of times that the tests kill a process.
func kills() int {
	if testing.Short() {
		return 10
	}
	return 100
}

// If a process is killed at any time, its files have every flushed record, and no record that was not
// written. The next writer finishes the active file of the killed process.
func TestKill(t *testing.T) {
	if !renamesOpenFiles {
		t.Skip("without locks a file counts as in use for StaleAfter")
	}
	total, leftover := 0, uint64(0)
	for range kills() {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), asWriter+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		flushed := uint64(0)
		var timer *time.Timer
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, err := strconv.ParseUint(lines.Text(), 10, 64)
			require.NoError(t, err)
			flushed = n
			if timer == nil {
				timer = time.AfterFunc(rand.N(20*time.Millisecond), func() { _ = cmd.Process.Kill() })
			}
		}
		require.Error(t, cmd.Wait())
		require.NotNil(t, timer)

		w := open(t, Options{Dir: dir, MaxBytes: 20 << 10})
		leftover += w.Stats().Recovered
		require.NoError(t, w.Close())
		got, list := []uint64(nil), names(t, dir)
		for i, name := range list {
			n, ok := ParseName(name)
			require.True(t, ok && !n.Active, name)
			part, err := readLogs(t, filepath.Join(dir, name))
			if err != nil {
				require.Equal(t, len(list)-1, i, "%s: %v", name, err)
				require.True(t, errors.Is(err, stef.ErrCorrupt), "%v", err)
			}
			got = append(got, part...)
		}
		require.Equal(t, upTo(uint64(len(got))), got)
		require.GreaterOrEqual(t, uint64(len(got)), flushed)
		require.LessOrEqual(t, uint64(len(got)), flushed+20)
		total += len(got)
	}
	require.NotZero(t, leftover)
	t.Logf("%d kills: %d records were read, %d files were finished by the next writer", kills(), total, leftover)
}

// Abandoned and New distinguish an active file in use from one whose process has ended.
func TestAbandoned(t *testing.T) {
	if !renamesOpenFiles {
		t.Skip("without locks a file counts as in use for StaleAfter")
	}
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	require.NoError(t, writeLogs(w, 1, 3))
	active := filepath.Join(dir, names(t, dir)[0])
	gone, err := Abandoned(active)
	require.NoError(t, err)
	require.False(t, gone)
	second := open(t, Options{Dir: dir})
	require.Zero(t, second.Stats().Recovered)
	require.FileExists(t, active)

	// No process locks these two files: a copy of the active file, and an empty file.
	b, err := os.ReadFile(active)
	require.NoError(t, err)
	for i, content := range [][]byte{b, nil} {
		left := Name{Prefix: "telemetry", PID: 1, Sequence: i + 1, Signal: "logs", Active: true}
		require.NoError(t, os.WriteFile(filepath.Join(dir, left.String()), content, 0o600))
		gone, err = Abandoned(filepath.Join(dir, left.String()))
		require.NoError(t, err)
		require.True(t, gone)
	}
	third := open(t, Options{Dir: dir})
	require.EqualValues(t, 1, third.Stats().Recovered)
	require.Len(t, names(t, dir), 2)
	_, err = Abandoned(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestTornFrame truncates a file at each byte of its first or last frame, as a crash of the
// machine may. The next writer must leave a complete stream of the whole frames before the cut,
// or remove the file if it has no whole frame of records.
func TestTornFrame(t *testing.T) {
	if !renamesOpenFiles {
		t.Skip("without locks a file counts as in use for StaleAfter")
	}
	source := t.TempDir()
	w := open(t, Options{Dir: source})
	var ends []int64 // of the frames
	path := ""
	for n := uint64(1); n <= 3; n++ {
		require.NoError(t, writeLogs(w, n, n))
		path = filepath.Join(source, names(t, source)[0])
		info, err := os.Stat(path)
		require.NoError(t, err)
		ends = append(ends, info.Size())
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	left := Name{Prefix: "telemetry", PID: 1, Sequence: 1, Signal: "logs", Active: true}
	f := func(size int64, want uint64) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, left.String()), b[:size], 0o600))
		w := open(t, Options{Dir: dir})
		require.NoError(t, w.Close())
		require.Empty(t, w.Stats().Errors)
		require.Equal(t, want > 0, w.Stats().Recovered == 1)
		require.Equal(t, upTo(want), readAll(t, dir), "cut at %d", size)
	}
	for size := range ends[0] {
		f(size, 0)
	}
	for size := ends[1]; size < ends[2]; size++ {
		f(size, 2)
	}
	f(ends[2], 3)
}

// After a crash of the machine, a file can end with zeros that no program has written. The next writer
// removes and reports them. Apart from zeros, it removes only the bytes of a truncated frame.
func TestTornTail(t *testing.T) {
	if !renamesOpenFiles {
		t.Skip("without locks a file counts as in use for StaleAfter")
	}
	left := Name{Prefix: "telemetry", PID: 1, Sequence: 1, Signal: "logs", Active: true}
	// f checks that the next writer leaves a file with the content want, or no file if want is nil.
	// The writer must report an error whose text contains words, or no error if words is "".
	f := func(content, want []byte, words string) {
		t.Helper()
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, left.String()), content, 0o600))
		var reported []error
		w := open(t, Options{Dir: dir, OnError: func(err error) { reported = append(reported, err) }})
		require.Equal(t, words != "", len(reported) == 1, "New passes its errors to OnError before it returns")
		require.NoError(t, w.Close())
		if want == nil {
			require.Empty(t, names(t, dir))
			require.Zero(t, w.Stats().Recovered)
		} else {
			got, err := os.ReadFile(filepath.Join(dir, finalName(left.String())))
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.EqualValues(t, 1, w.Stats().Recovered)
		}
		if words == "" {
			require.Empty(t, reported)
			require.Empty(t, w.Stats().Errors)
			return
		}
		require.Len(t, reported, 1)
		var e *Error
		require.ErrorAs(t, reported[0], &e)
		require.Equal(t, "recover", e.Op)
		require.ErrorContains(t, e, words)
		require.True(t, errors.Is(e, stef.ErrCorrupt) || errors.Is(e, stef.ErrLimit), "%v", e)
		require.Equal(t, map[Kind]uint64{KindOther: 1}, w.Stats().Errors)
	}
	for _, options := range [][]stef.WriterOption{
		nil, {stef.WithCompression(stef.Zstd)}, {stef.WithCompression(stef.Zstd), stef.WithChecksums(), stef.WithSchemaHeader()},
	} {
		b, ends := stream(t, options...) // ends are those of the fixed header, the variable header and the frames
		last := len(ends) - 1
		f(b, b, "")
		tooLong := "\x00\xff\xff\xff\xff\x0f"
		for _, tail := range []int{2, 100, 10 << 10} {
			words := fmt.Sprintf("the %d bytes after the last whole frame are zeros and were removed: offset %d: ", tail, len(b))
			f(slices.Concat(b, make([]byte, tail)), b, words)
			f(slices.Concat(b[:ends[1]], make([]byte, tail)), nil, "the file had no whole frame of records, only zeros, and was removed")
		}
		for _, tail := range []string{"\xffgarbage", "garbage" + string(b), string(b), tooLong, strings.Repeat("\x00", 100) + "x"} {
			for _, end := range []int64{ends[1], ends[last]} {
				content := slices.Concat(b[:end], []byte(tail))
				advice := ""
				if end == ends[last] && tail != tooLong {
					advice = "; stef repair copies its whole frames"
				}
				f(content, content, "the file is damaged and is kept unchanged"+advice+": ")
			}
		}
		for cut := ends[last-1] + 1; cut < ends[last]; cut += 1 + (ends[last]-ends[last-1])/50 {
			f(b[:cut], b[:ends[last-1]], "")
		}
		// New does not check the content of a frame, so damage within a frame changes nothing.
		damaged := slices.Clone(b)
		for i := ends[last-1] + 10; i < ends[last]; i++ {
			damaged[i] = 0
		}
		f(damaged, damaged, "")

		// Nothing was written to the disk, or only the fixed header.
		for _, end := range []int64{0, ends[0]} {
			f(slices.Concat(b[:end], make([]byte, 10<<10)), nil, "the file had no whole frame of records, only zeros, and was removed")
		}
		// The first block of the file was lost, or is damaged.
		for _, from := range []int64{0, ends[0]} {
			lost := slices.Clone(b)
			copy(lost[from:], []byte{0, 0, 0})
			f(lost, lost, "the file is damaged and is kept unchanged")
		}
	}

	end, records, err := wholeFrames(failing{}, 10)
	require.EqualValues(t, 10, end)
	require.True(t, records)
	require.ErrorIs(t, err, errRead)
}
