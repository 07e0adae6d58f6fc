// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/encoding"

	"github.com/otelstef/stef/internal/fixtures/recordings"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata"
)

// TestOrdinaryTelemetryIsCheap: a client that sends the recordings of this repository in the compact
// form never becomes expensive. README.md states their largest ratio of decoded telemetry to bytes on
// the wire.
func TestOrdinaryTelemetryIsCheap(t *testing.T) {
	notShort(t)
	for _, recording := range recordings.All() {
		parts, err := recording.Parts()
		require.NoError(t, err)
		name := recording.Program + " " + recording.Signal
		switch recording.Signal {
		case "metrics":
			testCheap(t, name, signal.Metrics, otelstef.CompactMetrics(), parts)
		case "traces":
			testCheap(t, name, signal.Traces, otelstef.CompactSpans(), parts)
		case "logs":
			testCheap(t, name, signal.Logs, otelstef.CompactLogs(), parts)
		}
	}
}

func testCheap[T any](t *testing.T, name string, sig *signal.Descriptor[T], form stef.WriterOption, parts [][]byte) {
	var sent bytes.Buffer
	e, err := sig.NewEncoder(&sent, nil, form, stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	d, err := sig.NewDecoder(&sent, []stefpdata.DecoderOption{stefpdata.WithMaxItems(1 << 20)})
	require.NoError(t, err)
	defer d.Reader.Close()
	var c credit
	var z sizer
	least, greatest := int64(initialCredit), 0.0
	var received, decoded int64
	for _, part := range parts {
		sent, err := sig.Unmarshal(part)
		require.NoError(t, err)
		if sig.Items(sent) == 0 {
			continue
		}
		require.NoError(t, e.Encode(sent))
		require.NoError(t, e.Writer.Flush())
		batch, err := d.Decode()
		require.NoError(t, err)
		wire := d.Reader.Stats().Bytes - received
		estimate := int64(d.BatchBytes())
		cost := z.weight(z.size(estimate, func() int { return sig.Size(batch) }), estimate)
		received, decoded = received+wire, decoded+cost
		greatest = max(greatest, float64(cost)/float64(wire))
		least = min(least, c.add(wire, cost))
	}
	t.Logf("%-18s %5.1f times the bytes in all, %5.1f times in one batch", name, float64(decoded)/float64(received), greatest)
	require.EqualValues(t, initialCredit, least)
	testCheapRequests(t, name, sig, parts)
}

// testCheapRequests: no client that sends the recordings as compressed OTLP becomes expensive.
func testCheapRequests[T any](t *testing.T, name string, sig *signal.Descriptor[T], parts [][]byte) {
	for _, compression := range []string{"gzip", "zstd"} {
		client, throttle := &clientState{}, newThrottle(new(atomic.Int64))
		greatest, expensive := 0.0, 0
		for _, part := range parts {
			wire := int64(compressedSize(t, compression, part))
			memory, err := sig.OTLP.Memory(part)
			require.NoError(t, err)
			weight := requestWeight(int64(len(part)), memory)
			greatest = max(greatest, float64(weight)/float64(wire))
			request := newCostTracker(throttle, client, wire)
			if request.charge(weight); request.expensive() {
				expensive++
			}
		}
		t.Logf("%-18s as requests of %s: %.1f times the bytes in one request", name, compression, greatest)
		require.Zero(t, expensive)
	}
}

// compressedSize returns the compressed size of a request.
func compressedSize(t *testing.T, name string, body []byte) int {
	var message bytes.Buffer
	w, err := encoding.GetCompressor(name).Compress(&message)
	require.NoError(t, err)
	_, err = w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return message.Len()
}
