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
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

var metricsSignal = signal[pmetric.Metrics]{
	marshal:   (&pmetric.ProtoMarshaler{}).MarshalMetrics,
	unmarshal: (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics,
	items:     pmetric.Metrics.DataPointCount,
	encoder: func(dst io.Writer, mode stefpdata.Mode, options ...stef.WriterOption) (e streamEncoder[pmetric.Metrics], err error) {
		w, err := otelstef.NewMetricsWriter(dst, options...)
		if err != nil {
			return e, err
		}
		c := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
		return streamEncoder[pmetric.Metrics]{c.Encode, w.Flush, w.Close}, nil
	},
	decode: func(stream io.Reader) error {
		r, err := otelstef.NewMetricsReader(stream)
		if err != nil {
			return err
		}
		defer r.Close()
		for d := stefpdata.NewMetricsDecoder(r); err == nil; {
			_, err = d.Decode()
		}
		return err
	},
	modes: modes,
}

var tracesSignal = signal[ptrace.Traces]{
	marshal:   (&ptrace.ProtoMarshaler{}).MarshalTraces,
	unmarshal: (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces,
	items:     ptrace.Traces.SpanCount,
	encoder: func(dst io.Writer, mode stefpdata.Mode, options ...stef.WriterOption) (e streamEncoder[ptrace.Traces], err error) {
		w, err := otelstef.NewSpansWriter(dst, options...)
		if err != nil {
			return e, err
		}
		c := stefpdata.NewTracesEncoder(w, stefpdata.WithMode(mode))
		return streamEncoder[ptrace.Traces]{c.Encode, w.Flush, w.Close}, nil
	},
	decode: func(stream io.Reader) error {
		r, err := otelstef.NewSpansReader(stream)
		if err != nil {
			return err
		}
		defer r.Close()
		for d := stefpdata.NewTracesDecoder(r); err == nil; {
			_, err = d.Decode()
		}
		return err
	},
	modes: modes,
}

var logsSignal = signal[plog.Logs]{
	marshal:   (&plog.ProtoMarshaler{}).MarshalLogs,
	unmarshal: (&plog.ProtoUnmarshaler{}).UnmarshalLogs,
	items:     plog.Logs.LogRecordCount,
	encoder: func(dst io.Writer, mode stefpdata.Mode, options ...stef.WriterOption) (e streamEncoder[plog.Logs], err error) {
		w, err := otelstef.NewLogsWriter(dst, options...)
		if err != nil {
			return e, err
		}
		c := stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode))
		return streamEncoder[plog.Logs]{c.Encode, w.Flush, w.Close}, nil
	},
	decode: func(stream io.Reader) error {
		r, err := otelstef.NewLogsReader(stream)
		if err != nil {
			return err
		}
		defer r.Close()
		for d := stefpdata.NewLogsDecoder(r); err == nil; {
			_, err = d.Decode()
		}
		return err
	},
	modes: modes,
}

// eachMetricsSet runs a benchmark on the real sets and on the recorded one.
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
