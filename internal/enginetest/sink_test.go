// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

// sink is the destination: a STEF exporter for each signal, and the STEF receiver to which these
// exporters send. The receiver counts items in ledgers.
type sink struct {
	logs    exporter.Logs
	traces  exporter.Traces
	metrics exporter.Metrics
	ledgers map[string]*ledger
	address string // address of the receiver
}

func newSink(t *testing.T) *sink {
	t.Helper()
	return newSinkAt(t, freeport.Address(t))
}

func newSinkAt(t *testing.T, address string) *sink {
	t.Helper()
	s := &sink{ledgers: newLedgers(), address: address}

	rf := stefreceiver.NewFactory()
	settings := receivertest.NewNopSettings(rf.Type())
	config := configure(t, rf.CreateDefaultConfig(), fmt.Sprintf("{endpoint: %q}", address))
	logs, err := rf.CreateLogs(t.Context(), settings, config, s.ledgers["logs"].logs(t))
	require.NoError(t, err)
	traces, err := rf.CreateTraces(t.Context(), settings, config, s.ledgers["traces"].traces(t))
	require.NoError(t, err)
	metrics, err := rf.CreateMetrics(t.Context(), settings, config, s.ledgers["metrics"].metrics(t))
	require.NoError(t, err)
	s.run(t, logs, traces, metrics)

	xf := stefexporter.NewFactory()
	config = configure(t, xf.CreateDefaultConfig(), fmt.Sprintf(
		"{endpoint: %q, tls: {insecure: true}, sending_queue: {enabled: false}, stef: {flush_interval: 5ms}}", address))
	sending := exportertest.NewNopSettings(xf.Type())
	s.logs, err = xf.CreateLogs(t.Context(), sending, config)
	require.NoError(t, err)
	s.traces, err = xf.CreateTraces(t.Context(), sending, config)
	require.NoError(t, err)
	s.metrics, err = xf.CreateMetrics(t.Context(), sending, config)
	require.NoError(t, err)
	s.run(t, s.logs, s.traces, s.metrics)
	return s
}

// run starts components, and shuts them down after the test, in reverse order.
func (s *sink) run(t *testing.T, list ...component.Component) {
	t.Helper()
	for _, c := range list {
		require.NoError(t, c.Start(t.Context(), host{}))
		t.Cleanup(func() { require.NoError(t, c.Shutdown(context.Background())) })
	}
}
