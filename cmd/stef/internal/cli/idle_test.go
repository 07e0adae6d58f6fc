// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/freeport"
)

// lines is a buffer that several goroutines may use.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// replay says when the next batch of a recording is due, if the wait is long.
func TestReplayIdle(t *testing.T) {
	m := newMistakes(t)
	span := func(time string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","startTimeUnixNano":"` + time + `"}]}]}]}` + "\n"
	}
	slow := m.file("slow.json", []byte(span("1700000000000000000")+span("1700003600000000000")))
	address, stop, wait := recording(t, "--listen", freeport.Address(t), filepath.Join(m.dir, "idle-{signal}.stef")) // nothing else listens there afterwards
	var stderr lines
	interrupt := new(cli.Interrupt)
	done := make(chan int)
	go func() {
		done <- cli.Run([]string{"replay", "--endpoint", address, slow}, cli.Env{Stderr: &stderr, Interrupt: interrupt})
	}()
	require.Eventually(t, func() bool {
		return bytes.Contains([]byte(stderr.String()), []byte("the next batch is due in 1h0m (pace of the recording); --rate max sends now\n"))
	}, time.Minute, 10*time.Millisecond)
	require.True(t, interrupt.Deliver())
	require.Equal(t, cli.ExitInterrupted, <-done, stderr.String())
	require.Regexp(t, "sent 1 item in 1 batch to "+address+"|"+address+" accepted no items\n", stderr.String()) // the first batch may be sent but not answered
	require.True(t, stop.Deliver())
	_, text := wait()
	require.NotContains(t, text, "error")

	// An interrupt also ends the attempts to connect.
	var waits lines
	go func() {
		done <- cli.Run([]string{"replay", "--endpoint", address, slow}, cli.Env{Stderr: &waits, Interrupt: interrupt})
	}()
	require.Eventually(t, func() bool { return bytes.Contains([]byte(waits.String()), []byte("trying again")) }, time.Minute, 10*time.Millisecond)
	require.True(t, interrupt.Deliver())
	require.Equal(t, cli.ExitInterrupted, <-done, waits.String())
	require.Contains(t, waits.String(), address+" accepted no items\n")
}
