// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"os"
	"slices"
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
	"github.com/otelstef/stef/internal/teltest/alerts"
)

func sum(m metricdata.Metrics) int64 {
	var total int64
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		total += p.Value
	}
	return total
}

// counted returns the sums of a counter for each value of one attribute. It omits sums of 0.
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
		if p.Value != 0 {
			got[key] += p.Value
		}
	}
	return got
}

func dropped(t *testing.T, x *rig, want map[string]int64) {
	t.Helper()
	require.Equal(t, want, counted(t, x, "items_dropped", "reason"))
}

// TestAttributesAreDocumented compares the attributes of recorded metrics with the
// attributes in metadata.yaml.
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

// TestAlertsSeeTheFirstEvent starts an exporter and checks that all counters of alerts have series
// with the value 0. Without them, an alert would not see the first increase.
func TestAlertsSeeTheFirstEvent(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolAuto, ProtocolSTEF, ProtocolOTLP} {
		c := testConfig("localhost:1")
		c.Protocol = protocol
		x := start(t, c)
		seen := 0
		for _, alert := range alerts.Read(t, "alerts.yaml") {
			for _, s := range alert.Selectors {
				ofSTEF := strings.Contains(s.Metric, "_streams_") || strings.Contains(s.Metric, "_records_")
				if !strings.HasPrefix(s.Metric, "exporter_stef_") || strings.HasSuffix(s.Metric, "_bucket") ||
					protocol == ProtocolOTLP && ofSTEF || protocol == ProtocolSTEF && s.Values["protocol"] != nil {
					continue
				}
				m, err := x.telemetry.GetMetric("otelcol_" + s.Metric)
				require.NoError(t, err, "%s: %s does not exist", alert.Name, s.Metric)
				require.Zero(t, sum(m))
				seen++
				for label, values := range s.Values {
					for _, value := range values {
						require.True(t, slices.ContainsFunc(m.Data.(metricdata.Sum[int64]).DataPoints, func(p metricdata.DataPoint[int64]) bool {
							got, _ := p.Attributes.Value(attribute.Key(label))
							return got.AsString() == value
						}), "%s: no %s with %s=%q", alert.Name, s.Metric, label, value)
					}
				}
			}
		}
		require.Greater(t, seen, 3)
		reasons, err := x.telemetry.GetMetric("otelcol_exporter_stef_items_dropped")
		require.NoError(t, err)
		require.Len(t, reasons.Data.(metricdata.Sum[int64]).DataPoints, 8, "a series for each reason")
	}
}
