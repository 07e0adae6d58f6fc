// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/signal"
)

// TestEstimate compares the estimate of a STEF exporter with the bytes that an OTLP
// exporter sends for the same batches.
func TestEstimate(t *testing.T) {
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf("span %d", i*7919%1000))
	}
	f := func(compression string, allowed float64) {
		t.Helper()
		p := listen(t, &peer{}, "", true, true)
		conf := testConfig(p.addr)
		conf.Fallback.Compression = compressionNone
		if compression != "" {
			require.NoError(t, conf.Fallback.Compression.UnmarshalText([]byte(compression)))
		}
		sent := *conf
		sent.Protocol = ProtocolOTLP
		byOTLP := start(t, &sent)
		const batches = 5
		for range batches {
			require.NoError(t, byOTLP.send(list...))
		}
		want := counted(t, byOTLP, "otlp_bytes_compressed", "")[""]
		plain := counted(t, byOTLP, "otlp_bytes", "")[""]
		if compression == "" {
			require.Equal(t, plain, want)
		} else {
			require.Less(t, want, plain/2)
			require.NotZero(t, want)
		}

		e := newEstimate(conf, signal.Traces)
		require.Zero(t, e.delivered(spans(list...), len(list)), "nothing is measured at first")
		e.next.Store(0)
		got := e.delivered(spans(list...), len(list)) // with those before
		for range batches - 2 {
			got += e.delivered(spans(list...), len(list))
		}
		require.InEpsilon(t, want, got, allowed)
	}
	f("", 1e-9)
	f("gzip", 1e-9)
	f("zstd", 1e-9)
	f("snappy", 1e-9)
}

// TestEstimateIsRare checks that few batches are measured, and that a batch which
// OTLP could not send is not.
func TestEstimateIsRare(t *testing.T) {
	c := testConfig("localhost:1")
	d := *signal.Traces
	measured := 0
	d.Marshal = func(b ptrace.Traces) ([]byte, error) {
		measured++
		time.Sleep(50 * time.Millisecond)
		return signal.Traces.Marshal(b)
	}
	e := newEstimate(c, &d)
	for range 3 {
		e.delivered(spans("a"), 1)
	}
	require.Zero(t, measured, "too early")
	e.next.Store(0)
	for range 3 {
		e.delivered(spans("a"), 1)
	}
	require.Equal(t, 1, measured)
	require.Greater(t, time.Until(time.Unix(0, e.next.Load())), 20*time.Second, "50 ms are 1/500 of 25 s")

	e.next.Store(0)
	d.Size = func(ptrace.Traces) int { return c.Fallback.MaxRequestSizeMiB<<20 + 1 }
	e.delivered(spans("a"), 1)
	require.Equal(t, 1, measured)
}

// TestEstimateIsCounted checks the metric of an exporter.
func TestEstimateIsCounted(t *testing.T) {
	p := listen(t, &peer{}, "", true, true)
	x := startSignal(t, testConfig(p.addr), signal.Traces)
	x.estimate.next.Store(0)
	require.NoError(t, x.push(t.Context(), spans("a", "b")))
	x.estimate.mu.Lock()
	defer x.estimate.mu.Unlock()
	require.Equal(t, 2.0, x.estimate.items)
	require.Positive(t, x.estimate.bytes)
}
