// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
)

// TestNothingDelivered uses a gateway whose backend is down. The gateway accepts each stream, and ends
// it as soon as it receives a batch.
func TestNothingDelivered(t *testing.T) {
	t.Parallel()
	p := &peer{}
	up := make(chan struct{})
	failWith(p, func() error {
		select {
		case <-up:
			return nil
		default:
			return status.Error(codes.Unavailable, noBackend)
		}
	})
	listen(t, p, "", true, false)
	core, logs := observer.New(zap.InfoLevel)
	host := &statusHost{Host: componenttest.NewNopHost()}
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	x, err := NewFactory().CreateTraces(context.Background(), settings, testConfig(p.addr))
	require.NoError(t, err)
	require.NoError(t, x.Start(context.Background(), host))
	defer func() { require.NoError(t, x.Shutdown(context.Background())) }()
	require.Eventually(t, func() bool { return host.last().Status() == componentstatus.StatusOK }, time.Minute, time.Millisecond)
	for range 4 {
		require.Error(t, x.ConsumeTraces(context.Background(), spans("a")))
	}
	require.Equal(t, componentstatus.StatusRecoverableError, host.last().Status())
	open, undelivered := "A STEF stream is open: traces to "+p.addr+".", "No traces can be delivered to "+p.addr+" at present."
	messages := func() (list []string) {
		for _, e := range logs.All() {
			if !strings.HasPrefix(e.Message, "Exporting failed.") { // logged by exporterhelper
				list = append(list, e.Message)
			}
		}
		return list
	}
	require.Equal(t, []string{open, undelivered}, messages())
	require.Regexp(t, `^unavailable: stream of Spans to `+p.addr+`, none of 1 sent record acknowledged: `+noBackend+
		` \(endpoint `+p.addr+` answered: the error occurred there, not in this Collector; see the log of the endpoint\)$`,
		logs.FilterMessage(undelivered).All()[0].ContextMap()["error"])

	close(up)
	require.Eventually(t, func() bool { return x.ConsumeTraces(context.Background(), spans("b")) == nil }, time.Minute, 10*time.Millisecond)
	require.Equal(t, componentstatus.StatusOK, host.last().Status())
	require.Equal(t, []string{open, undelivered, "Batches are acknowledged: traces to " + p.addr + "."}, messages())
	require.Len(t, host.events, 3, "one report for each change")
	require.NoError(t, x.ConsumeTraces(context.Background(), spans("c")))
	require.Len(t, messages(), 3)
}

// TestOneStreamLost checks that the loss of a single stream does not count as an outage, even if many
// batches of the stream fail.
func TestOneStreamLost(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	h := newHealth(testConfig("gw:4320"), "traces", componenttest.NewNopHost(), zap.New(core))
	lost := &answer{status.Error(codes.Unavailable, noBackend), true}
	count := func() int { return len(logs.TakeAll()) }
	again := func() { h.handedBack(time.Now().Add(time.Second), lost) } // from a stream that was opened later
	h.opened()
	require.Equal(t, 1, count())
	first := time.Now()
	for range 16 {
		h.handedBack(first, lost)
	}
	h.opened()
	require.Zero(t, count())
	h.recovered("Batches are acknowledged", "gw:4320")
	h.handedBack(first, lost)
	require.Zero(t, count(), "an acknowledgement came in between")
	again()
	require.Zero(t, count(), "the peer accepted data a moment ago")

	h.acceptedAt = time.Now().Add(-answerTimeout)
	again()
	again()
	require.Equal(t, 1, count())
	h.opened()
	require.Equal(t, componentstatus.StatusRecoverableError, h.status)
	require.Zero(t, count(), "a stream was open before, too")

	// Few batches are accepted.
	accepted := func() {
		h.recovered("Batches are acknowledged", "gw:4320")
		h.acceptedAt = time.Now().Add(-answerTimeout)
	}
	for range 10 {
		accepted()
		h.handedBack(first, lost)
		again()
		require.Equal(t, componentstatus.StatusRecoverableError, h.status)
	}
	require.Equal(t, 1, count(), "the end of what was logged")
	h.warned = time.Now().Add(-logPeriod)
	again()
	again()
	require.Equal(t, 1, count(), "it lasts")
	accepted()
	h.handedBack(first, lost)
	again()
	accepted()
	require.Equal(t, 1, count())
}
