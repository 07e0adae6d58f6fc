// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/fixtures"
)

// kind is a signal: a kind of telemetry.
type kind int

const (
	metrics kind = iota
	traces
	logs
)

// signals names the signals and their items.
var signals = [...]struct{ name, item string }{
	metrics: {"metrics", "points"},
	traces:  {"traces", "spans"},
	logs:    {"logs", "records"},
}

// workers is how many requests an agent's client has under way. Metrics have
// one, as an SDK has: points of a series are to come in order.
var workers = [len(signals)]int{metrics: 1, traces: 4, logs: 4}

// recording is real telemetry of one signal, as requests.
type recording struct {
	items    int
	requests []func(ctx context.Context, conn *grpc.ClientConn) error
}

// load returns the bundled recording of a signal, rounds times one after
// another; each round is later than the one before by the length of the
// recording, so that nothing is sent twice.
func load(s kind, rounds int) (*recording, error) {
	files := [...]func() []byte{metrics: fixtures.Metrics, traces: fixtures.Traces, logs: fixtures.Logs}
	parts, err := fixtures.Parts(files[s]())
	if err != nil {
		return nil, err
	}
	r := &recording{}
	for round := range rounds {
		for _, part := range parts {
			var send func(context.Context, *grpc.ClientConn) error
			var n int
			switch s {
			case metrics:
				n, send, err = metricsRequest(part, later(round))
			case traces:
				n, send, err = tracesRequest(part, later(round))
			case logs:
				n, send, err = logsRequest(part, later(round))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", signals[s].name, err)
			}
			r.items += n
			r.requests = append(r.requests, send)
		}
	}
	return r, nil
}

// recordingLength is longer than the recordings are, in nanoseconds.
const recordingLength = 3600e9

// later returns a function that moves a time into a round. Unset times stay.
func later(round int) func(pcommon.Timestamp) pcommon.Timestamp {
	return func(t pcommon.Timestamp) pcommon.Timestamp {
		if t == 0 {
			return 0
		}
		return t + pcommon.Timestamp(round)*recordingLength
	}
}

type shift = func(pcommon.Timestamp) pcommon.Timestamp

func metricsRequest(part []byte, at shift) (int, func(context.Context, *grpc.ClientConn) error, error) {
	md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(part)
	if err != nil {
		return 0, nil, err
	}
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				shiftMetric(m, at)
			}
		}
	}
	request := pmetricotlp.NewExportRequestFromMetrics(md)
	return md.DataPointCount(), func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, request)
		return err
	}, nil
}

func shiftMetric(m pmetric.Metric, at shift) {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		for _, p := range m.Gauge().DataPoints().All() {
			p.SetTimestamp(at(p.Timestamp()))
		}
	case pmetric.MetricTypeSum:
		for _, p := range m.Sum().DataPoints().All() {
			p.SetTimestamp(at(p.Timestamp()))
		}
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			p.SetTimestamp(at(p.Timestamp()))
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			p.SetTimestamp(at(p.Timestamp()))
		}
	case pmetric.MetricTypeSummary:
		for _, p := range m.Summary().DataPoints().All() {
			p.SetTimestamp(at(p.Timestamp()))
		}
	}
}

func tracesRequest(part []byte, at shift) (int, func(context.Context, *grpc.ClientConn) error, error) {
	td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(part)
	if err != nil {
		return 0, nil, err
	}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				span.SetStartTimestamp(at(span.StartTimestamp()))
				span.SetEndTimestamp(at(span.EndTimestamp()))
				for _, event := range span.Events().All() {
					event.SetTimestamp(at(event.Timestamp()))
				}
			}
		}
	}
	request := ptraceotlp.NewExportRequestFromTraces(td)
	return td.SpanCount(), func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, request)
		return err
	}, nil
}

func logsRequest(part []byte, at shift) (int, func(context.Context, *grpc.ClientConn) error, error) {
	ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(part)
	if err != nil {
		return 0, nil, err
	}
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				record.SetTimestamp(at(record.Timestamp()))
				record.SetObservedTimestamp(at(record.ObservedTimestamp()))
			}
		}
	}
	request := plogotlp.NewExportRequestFromLogs(ld)
	return ld.LogRecordCount(), func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := plogotlp.NewGRPCClient(conn).Export(ctx, request)
		return err
	}, nil
}

// dial returns a connection to an OTLP endpoint.
func dial(endpoint string) (*grpc.ClientConn, error) {
	return grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// send sends a recording to an OTLP endpoint, as that many clients.
func (r *recording) send(ctx context.Context, endpoint string, clients int) error {
	conn, err := dial(endpoint)
	if err != nil {
		return err
	}
	defer conn.Close()
	var done sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for client := range clients {
		done.Go(func() {
			for i := client; i < len(r.requests); i += clients {
				if err := r.requests[i](ctx, conn); err != nil {
					mu.Lock()
					failed = append(failed, fmt.Errorf("request %d: %w", i+1, err))
					mu.Unlock()
					return
				}
			}
		})
	}
	done.Wait()
	return errors.Join(failed...)
}
