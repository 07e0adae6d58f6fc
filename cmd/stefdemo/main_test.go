// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, 0, run([]string{"-rounds", "1"}, &out, &errs), "%s", &errs)
	require.Empty(t, errs.String())
	for _, s := range signals {
		line := lineOf(out.String(), s.name)
		require.Contains(t, line, "equal")
		require.NotContains(t, line, "NOT")
		fields := strings.Fields(line)
		require.NotEqual(t, "0", fields[1], "items sent")
		require.Equal(t, fields[1], fields[2], "items received")
	}
}

func lineOf(text, first string) string {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == first {
			return line
		}
	}
	return ""
}

func TestRunRefusesBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-what"}, {"file"}} {
		var out, errs bytes.Buffer
		require.Equal(t, 2, run(args, &out, &errs), "%v", args)
		require.Contains(t, errs.String(), "-rounds")
	}
}

// TestReportFails: a demo that loses something does not end as if all were well.
func TestReportFails(t *testing.T) {
	var whole [len(signals)]cost
	for s := range whole {
		whole[s] = cost{sent: 10, received: 10, bytes: 5}
	}
	require.NoError(t, report(&bytes.Buffer{}, whole, whole))
	less := whole
	less[traces].received = 9
	var out bytes.Buffer
	require.ErrorContains(t, report(&out, less, whole), "traces: sent 10, received 9 over STEF and 10 over OTLP")
	require.Contains(t, lineOf(out.String(), "traces"), "NOT EQUAL")
}

// locked is output that a test reads while it is written.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestServe(t *testing.T) {
	otlp, err := freeAddress()
	require.NoError(t, err)
	stef, err := freeAddress()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var out locked
	served := make(chan error, 1)
	go func() { served <- serveUntil(ctx, &out, otlp, stef) }()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), otlp) }, 20*time.Second, 10*time.Millisecond)
	r, err := load(logs, 1)
	require.NoError(t, err)
	require.NoError(t, r.send(ctx, otlp, 2))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "arrived:") }, 20*time.Second, 50*time.Millisecond)
	cancel()
	require.NoError(t, <-served)
}
