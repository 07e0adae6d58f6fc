// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func sum(m metricdata.Metrics) int64 {
	var total int64
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		total += p.Value
	}
	return total
}

func gauge(m metricdata.Metrics) int64 {
	var total int64
	for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
		total += p.Value
	}
	return total
}

// counted returns a counter by the values of one attribute.
func counted(t *testing.T, x *rig, name, attribute string) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	m, err := x.telemetry.GetMetric("otelcol_exporter_stef_" + name)
	if err != nil {
		return got // nothing was counted yet
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		value, ok := p.Attributes.Value("signal")
		require.True(t, ok)
		require.Equal(t, "traces", value.AsString())
		value, ok = p.Attributes.Value("exporter")
		require.True(t, ok)
		require.Contains(t, value.AsString(), "stef")
		key := ""
		for _, kv := range p.Attributes.ToSlice() {
			if string(kv.Key) == attribute {
				key = kv.Value.AsString()
			}
		}
		got[key] += p.Value
	}
	return got
}

func dropped(t *testing.T, x *rig, want map[string]int64) {
	t.Helper()
	require.Equal(t, want, counted(t, x, "dropped_items", "reason"))
}
