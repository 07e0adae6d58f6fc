// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
)

// TestRotation replaces streams under load: at the request of either end, or because the connection
// is too old. No data is lost. If streams end gracefully, no push fails and nothing is sent twice.
func TestRotation(t *testing.T) {
	f := func(name, receiver string, inOrder bool, change func(*stefexporter.Config)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := freeport.Address(t)
			s := newSink(&logKind)
			r := startReceiver(t, &logKind, receiverConfig(t, addr, receiver), s)
			x := startExporter(t, &logKind, exporterConfig(addr, func(c *stefexporter.Config) {
				c.Stef.NumStreams = 2
				c.Stef.MaxStreamLifetime = 0
				change(c)
			}))
			d := &load{workers: 4, batches: 200, items: 5, deadline: 10 * time.Minute, pause: 5 * time.Millisecond}
			runLoad(t, d, x)
			require.Empty(t, d.refused)
			s.mu.Lock()
			defer s.mu.Unlock()
			d.check(t, s.seen, nil, value(t, x.telemetry, "otelcol_exporter_stef_items_dropped"), !inOrder)
			require.Greater(t, value(t, x.telemetry, "otelcol_exporter_stef_streams_opened"), int64(2), "streams must be replaced")
			require.Zero(t, value(t, x.telemetry, "otelcol_exporter_stef_downgrades"))
			if inOrder {
				require.Equal(t, 800, d.attempts)
			}
			settled(t, x, r)
		})
	}
	none := func(*stefexporter.Config) {}
	f("by the exporter", "", true, func(c *stefexporter.Config) { c.Stef.MaxStreamLifetime = 100 * time.Millisecond })
	f("by the receiver", "max_stream_lifetime: 1s", true, none)
	f("by the age of the connection", "keepalive: {server_parameters: {max_connection_age: 400ms, max_connection_age_grace: 300ms}}", false, none)
	f("by all of them", "max_stream_lifetime: 1s, keepalive: {server_parameters: {max_connection_age: 400ms, max_connection_age_grace: 300ms}}", false,
		func(c *stefexporter.Config) { c.Stef.MaxStreamLifetime = 150 * time.Millisecond })
}

// TestSharedData passes the same batches to several exporters at the same time, like
// a pipeline with several exporters.
func TestSharedData(t *testing.T) {
	s := newSink(&metricKind)
	addr := freeport.Address(t)
	startReceiver(t, &metricKind, receiverConfig(t, addr, ""), s)
	var group sync.WaitGroup
	batch := metricKind.batch([]string{"a", "b", "c", "d"})
	batch.MarkReadOnly()
	const each = 20
	for _, protocol := range []stefexporter.Protocol{stefexporter.ProtocolSTEF, stefexporter.ProtocolOTLP, stefexporter.ProtocolAuto} {
		x := startExporter(t, &metricKind, exporterConfig(addr, func(c *stefexporter.Config) { c.Protocol = protocol }))
		group.Go(func() {
			for range each {
				if err := x.push(context.Background(), batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	items, _ := s.count()
	require.Equal(t, 3*each*4, items)
}
