// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/exporter/stefexporter"
)

func startSenders(t *testing.T, address string) *producers {
	t.Helper()
	f, p := stefexporter.NewFactory(), new(producers)
	settings := exportertest.NewNopSettings(f.Type())
	config := configure(t, f.CreateDefaultConfig(), fmt.Sprintf(
		"{endpoint: %q, tls: {insecure: true}, sending_queue: {enabled: false}, stef: {flush_interval: 5ms}}", address))
	var err error
	p.logs, err = f.CreateLogs(t.Context(), settings, config)
	require.NoError(t, err)
	p.traces, err = f.CreateTraces(t.Context(), settings, config)
	require.NoError(t, err)
	p.metrics, err = f.CreateMetrics(t.Context(), settings, config)
	require.NoError(t, err)
	p.start(t, newHost(t))
	return p
}

// otlpSender sends OTLP over gRPC, as SDKs do.
type otlpSender struct {
	component.StartFunc
	component.ShutdownFunc
	retried atomic.Int64 // requests that were sent again
}

type (
	otlpLogs struct {
		*otlpSender
		consumer.Logs
	}
	otlpTraces struct {
		*otlpSender
		consumer.Traces
	}
	otlpMetrics struct {
		*otlpSender
		consumer.Metrics
	}
)

// startOTLP returns clients that send OTLP to an address. A call returns when the server has
// accepted the request. After errors that OTLP retries, the client sends the request again.
func startOTLP(t *testing.T, address string) (*producers, *otlpSender) {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	s := new(otlpSender)
	logs, err := consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
		return s.export(ctx, func(ctx context.Context) (int64, error) {
			r, err := plogotlp.NewGRPCClient(conn).Export(ctx, plogotlp.NewExportRequestFromLogs(ld))
			if err != nil {
				return 0, err
			}
			return r.PartialSuccess().RejectedLogRecords(), nil
		})
	})
	require.NoError(t, err)
	traces, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
		return s.export(ctx, func(ctx context.Context) (int64, error) {
			r, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
			if err != nil {
				return 0, err
			}
			return r.PartialSuccess().RejectedSpans(), nil
		})
	})
	require.NoError(t, err)
	metrics, err := consumer.NewMetrics(func(ctx context.Context, md pmetric.Metrics) error {
		return s.export(ctx, func(ctx context.Context) (int64, error) {
			r, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(md))
			if err != nil {
				return 0, err
			}
			return r.PartialSuccess().RejectedDataPoints(), nil
		})
	})
	require.NoError(t, err)
	return &producers{otlpLogs{s, logs}, otlpTraces{s, traces}, otlpMetrics{s, metrics}}, s
}

// export calls the function request, with the timeout of SDKs, until the server accepts the items
// or answers with an error that OTLP does not retry.
func (s *otlpSender) export(ctx context.Context, request func(context.Context) (rejected int64, err error)) error {
	for ; ; s.retried.Add(1) {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		rejected, err := request(attempt)
		cancel()
		if err == nil && rejected > 0 {
			return fmt.Errorf("%d items were rejected", rejected)
		}
		if err == nil {
			return nil
		}
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled:
		default:
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

type feed struct {
	to       *producers
	batches  chan batch
	items    int // number of items of each signal to send
	accepted *atomic.Int64
	senders  sync.WaitGroup
	failed   atomic.Pointer[error]
}

type batch struct{ first, n int }

// newFeed starts senders that share the batches of a feed. accepted counts the accepted items of
// all signals.
func newFeed(t *testing.T, to *producers, senders int, accepted *atomic.Int64) *feed {
	t.Helper()
	f := &feed{to: to, batches: make(chan batch), accepted: accepted}
	for range senders {
		f.senders.Go(func() {
			for b := range f.batches {
				if err := f.to.trySend(t.Context(), b.first, b.n); err != nil {
					f.failed.Store(&err)
					continue
				}
				f.accepted.Add(int64(3 * b.n))
			}
		})
	}
	return f
}

// send passes n items of each signal, numbered from first on, to the next free sender.
func (f *feed) send(first, n int) {
	f.items += n
	f.batches <- batch{first, n}
}

func (f *feed) wait(t *testing.T) {
	t.Helper()
	close(f.batches)
	f.senders.Wait()
	if err := f.failed.Load(); err != nil {
		require.NoError(t, *err)
	}
}
