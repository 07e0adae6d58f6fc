// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"

	"github.com/otelstef/stef/internal/diskfault"
	"github.com/otelstef/stef/stef-go/rotate"
)

// fault makes a folder unusable, and usable again.
type fault struct {
	dir         string
	begin, end  func()
	kinds       []rotate.Kind // at least one error has one of these kinds
	atStart     bool          // the folder is unusable from the start
	filesRemain bool          // the files that were written before the fault remain
}

// longest is the maximum time of a call of the application while the file system fails. One call
// in a hundred may take longer, because of a loaded machine or a slow disk.
const longest = time.Second

// testFault runs an application before, during and after a fault. The fault must not block the
// application. Each item must be written, or be counted as failed.
func testFault(t *testing.T, f fault, batch bool) {
	t.Helper()
	var mu sync.Mutex
	var reported []error
	report := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(report))
	ctx := context.Background()
	a, err := newApplication(f.dir, batch)
	require.NoError(t, err)
	n, flushes, slow, slowest := 0, 0, 0, time.Duration(0)
	timed := func(do func()) {
		begin := time.Now()
		do()
		took := time.Since(begin)
		slowest = max(slowest, took)
		if took >= longest {
			slow++
		}
	}
	work := func(count int, want bool) (first int) {
		first = n + 1
		for range count {
			n++
			timed(func() { a.work(ctx, n) })
			if n%20 != 0 {
				continue
			}
			flushes++
			timed(func() { err = a.flush(ctx) })
			if want {
				require.NoError(t, err)
			} else if err != nil {
				report(err) // ForceFlush of a batch processor returns the errors of exports
			}
		}
		return first
	}
	failed := func() uint64 { return a.spans.Stats().Failed }
	if f.atStart {
		f.begin()
		work(2000, false)
	} else {
		work(200, true)
		f.begin()
		for deadline := time.Now().Add(time.Minute); failed() < 500; {
			require.True(t, time.Now().Before(deadline), "nothing fails")
			work(200, false)
		}
	}
	during := failed()
	require.Positive(t, during)
	f.end()
	after := work(400, true)
	require.NoError(t, a.shutdown(ctx))
	require.LessOrEqual(t, slow, n/100, "calls of %s or longer, up to %s", longest, slowest)

	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, reported)
	var failure *rotate.Error
	require.True(t, slices.ContainsFunc(reported, func(err error) bool { return errors.As(err, &failure) }), "%v", reported[0])
	got := numbersIn(t, f.dir)
	for name, list := range map[string][]int{"spans": got.spans, "logs": got.logs} {
		stats := map[string]func() (written, failed uint64, files rotate.Stats){
			"spans": func() (uint64, uint64, rotate.Stats) {
				s := a.spans.Stats()
				return s.Written, s.Failed, s.Files
			},
			"logs": func() (uint64, uint64, rotate.Stats) {
				s := a.logs.Stats()
				return s.Written, s.Failed, s.Files
			},
		}[name]
		written, failures, files := stats()
		require.EqualValues(t, n, written+failures, name)
		require.True(t, slices.ContainsFunc(f.kinds, func(k rotate.Kind) bool { return files.Errors[k] > 0 }), "%s: %v", name, files.Errors)
		require.True(t, slices.IsSorted(list), name)
		require.Len(t, slices.Compact(slices.Clone(list)), len(list), "%s: twice", name)
		if f.filesRemain {
			require.Len(t, list, int(written), name)
			require.EqualValues(t, written, files.Records, name)
		}
		for number := after; number <= n; number++ {
			_, ok := slices.BinarySearch(list, number)
			require.True(t, ok, "%s: %d is missing", name, number)
		}
	}
	require.Contains(t, got.points, n)
	s := a.metrics.Stats()
	require.GreaterOrEqual(t, s.Written+s.Failed, uint64(flushes), "and the last one at shutdown")
	t.Logf("%d spans, %d not written, all counted; the slowest call took %s", n, a.spans.Stats().Failed, slowest.Round(time.Microsecond))
}

func bothProcessors(t *testing.T, run func(t *testing.T, batch bool)) {
	t.Helper()
	for _, batch := range []bool{false, true} {
		t.Run(map[bool]string{false: "simple", true: "batch"}[batch], func(t *testing.T) { run(t, batch) })
	}
}

// The file system has no space during the fault.
func TestApplicationDiskFull(t *testing.T) {
	bothProcessors(t, func(t *testing.T, batch bool) {
		dir := diskfault.Small(t, 256<<10)
		ballast := filepath.Join(dir, "ballast")
		testFault(t, fault{
			dir: filepath.Join(dir, "telemetry"), kinds: []rotate.Kind{rotate.KindFull}, filesRemain: true,
			begin: func() {
				file, err := os.Create(ballast)
				require.NoError(t, err)
				defer file.Close()
				for err == nil {
					_, err = file.Write(make([]byte, 4096))
				}
			},
			end: func() { require.NoError(t, os.Remove(ballast)) },
		}, batch)
	})
}

// The folder is removed and replaced by a file, and later created again.
func TestApplicationFolderRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove open files")
	}
	bothProcessors(t, func(t *testing.T, batch bool) {
		dir := filepath.Join(t.TempDir(), "telemetry")
		testFault(t, fault{
			dir: dir, kinds: []rotate.Kind{rotate.KindRemoved, rotate.KindOther},
			begin: func() {
				require.NoError(t, os.RemoveAll(dir))
				require.NoError(t, os.WriteFile(dir, nil, 0o600))
			},
			end: func() { require.NoError(t, os.Remove(dir)) },
		}, batch)
	})
}

// The application has no permission to use its folder. The test uses simple processors, because
// they export on the goroutine of the test. If the test runs as root, only this goroutine loses its
// permission.
func TestApplicationNoPermission(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "telemetry")
	require.NoError(t, os.Mkdir(dir, 0o700))
	restrict, allow := withoutPermission(t, dir)
	testFault(t, fault{dir: dir, kinds: []rotate.Kind{rotate.KindPermission}, begin: restrict, end: allow, atStart: true, filesRemain: true}, false)
}
