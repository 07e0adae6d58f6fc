// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"fmt"

	"github.com/open-telemetry/otel-arrow/go/api/experimental/arrow/v1"
	"github.com/open-telemetry/otel-arrow/go/pkg/config"
	"github.com/open-telemetry/otel-arrow/go/pkg/otel/arrow_record"
	"google.golang.org/protobuf/proto"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
)

// OtelArrow is OpenTelemetry Protocol with Apache Arrow: one producer and one
// consumer for all batches.
func OtelArrow() Format { return otelArrow{} }

type otelArrow struct{}

func (otelArrow) Name() string { return "Otel Arrow" }

func (otelArrow) Setup() string {
	return "otel-arrow/go v0.46.0, one producer and one consumer for all batches, all else as shipped; each message is a marshalled BatchArrowRecords; " +
		"it has no native form of its own, so the native rows are those of pdata"
}

func (otelArrow) Own() string { return "zstd in Arrow IPC (WithZstd)" }
func (otelArrow) Drops(signal otlpfile.Signal) string {
	metadata := ""
	if has(signal, otlpfile.Metrics) {
		metadata = "metadata of metrics, "
	}
	return "schema URLs, " + metadata + "flags, and what its own tests leave out: contents are compared by count, not item by item"
}
func (otelArrow) Stateful() bool { return true }

// Counted marks a format for Check: Check compares only the number of items, not their content.
func (otelArrow) Counted() {}

func (otelArrow) NewEncoder(_ otlpfile.Signal, own bool) (Encoder, error) {
	option := config.WithNoZstd()
	if own {
		option = config.WithZstd()
	}
	return &otelArrowEncoder{p: arrow_record.NewProducerWithOptions(option)}, nil
}

type otelArrowEncoder struct {
	p   *arrow_record.Producer
	out []byte
}

// ErrTooLarge is the error for a batch that Otel Arrow cannot encode: it has
// more than 65,535 groups of attributes.
var ErrTooLarge = errors.New("format: the batch is too large for Otel Arrow")

func (e *otelArrowEncoder) Encode(b otlpfile.Batch) (_ []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // the producer panics
			err = fmt.Errorf("%w: %v", ErrTooLarge, r)
		}
	}()
	var records *v1.BatchArrowRecords
	switch b.Signal {
	case otlpfile.Metrics:
		records, err = e.p.BatchArrowRecordsFromMetrics(b.Metrics)
	case otlpfile.Traces:
		records, err = e.p.BatchArrowRecordsFromTraces(b.Traces)
	case otlpfile.Logs:
		records, err = e.p.BatchArrowRecordsFromLogs(b.Logs)
	default:
		err = dataset.ErrSignal
	}
	if err != nil {
		return nil, err
	}
	e.out, err = proto.MarshalOptions{}.MarshalAppend(e.out[:0], records)
	return e.out, err
}

func (e *otelArrowEncoder) Prepare(b otlpfile.Batch) (Native, error) { return b, nil }
func (e *otelArrowEncoder) EncodeNative(n Native) ([]byte, error) {
	return e.Encode(n.(otlpfile.Batch))
}
func (e *otelArrowEncoder) Close() { _ = e.p.Close() }
func (otelArrow) NewDecoder(s otlpfile.Signal, _ bool) (Decoder, error) {
	return &otelArrowDecoder{s, arrow_record.NewConsumer()}, nil
}

type otelArrowDecoder struct {
	signal otlpfile.Signal
	c      *arrow_record.Consumer
}

func (d *otelArrowDecoder) Decode(message []byte) (otlpfile.Batch, error) {
	all := dataset.New(d.signal)
	var records v1.BatchArrowRecords
	if err := proto.Unmarshal(message, &records); err != nil {
		return all, err
	}
	switch d.signal {
	case otlpfile.Metrics:
		list, err := d.c.MetricsFrom(&records)
		for _, md := range list {
			dataset.MoveAll(all, otlpfile.MetricsBatch(md))
		}
		return all, err
	case otlpfile.Traces:
		list, err := d.c.TracesFrom(&records)
		for _, td := range list {
			dataset.MoveAll(all, otlpfile.TracesBatch(td))
		}
		return all, err
	default:
		list, err := d.c.LogsFrom(&records)
		for _, ld := range list {
			dataset.MoveAll(all, otlpfile.LogsBatch(ld))
		}
		return all, err
	}
}

func (d *otelArrowDecoder) DecodeNative(message []byte) (int, error) {
	b, err := d.Decode(message)
	return b.Items(), err
}

func (d *otelArrowDecoder) Close() { _ = d.c.Close() }
