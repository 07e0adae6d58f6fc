// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefmetric_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/stefmetric"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An export to files allocates nothing.
func TestAllocations(t *testing.T) {
	ctx := context.Background()
	x, err := stefmetric.NewFile(t.TempDir(), stefsdk.WithRotation(-1, -1))
	require.NoError(t, err)
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("shop")
	orders, err := meter.Int64Counter("orders")
	require.NoError(t, err)
	load, err := meter.Float64Gauge("load")
	require.NoError(t, err)
	latency, err := meter.Float64Histogram("latency")
	require.NoError(t, err)
	collected := make([]metricdata.ResourceMetrics, 400)
	for i := range collected {
		for route := range 20 {
			set := metric.WithAttributeSet(attribute.NewSet(attribute.String("http.route", "/cart/{id}"), attribute.Int("route", route)))
			orders.Add(ctx, 1, set)
			load.Record(ctx, float64(i%17)/3, set)
			latency.Record(ctx, float64((i*route)%5000), set)
		}
		require.NoError(t, reader.Collect(ctx, &collected[i]))
	}
	begin := time.Unix(1_700_000_000, 0)
	advance(collected, begin)
	for i := range collected {
		require.NoError(t, x.Export(ctx, &collected[i]))
	}
	advance(collected, begin.Add(time.Hour))
	i := 0
	require.Zero(t, testing.AllocsPerRun(len(collected)-1, func() {
		_ = x.Export(ctx, &collected[i])
		i++
	}))
	require.EqualValues(t, 2*60*len(collected), x.Stats().Written)
	require.NoError(t, x.Shutdown(ctx))
}

// advance sets the times of the points: collections are ten seconds apart.
func advance(collected []metricdata.ResourceMetrics, begin time.Time) {
	for i := range collected {
		at := begin.Add(time.Duration(i) * 10 * time.Second)
		for _, m := range collected[i].ScopeMetrics[0].Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for j := range data.DataPoints {
					data.DataPoints[j].Time = at
				}
			case metricdata.Gauge[float64]:
				for j := range data.DataPoints {
					data.DataPoints[j].Time = at
				}
			case metricdata.Histogram[float64]:
				for j := range data.DataPoints {
					data.DataPoints[j].Time = at
				}
			}
		}
	}
}
