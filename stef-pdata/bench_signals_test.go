// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"io"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	descriptors "github.com/otelstef/stef/internal/signal"
)

var (
	metricsSignal = signalOf(descriptors.Metrics, (&pmetric.ProtoMarshaler{}).MarshalMetrics, (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics)
	tracesSignal  = signalOf(descriptors.Traces, (&ptrace.ProtoMarshaler{}).MarshalTraces, (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces)
	logsSignal    = signalOf(descriptors.Logs, (&plog.ProtoMarshaler{}).MarshalLogs, (&plog.ProtoUnmarshaler{}).UnmarshalLogs)
)

func signalOf[T any](d *descriptors.Descriptor[T], marshal func(T) ([]byte, error), unmarshal func([]byte) (T, error)) signal[T] {
	return signal[T]{
		marshal: marshal, unmarshal: unmarshal, items: d.Items, modes: modes,
		encoder: func(dst io.Writer, mode stefpdata.Mode, options ...stef.WriterOption) (streamEncoder[T], error) {
			e, err := d.NewEncoder(dst, []stefpdata.EncoderOption{stefpdata.WithMode(mode)}, options...)
			if err != nil {
				return streamEncoder[T]{}, err
			}
			return streamEncoder[T]{e.Encode, e.Writer.Flush, e.Writer.Close}, nil
		},
		decode: func(stream io.Reader) error {
			r, err := d.NewDecoder(stream, nil)
			if err != nil {
				return err
			}
			defer r.Reader.Close()
			for err == nil {
				_, err = r.Decode()
			}
			return err
		},
	}
}

// eachMetricsSet runs a benchmark on the real sets and on the recording.
func eachMetricsSet(b *testing.B, run func(b *testing.B, s benchSet[pmetric.Metrics])) {
	eachBatching(b, metricsSignal, "recorded", recordedMetrics(b), oneBatch, run)
	for _, set := range []string{"hipstershop", "hostandcollector"} {
		eachBatching(b, metricsSignal, set, realMetrics(b, set+"-otelmetrics"), oneBatch, run)
	}
}

func eachTracesSet(b *testing.B, run func(b *testing.B, s benchSet[ptrace.Traces])) {
	eachBatching(b, tracesSignal, "recorded", recordedTraces(b), oneTraces, run)
	eachBatching(b, tracesSignal, "hipstershop", realTraces(b, hipstershopTraces), oneTraces, run)
}

func eachLogsSet(b *testing.B, run func(b *testing.B, s benchSet[plog.Logs])) {
	eachBatching(b, logsSignal, "recorded", recordedLogs(b), oneBatchOfLogs, run)
	for _, set := range logSets {
		eachBatching(b, logsSignal, set, unmarshalLogs(b, logParts(b, set)), oneBatchOfLogs, run)
	}
}

func BenchmarkMetricsEncode(b *testing.B) { eachMetricsSet(b, benchEncode[pmetric.Metrics]) }
func BenchmarkMetricsDecode(b *testing.B) { eachMetricsSet(b, benchDecode[pmetric.Metrics]) }
func BenchmarkTracesEncode(b *testing.B)  { eachTracesSet(b, benchEncode[ptrace.Traces]) }
func BenchmarkTracesDecode(b *testing.B)  { eachTracesSet(b, benchDecode[ptrace.Traces]) }
func BenchmarkLogsEncode(b *testing.B)    { eachLogsSet(b, benchEncode[plog.Logs]) }
func BenchmarkLogsDecode(b *testing.B)    { eachLogsSet(b, benchDecode[plog.Logs]) }
