// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
)

func sum(m metricdata.Metrics) int64 {
	var total int64
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
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
	require.Equal(t, want, counted(t, x, "items_dropped", "reason"))
}

// TestAttributesAreDocumented compares the attributes of recorded metrics with those
// in metadata.yaml.
func TestAttributesAreDocumented(t *testing.T) {
	tt := componenttest.NewTelemetry()
	id := component.NewIDWithName(metadata.Type, "b")
	x, err := newTelemetry(tt.NewTelemetrySettings(), id, "traces")
	require.NoError(t, err)
	x.dropped(t.Context(), dropRejected, 1)
	x.failed(t.Context(), ProtocolSTEF, codes.Unavailable)
	x.delivered(t.Context(), ProtocolOTLP, 1)
	x.backendItems("a:1", 1)
	x.rerouted("a:1", 1)
	x.frame(2, 1, true)
	require.NoError(t, x.observe(func() gauges { return gauges{backends: map[string]bool{"a:1": true}} }))

	text, err := os.ReadFile("metadata.yaml")
	require.NoError(t, err)
	retrieved, err := confmap.NewRetrievedFromYAML(text)
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	documented, err := conf.Sub("telemetry::metrics")
	require.NoError(t, err)

	var all metricdata.ResourceMetrics
	require.NoError(t, tt.Reader.Collect(t.Context(), &all))
	n := 0
	for _, m := range all.ScopeMetrics[0].Metrics {
		name := strings.TrimPrefix(m.Name, "otelcol_")
		var want []string
		for _, a := range documented.Get(name + "::attributes").([]any) {
			want = append(want, a.(string))
		}
		var set attribute.Set
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			set = data.DataPoints[0].Attributes
		case metricdata.Gauge[float64]:
			set = data.DataPoints[0].Attributes
		case metricdata.Histogram[int64]:
			set = data.DataPoints[0].Attributes
		}
		var got []string
		for _, kv := range set.ToSlice() {
			got = append(got, string(kv.Key))
		}
		require.ElementsMatch(t, want, got, name)
		value, _ := set.Value("exporter")
		require.Equal(t, id.String(), value.AsString(), name)
		n++
	}
	require.Greater(t, n, 12)
}
