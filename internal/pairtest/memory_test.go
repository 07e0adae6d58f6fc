// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
)

// TestStreamMemory uses a receiver with little memory for dictionaries. The receiver ends
// streams gracefully, the exporter opens new streams, and everything arrives once.
func TestStreamMemory(t *testing.T) {
	t.Parallel()
	const batches, items = 60, 40
	addr := freeport.Address(t)
	s := newSink(&logKind)
	r := startReceiver(t, &logKind, receiverConfig(t, addr, "limits: {stream_memory_limit_mib: 1, max_chunk_mib: 1}"), s)
	x := startExporter(t, &logKind, exporterConfig(addr, func(c *stefexporter.Config) {
		c.Protocol = stefexporter.ProtocolSTEF
		c.Stef.NumStreams = 2
	}))
	random := rand.NewChaCha8([32]byte{1})
	for b := range batches {
		ld := logKind.batch(ids(b, items))
		for _, rl := range ld.ResourceLogs().All() {
			text := make([]byte, 4<<10)
			_, _ = random.Read(text)
			rl.ScopeLogs().At(0).LogRecords().At(0).Attributes().PutStr("text", fmt.Sprintf("%x", text))
		}
		require.NoError(t, send(x, ld))
	}
	got, different := s.count()
	require.Equal(t, batches*items, different)
	require.Equal(t, batches*items, got, "nothing was sent twice")
	require.Positive(t, valueOf(t, r.telemetry, "otelcol_receiver_stef_streams_closed", "reason", "memory"))
	require.Zero(t, value(t, x.telemetry, "otelcol_exporter_stef_items_dropped"))
	settled(t, x, r)
}

func ids(batch, items int) []string {
	list := make([]string, items)
	for i := range list {
		list[i] = fmt.Sprintf("%d-%d", batch, i)
	}
	return list
}

func send(x *exporterEnd[plog.Logs], ld plog.Logs) error { return x.push(context.Background(), ld) }
