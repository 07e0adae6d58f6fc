// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"

	"github.com/otelstef/stef/internal/signal"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
)

// The names of formats and transports in the Collector's own metrics and spans.
const (
	formatSTEF    = "stef"
	formatOTLP    = "protobuf"
	transportSTEF = "stef"
	transportOTLP = "grpc"
)

// operation reports the start and the end of receiving a batch of one signal to the Collector.
type operation struct {
	start func(*receiverhelper.ObsReport, context.Context) context.Context
	end   func(obs *receiverhelper.ObsReport, ctx context.Context, format string, items int, err error)
}

type pipe[T any] struct {
	*signal.Descriptor[T]
	operation
	consume func(ctx context.Context, batch T) error
	obs     struct{ stef, otlp *receiverhelper.ObsReport }
	meter   *meter
	core    *core
}

func newPipe[T any](sig *signal.Descriptor[T], op operation, c *core, settings receiver.Settings, consume func(context.Context, T) error) (*pipe[T], error) {
	p := &pipe[T]{Descriptor: sig, operation: op, consume: consume, core: c, meter: newMeter(c.telemetry, settings.ID, sig.Name)}
	var err error
	if p.obs.stef, err = newObsReport(settings, transportSTEF, true); err != nil {
		return nil, err
	}
	p.obs.otlp, err = newObsReport(settings, transportOTLP, false)
	return p, err
}

func newObsReport(settings receiver.Settings, transport string, longLived bool) (*receiverhelper.ObsReport, error) {
	return receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID:             settings.ID,
		Transport:              transport,
		LongLivedCtx:           longLived,
		ReceiverCreateSettings: settings,
	})
}

// deliver passes a batch to the pipeline. If the pipeline panics, the batch is lost
// and the Collector continues.
func (p *pipe[T]) deliver(ctx context.Context, batch T) (err error) {
	defer p.core.recoverPanic(p.meter, "pipeline", &err)
	if err = p.consume(ctx, batch); err != nil {
		_ = refusalOf(err, 0) // the methods of err may panic: call them here, where recoverPanic is deferred
	}
	return err
}

// refuse reports received items that did not reach the pipeline.
func (p *pipe[T]) refuse(ctx context.Context, obs *receiverhelper.ObsReport, format string, items int, err error) {
	p.end(obs, p.start(obs, ctx), format, items, err)
}
