// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/internal/signal"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	"github.com/otelstef/stef/sdk/steftrace"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// arrivals counts spans by their names. Its handler processes the batches of a stream concurrently, as
// servers of databases do.
type arrivals struct {
	mu    sync.Mutex
	count map[string]int
	block chan struct{} // closed when the span "slow" may be processed
}

func (a *arrivals) serve(s *stefgrpc.ServerStream) error {
	d, err := signal.Traces.NewDecoder(s, nil, s.ReaderOptions()...)
	if err != nil {
		return err
	}
	defer d.Reader.Close()
	var processing sync.WaitGroup
	defer processing.Wait()
	for {
		first := d.Reader.Stats().Records + 1
		td, err := d.Decode()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		last := d.Records()
		name := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Name()
		processing.Go(func() {
			if name == "slow" {
				<-a.block
			}
			a.mu.Lock()
			a.count[name]++
			a.mu.Unlock()
			s.Ack(first, last)
		})
	}
}

// TestExportAfterTimeout: an export times out because the peer processes its batch slowly. The stream of this
// export ends. The next export begins immediately, as with a batch processor. It uses another stream, so its spans
// arrive once.
func TestExportAfterTimeout(t *testing.T) {
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := sdktest.NewPeer(t, netfault.Link{})
			a := &arrivals{count: map[string]int{}, block: make(chan struct{})}
			p.Handler = a.serve
			p.Start(t)
			x, err := steftrace.New(t.Context(), p.Options(stefsdk.WithTimeout(3*time.Second), // longer than a busy machine needs for the second export
				stefsdk.WithRetry(stefsdk.RetryConfig{Enabled: true, InitialInterval: 20 * time.Millisecond}))...)
			require.NoError(t, err)
			export := func(name string) error {
				return x.ExportSpans(context.Background(), []sdktrace.ReadOnlySpan{tracetest.SpanStub{Name: name}.Snapshot()})
			}
			require.ErrorContains(t, export("slow"), "timed out")
			require.NoError(t, export("next"))
			close(a.block)
			require.NoError(t, x.Shutdown(context.Background()))
			p.Kill()
			a.mu.Lock()
			require.Equal(t, map[string]int{"slow": 1, "next": 1}, a.count, fmt.Sprint(x.Stats()))
			a.mu.Unlock()
		})
	}
}
