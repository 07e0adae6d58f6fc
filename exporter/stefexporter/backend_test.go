// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	"github.com/otelstef/stef/internal/freeport"
)

// TestBackendComesAndGoes stops one of two backends, starts it without STEF, stops it again, and
// starts it with STEF. After each start the exporter sends to the backend again: by OTLP while the
// backend has no STEF, otherwise by STEF. The log has one line for each change.
func TestBackendComesAndGoes(t *testing.T) {
	t.Parallel()
	stays := listen(t, &peer{}, "", true, true)
	first := listen(t, &peer{}, freeport.Address(t), true, true)
	core, logs := observer.New(zap.InfoLevel)
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	c := testConfig("")
	c.RoutingKey, c.Endpoints = RoutingTraceID, []string{stays.addr, first.addr}
	x, err := NewFactory().CreateTraces(context.Background(), settings, c)
	require.NoError(t, err)
	require.NoError(t, x.Start(context.Background(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, x.Shutdown(context.Background())) }()

	// lines waits for a log line with the text. It returns the log lines about the backend
	// since the last call.
	lines := func(text string) (list []string) {
		t.Helper()
		require.Eventually(t, func() bool {
			for _, e := range logs.TakeAll() {
				if e.Message == "A backend was added." || fmt.Sprint(e.ContextMap()["backend"]) != first.addr {
					continue
				}
				list = append(list, e.Message)
			}
			return strings.Contains(strings.Join(list, "\n"), text)
		}, time.Minute, time.Millisecond)
		return list
	}
	// until sends batches of 16 traces until arrived returns true. If needed is true, no batch may
	// fail.
	until := func(needed bool, arrived func() bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			err := x.ConsumeTraces(context.Background(), spans(strings.Split("a b c d e f g h i j k l m n o p", " ")...)) // 16 traces
			if needed {
				require.NoError(t, err)
			}
			return arrived()
		}, time.Minute, time.Millisecond)
	}
	byOTLP := func(p *peer) func() bool { return func() bool { _, n := p.got(); return n > 0 } }
	bySTEF := func(p *peer) func() bool { return func() bool { n, _ := p.got(); return n > 0 } }

	require.Len(t, lines("A STEF stream is open: traces to "+first.addr+"."), 1)
	until(true, bySTEF(first))
	first.stop(t)
	require.Equal(t, []string{"Backend " + first.addr + " does not answer. Its telemetry is sent to the other backends until it answers again."}, lines("does not answer"))
	time.Sleep(time.Second) // several attempts fail
	until(true, func() bool { return true })
	second := listen(t, &peer{}, first.addr, false, true)
	require.Equal(t, []string{"Backend " + first.addr + " answers again."}, lines("answers again"))
	until(true, byOTLP(second))
	noSTEF := lines("has no STEF")
	require.Len(t, noSTEF, 1)
	second.stop(t)
	third := listen(t, &peer{}, first.addr, true, true)
	until(false, bySTEF(third)) // batches may fail: the keys of a backend that receives OTLP are not rerouted
	last := lines("has STEF for traces now. Sending STEF again.")
	require.LessOrEqual(t, len(last), 3, last) // two more lines if batches were sent meanwhile: OTLP failed, then worked
	require.Contains(t, last[len(last)-1], "has STEF for traces now")
}

// TestBusyBackend: if a backend refuses streams and names a retry delay, the exporter does not try
// again before the delay is over.
func TestBusyBackend(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	p := listen(t, &peer{}, "", true, false, grpc.StreamInterceptor(func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
		asked.Add(1)
		return withRetryInfo(codes.Unavailable, time.Hour)
	}))
	c := testConfig("")
	c.RoutingKey, c.Endpoints = RoutingTraceID, []string{p.addr}
	start(t, c)
	require.Eventually(t, func() bool { return asked.Load() > 0 }, time.Minute, time.Millisecond)
	time.Sleep(2 * time.Second)
	require.EqualValues(t, 1, asked.Load())
}

// TestAllBackendsDown starts an exporter whose two backends do not answer. One log line says that
// nothing can be sent. Usually a log line about a backend says that the other backends receive its
// telemetry. Here the line about the second backend does not say so.
func TestAllBackendsDown(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	c := testConfig("")
	c.RoutingKey, c.Endpoints = RoutingTraceID, []string{"127.0.0.1:1", "127.0.0.1:2"}
	x, err := NewFactory().CreateTraces(context.Background(), settings, c)
	require.NoError(t, err)
	require.NoError(t, x.Start(context.Background(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, x.Shutdown(context.Background())) }()
	const none = "No backend answers. Nothing can be sent at present: telemetry waits until one answers."
	require.Eventually(t, func() bool { return logs.Len() >= 3 }, time.Minute, time.Millisecond)
	time.Sleep(time.Second) // several attempts fail
	require.Equal(t, 3, logs.Len())
	require.Equal(t, 1, logs.FilterMessage(none).Len())
	lines := logs.FilterMessageSnippet("does not answer").All()
	require.Len(t, lines, 2)
	last := lines[1].Message
	require.Regexp(t, `^Backend 127\.0\.0\.1:[12] does not answer\.$`, last)
}
