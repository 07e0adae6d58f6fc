// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelstef/stef/receiver/steffilereceiver"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/steftrace"
)

// counting generates span ids that count from 1.
type counting struct {
	mu   sync.Mutex
	last uint64
}

// NewIDs implements sdktrace.IDGenerator.
func (c *counting) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	span = c.NewSpanID(ctx, id)
	copy(id[8:], span[:])
	return id, span
}

// NewSpanID implements sdktrace.IDGenerator.
func (c *counting) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	binary.BigEndian.PutUint64(id[:], c.last)
	return id
}

// backend counts each span, and sometimes refuses a batch.
type backend struct {
	mu         sync.Mutex
	seen       []uint8
	got, twice int
	calls      int
}

func (b *backend) consume(_ context.Context, td ptrace.Traces) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls++; b.calls%20 == 0 {
		return errors.New("busy")
	}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				id := s.SpanID()
				n := binary.BigEndian.Uint64(id[:]) - 1
				if b.seen[n]++; b.seen[n] > 1 {
					b.twice++
				}
				b.got++
			}
		}
	}
	return nil
}

func (b *backend) counts() [2]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return [2]int{b.got, b.twice}
}

// The SDK writes spans to files. The steffile receiver passes them from the files to a pipeline,
// which refuses some batches. With STEF_LONG=1, the test writes two million spans.
func TestMillionsOfSpansThroughFiles(t *testing.T) {
	total := 50_000
	if os.Getenv("STEF_LONG") != "" {
		total = 2_000_000
	}
	ctx, dir := context.Background(), t.TempDir()
	to := &backend{seen: make([]uint8, total)}
	next, err := consumer.NewTraces(to.consume)
	require.NoError(t, err)
	factory := steffilereceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*steffilereceiver.Config)
	config.Include, config.OnFinished = []string{filepath.Join(dir, "*.stef*")}, steffilereceiver.Delete
	config.PollInterval = 10 * time.Millisecond
	config.RetryConfig.InitialInterval, config.RetryConfig.MaxInterval = time.Millisecond, 5*time.Millisecond
	follower, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, next)
	require.NoError(t, err)
	require.NoError(t, follower.Start(ctx, componenttest.NewNopHost()))
	begin := time.Now()

	x, err := steftrace.NewFile(dir, stefsdk.WithRotation(32<<10, -1))
	require.NoError(t, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(x, sdktrace.WithBlocking()), sdktrace.WithIDGenerator(&counting{}))
	tracer := provider.Tracer("shop")
	for i := range total {
		_, span := tracer.Start(ctx, "GET /cart")
		span.SetAttributes(attribute.Int("number", i%100), attribute.String("http.route", "/cart/{id}"))
		span.End()
	}
	require.NoError(t, provider.Shutdown(ctx))
	require.EqualValues(t, total, x.Stats().Written)
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		return err == nil && len(left) == 0
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, follower.Shutdown(ctx))
	require.Equal(t, [2]int{total, 0}, to.counts(), "spans that arrived, and twice")
	t.Logf("%d spans in %d files, %d bytes, each delivered once, in %s", total, x.Stats().Files.Finished, x.Stats().Files.Bytes, time.Since(begin).Round(time.Millisecond))
}
