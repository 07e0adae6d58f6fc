// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.uber.org/goleak"

	stefsdk "github.com/otelstef/stef/sdk"
)

// These are environment variables of the program that TestApplicationKilled kills. They contain its
// folder, and the number of items of each signal between two flushes.
const (
	asApplication = "STEF_SDK_CRASH"
	perFlush      = "STEF_SDK_CRASH_PER_FLUSH"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asApplication); dir != "" {
		runUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

// runUntilKilled writes telemetry until it is killed. After each flush, it prints the number
// of the last item. It uses simple processors if it flushes after each item, otherwise batch
// processors.
func runUntilKilled(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(fail))
	step, err := strconv.Atoi(os.Getenv(perFlush))
	fail(err)
	a, err := newApplication(dir, step > 1, stefsdk.WithRotation(20_000, -1))
	fail(err)
	ctx := context.Background()
	for n := 1; ; n++ {
		a.work(ctx, n)
		if n%step == 0 {
			fail(a.flush(ctx))
			fmt.Println(n)
		}
	}
}

// The files of an application that is killed at any instant contain everything that was
// flushed, and nothing that the application did not write.
func TestApplicationKilled(t *testing.T) {
	kills := 100
	if testing.Short() {
		kills = 10
	}
	total, ahead := 0, 0
	for i := range kills {
		dir, step := t.TempDir(), []int{1, 20}[i%2]
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), asApplication+"="+dir, perFlush+"="+strconv.Itoa(step))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		flushed := 0
		var timer *time.Timer
		for lines := bufio.NewScanner(out); lines.Scan(); {
			flushed, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
			if timer == nil {
				timer = time.AfterFunc(rand.N(30*time.Millisecond), func() { _ = cmd.Process.Kill() })
			}
		}
		require.EqualError(t, cmd.Wait(), "signal: killed")
		require.NotNil(t, timer)
		got := numbersIn(t, dir)
		for name, list := range map[string][]int{"spans": got.spans, "logs": got.logs} {
			require.GreaterOrEqual(t, len(list), flushed, name)
			require.LessOrEqual(t, len(list), flushed+step, name)
			for j, n := range list {
				require.Equal(t, j+1, n, name)
			}
			ahead += len(list) - flushed
		}
		// The value of a point is the last number at the time of a flush.
		require.GreaterOrEqual(t, len(got.points), flushed/step)
		require.LessOrEqual(t, len(got.points), flushed/step+1)
		for j, n := range got.points {
			require.Equal(t, (j+1)*step, n)
		}
		total += len(got.spans) + len(got.logs) + len(got.points)
	}
	t.Logf("%d kills: %d items were read, %d of them beyond what the application knew to be flushed", kills, total, ahead)
}
