// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/file"
)

// progressEvery is the interval between updates of a bar.
const progressEvery = 200 * time.Millisecond

// progress shows on a terminal how much of a file was read, if reading takes
// long. The returned function stops it and removes the bar.
func (env *Env) progress(in *file.Input) (stop func()) {
	if !env.Terminal {
		return func() {}
	}
	begin := time.Now()
	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		timer := time.NewTimer(env.progressAfter)
		defer timer.Stop()
		drawn := false
		for {
			select {
			case <-done:
				if drawn {
					fmt.Fprint(env.Stderr, "\r\x1b[K")
				}
				return
			case <-timer.C:
				fmt.Fprint(env.Stderr, "\r", bar(in.Taken(), in.Size, time.Since(begin)), "\x1b[K")
				drawn = true
				timer.Reset(progressEvery)
			}
		}
	})
	return func() {
		close(done)
		drawing.Wait()
	}
}

// bar returns one state of the bar, which fits a narrow terminal. A size of 0 or less means
// unknown.
func bar(taken, size int64, took time.Duration) string {
	const width = 30
	mb := float64(taken) / 1e6
	rate := mb / max(took.Seconds(), 1e-3)
	if size <= 0 {
		return fmt.Sprintf("%.1f MB read, %.1f MB/s", mb, rate)
	}
	part := min(float64(taken)/float64(size), 1)
	left := ""
	if part > 0 {
		left = fmt.Sprintf(", %.0f s left", took.Seconds()*(1-part)/part)
	}
	full := int(part * width)
	return fmt.Sprintf("[%s%s] %3.0f%%, %.1f MB/s%s", strings.Repeat("=", full), strings.Repeat(" ", width-full), 100*part, rate, left)
}
