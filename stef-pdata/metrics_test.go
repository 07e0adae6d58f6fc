// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

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
