// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelstef/stef/internal/netfault"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	"github.com/otelstef/stef/sdk/steflog"
	"github.com/otelstef/stef/sdk/stefmetric"
	"github.com/otelstef/stef/sdk/steftrace"
)

// lastExport is an application whose peer does not listen. It has one item of one signal.
type lastExport struct {
	provider interface {
		ForceFlush(ctx context.Context) error
		Shutdown(ctx context.Context) error
	}
	exporter interface{ Stats() stefsdk.Stats }
}

func newLastExport(t *testing.T, signal string) lastExport {
	t.Helper()
	ctx := t.Context()
	const interval = time.Minute
	x := toEndpoint(t, sdktest.NewPeer(t, netfault.Link{}).Options(stefsdk.WithTimeout(10*time.Second))...)
	spans, metrics, logs := x.traces.(*steftrace.Exporter), x.metrics.(*stefmetric.Exporter), x.logs.(*steflog.Exporter)
	t.Cleanup(func() { _ = x.shutdown(context.Background()) })
	switch signal {
	case "spans":
		p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans, sdktrace.WithBatchTimeout(interval)))
		_, span := p.Tracer("shop").Start(ctx, "order")
		span.End()
		return lastExport{p, spans}
	case "metrics":
		p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics, sdkmetric.WithInterval(interval))))
		gauge, err := p.Meter("shop").Int64Gauge("orders")
		require.NoError(t, err)
		gauge.Record(ctx, 1)
		return lastExport{p, metrics}
	default:
		p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logs, sdklog.WithExportInterval(interval))))
		p.Logger("shop").Emit(ctx, log.Record{})
		return lastExport{p, logs}
	}
}

// The README says where the SDK passes the error of the last export: to the error handler, to the
// caller of Shutdown or ForceFlush, or nowhere.
func TestErrorOfLastExport(t *testing.T) {
	old := otel.GetErrorHandler()
	t.Cleanup(func() { otel.SetErrorHandler(old) })
	const cause = "connection refused"
	// f tests an export that fails during a call of Shutdown or ForceFlush. If running is set, the export
	// began before the call, otherwise the call begins the export. If early is set, the call returns
	// before the export ends, otherwise it waits for the export. The error must reach the error handler
	// if handled is set, and the caller if returned is set.
	f := func(signal, call string, running, early, handled, returned bool) {
		t.Helper()
		t.Run(fmt.Sprint(signal, " ", call, " running=", running, " early=", early), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var errs []error
				otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { errs = append(errs, err) }))
				x := newLastExport(t, signal)
				if running {
					time.Sleep(time.Minute + time.Second)
				}
				patience := 30 * time.Second
				if early {
					patience = time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				do := x.provider.Shutdown
				if call == "ForceFlush" {
					do = x.provider.ForceFlush
				}
				err := do(ctx)
				switch {
				case returned:
					require.ErrorContains(t, err, cause)
				case early:
					require.ErrorIs(t, err, context.DeadlineExceeded)
				default:
					require.NoError(t, err)
				}
				time.Sleep(20 * time.Second) // the export has timed out
				synctest.Wait()
				require.NotZero(t, x.exporter.Stats().Failed)
				if handled {
					require.Len(t, errs, 1)
					require.ErrorContains(t, errs[0], cause)
				} else {
					require.Empty(t, errs)
				}
				_ = x.provider.Shutdown(t.Context())
			})
		})
	}
	for _, early := range []bool{false, true} {
		f("spans", "Shutdown", false, early, true, false)
		f("metrics", "Shutdown", false, early, false, true)
		f("logs", "Shutdown", false, early, false, !early)
		for _, signal := range []string{"spans", "metrics", "logs"} {
			again := signal == "metrics" // the reader exports again after the running export
			f(signal, "ForceFlush", false, early, false, !early)
			f(signal, "ForceFlush", true, early, true, again && !early)
			f(signal, "Shutdown", true, early, true, again)
		}
	}
}
