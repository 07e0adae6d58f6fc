// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

var modes = []stefpdata.Mode{stefpdata.Sorted, stefpdata.Ordered}

// What comes back from a stream is what went in.
func TestRealMetricsComeBack(t *testing.T) {
	f := func(name string, mds []pmetric.Metrics) {
		for _, mode := range modes {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				before := oneBatch(mds)
				requireSame(t, mode, mds, decodeMetrics(t, encodeMetrics(t, mds, mode)))
				requireSame(t, mode, mds, decodeMetrics(t,
					encodeMetrics(t, mds, mode, otelstef.PublishedMetrics(), stef.WithCompression(stef.Zstd)),
					stefpdata.WithMaxItems(1000)))
				requireSame(t, stefpdata.Ordered, []pmetric.Metrics{before}, mds)
			})
		}
	}
	f("recorded", recordedMetrics(t))
	t.Run("real", func(t *testing.T) {
		f(hipstershop, realMetrics(t, hipstershop))
		f(hostandcollector, realMetrics(t, hostandcollector))
	})
}

func TestSizes(t *testing.T) {
	f := func(name string, mds []pmetric.Metrics, zstd bool, want int, options ...stef.WriterOption) {
		t.Helper()
		if zstd {
			options = append(options, stef.WithCompression(stef.Zstd))
		}
		got := len(encodeMetrics(t, mds, stefpdata.Sorted, options...))
		t.Logf("%s %v: %d bytes, at most %d", name, zstd, got, want)
		if got > want {
			t.Errorf("%s %v: %d bytes, at most %d", name, zstd, got, want)
		}
	}
	hip, host := realMetrics(t, hipstershop), realMetrics(t, hostandcollector)
	one := []pmetric.Metrics{oneBatch(host)}
	f("hip", hip, false, 441_617, otelstef.PublishedMetrics())
	f("hip", hip, true, 90_908, otelstef.PublishedMetrics())
	f("host parts", host, false, 1_493_647, otelstef.PublishedMetrics())
	f("host parts", host, true, 246_860, otelstef.PublishedMetrics())
	f("host one", one, false, 1_266_974, otelstef.PublishedMetrics())
	f("host one", one, true, 80_470, otelstef.PublishedMetrics())
	f("full hip", hip, true, 90_500)
	f("full host parts", host, true, 246_860)
	f("full host one", one, true, 80_470)
	require.True(t, true)
}
