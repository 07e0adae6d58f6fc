// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/rotate"
)

// spanCounter counts each span by its id, and sometimes refuses a batch.
type spanCounter struct {
	mu       sync.Mutex
	seen     []uint8
	repeated int
	got      int
	calls    int
}

func (c *spanCounter) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (c *spanCounter) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls++; c.calls%50 == 0 {
		return errors.New("busy")
	}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				id := s.SpanID()
				n := binary.BigEndian.Uint64(id[:]) - 1
				if c.seen[n]++; c.seen[n] > 1 {
					c.repeated++
				}
				c.got++
			}
		}
	}
	return nil
}

func (c *spanCounter) counts() (got, repeated int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got, c.repeated
}

// TestMillionsOfSpans writes spans to files while the receiver restarts. Each span is delivered
// once. With STEF_LONG=1 it writes two million spans.
func TestMillionsOfSpans(t *testing.T) {
	total := 40_000
	if os.Getenv("STEF_LONG") != "" {
		total = 2_000_000
	}
	dir, store := t.TempDir(), &memory{}
	to := &spanCounter{seen: make([]uint8, total)}
	w := newWriter(t, signal.Traces, rotate.Options{Dir: dir, MaxBytes: 8 << 10}, otelstef.CompactSpans())
	begin := time.Now()
	written := make(chan error, 1)
	go func() {
		for n := 0; n < total; n += 500 {
			if err := w.put(spans(n, 500)); err != nil {
				written <- err
				return
			}
		}
		written <- w.Close()
	}()
	for end := false; !end; {
		stop := startTraces(t, dir, to, store)
		time.Sleep(300 * time.Millisecond)
		got, _ := to.counts()
		end = got == total
		stop()
	}
	require.NoError(t, <-written)
	stop := startTraces(t, dir, to, store)
	require.Eventually(t, func() bool { return len(names(t, dir)) == 0 }, time.Minute, 5*time.Millisecond)
	stop()
	got, repeated := to.counts()
	require.Equal(t, [2]int{total, 0}, [2]int{got, repeated})
	t.Logf("%d spans in %d files, %d bytes, each delivered once, in %s", total, w.Stats().Finished, w.Stats().Bytes, time.Since(begin).Round(time.Millisecond))
}

func startTraces(t *testing.T, dir string, to consumer.Traces, store *memory) (stop func()) {
	config := testConfig(dir, func(c *Config) { c.OnFinished = Delete })
	id := component.NewID(typ0)
	config.StorageID = &id
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.ID = component.NewID(metadata.Type)
	telemetry := componenttest.NewTelemetry()
	settings.TelemetrySettings = telemetry.NewTelemetrySettings()
	part, err := NewFactory().CreateTraces(context.Background(), settings, config, to)
	require.NoError(t, err)
	require.NoError(t, part.Start(context.Background(), testHost{store}))
	return func() {
		require.NoError(t, part.Shutdown(context.Background()))
		require.NoError(t, telemetry.Shutdown(context.Background()))
	}
}

// spans returns spans whose ids count from n+1.
func spans(n, count int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	list := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range count {
		s := list.AppendEmpty()
		var trace pcommon.TraceID
		var id pcommon.SpanID
		binary.BigEndian.PutUint64(trace[:], uint64(n+i)/8*0x9e3779b97f4a7c15+1)
		binary.BigEndian.PutUint64(id[:], uint64(n+i)+1)
		s.SetTraceID(trace)
		s.SetSpanID(id)
		s.SetName("GET /order")
		s.SetStartTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + uint64(n+i)*1000))
		s.SetEndTimestamp(s.StartTimestamp() + 1e6)
		s.Attributes().PutInt("http.status_code", 200)
	}
	return td
}
