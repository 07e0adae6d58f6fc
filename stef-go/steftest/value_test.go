// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/optionals"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

func TestValue(t *testing.T) {
	root := metricsRoot(t)
	rec := otelstef.NewMetrics()
	rec.Metric().SetName("requests")
	rec.Metric().SetType(otelstef.MetricTypeSum)
	rec.Metric().HistogramBounds().SetValues([]float64{1, 2})
	rec.Attributes().SetLen(2)
	rec.Attributes().SetBytes(0, "raw", []byte{1, 2})
	rec.Attributes().Value(1).SetArray().Append().SetBool(true)
	rec.Point().SetFlags(5)
	rec.Point().Value().SetHistogram().SetMax(0.5)
	f := func(kept schema.Kept, want string) {
		t.Helper()
		have, err := dynamic.AppendJSON(nil, root.Schema, kept, steftest.Value(rec, root.Schema, kept))
		require.NoError(t, err)
		require.JSONEq(t, want, string(have))
	}
	f(nil, `{"envelope":{"attributes":[]},
		"metric":{"name":"requests","description":"","unit":"","type":"1","metadata":[],"histogram_bounds":[
			{"v":"1","bits":"3ff0000000000000"},{"v":"2","bits":"4000000000000000"}],"aggregation_temporality":"0","monotonic":false},
		"resource":{"schema_url":"","attributes":[],"dropped_attributes_count":"0","entity_refs":[]},
		"scope":{"name":"","version":"","schema_url":"","attributes":[],"dropped_attributes_count":"0"},
		"attributes":[{"key":"raw","value":{"type":"bytes","bytes":"0102"}},
			{"key":"","value":{"type":"array","array":[{"type":"bool","bool":true}]}}],
		"point":{"start_timestamp":"0","timestamp":"0","value":{"type":"histogram","histogram":{"count":"0","sum":null,"min":null,
			"max":{"v":"0.5","bits":"3fe0000000000000"},"bucket_counts":[]}},"exemplars":[],"flags":"5"}}`)

	// The schema of the stream has only the envelope without fields, and the metric with only its name.
	kept, err := schema.Keep(root.Schema, schema.WireSchema{2, 0, 1})
	require.NoError(t, err)
	f(kept, `{"envelope":{},"metric":{"name":"requests"}}`)
	cut := steftest.Value(rec, root.Schema, kept)
	require.Empty(t, steftest.Diff(root.Schema, steftest.Cut(root.Schema, kept, steftest.Value(rec, root.Schema, nil)), cut))
	want := otelstef.NewMetrics()
	want.Metric().SetName("requests")
	require.Empty(t, steftest.Diff(root.Schema, steftest.Value(want, root.Schema, nil), cut))
}

// TestValueIsACopy: later changes of a record do not change a value that was taken from it.
func TestValueIsACopy(t *testing.T) {
	root := metricsRoot(t)
	rec := otelstef.NewMetrics()
	rec.Attributes().SetLen(1)
	rec.Attributes().SetBytes(0, "k", []byte("old"))
	value := steftest.Value(rec, root.Schema, nil)
	before := dynamic.Clone(value).(*dynamic.Struct)
	copy(rec.Attributes().Value(0).Bytes(), "new")
	rec.Attributes().Value(0).SetBytes([]byte("newer"))
	require.Empty(t, steftest.Diff(root.Schema, before, value))
}

func TestSet(t *testing.T) {
	f := func(root *steftest.Root, rec any) {
		t.Helper()
		for _, want := range steftest.Records(5, root.Schema, 60, steftest.Shape{}) {
			steftest.Set(rec, root.Schema, want)
			require.Empty(t, steftest.Diff(root.Schema, want, steftest.Value(rec, root.Schema, nil)))
		}
	}
	f(metricsRoot(t), otelstef.NewMetrics())
	f(optionalsRoot(t), optionals.NewRecord())
}

func TestWrongRecord(t *testing.T) {
	require.PanicsWithValue(t, "steftest: *otelstef.Metrics has no method Record, so it was not generated from this schema", func() {
		steftest.Value(otelstef.NewMetrics(), load(t, "stef-spec", "otel.stef").Root("Logs"), nil)
	})
	require.Panics(t, func() {
		steftest.NewRoot(nil, schema.WireSchema{}, otelstef.NewMetricsWriter, otelstef.NewMetricsReader, otelstef.NewMetrics())
	})
}

// TestFollower compares the values of a Follower with the written records. A second follower,
// which misses records, must return wrong values.
func TestFollower(t *testing.T) {
	root := metricsRoot(t)
	recs := steftest.Records(1, root.Schema, 50, steftest.Shape{})
	stream, err := root.Write(recs)
	require.NoError(t, err)
	r, err := root.NewReader(bytes.NewReader(stream))
	require.NoError(t, err)
	follower, late := steftest.NewFollower(root.Schema, nil), steftest.NewFollower(root.Schema, nil)
	wrong := 0
	for i := 0; r.Next(); i++ {
		require.Empty(t, steftest.Diff(root.Schema, recs[i], follower.Next(r.Record())))
		if i%3 == 0 && steftest.Diff(root.Schema, recs[i], late.Next(r.Record())) != "" {
			wrong++
		}
	}
	require.Greater(t, wrong, 10, "a follower that misses records misses changes")
}

func TestDiff(t *testing.T) {
	root := metricsRoot(t)
	f := func(want string, change func(rec *otelstef.Metrics)) {
		t.Helper()
		a, b := otelstef.NewMetrics(), otelstef.NewMetrics()
		for _, rec := range []*otelstef.Metrics{a, b} {
			rec.Attributes().SetLen(1)
			rec.Attributes().SetString(0, "k", "v")
			rec.Point().Value().SetHistogram().SetSum(0)
			rec.Point().Exemplars().SetLen(2)
		}
		require.Empty(t, steftest.Diff(root.Schema, steftest.Value(a, root.Schema, nil), steftest.Value(b, root.Schema, nil)))
		change(b)
		av, bv := steftest.Value(a, root.Schema, nil), steftest.Value(b, root.Schema, nil)
		require.Equal(t, want, steftest.Diff(root.Schema, av, bv))
		require.NotEmpty(t, steftest.Diff(root.Schema, bv, av))
		require.Equal(t, "record 2: "+want, steftest.DiffAll(root.Schema, []*dynamic.Struct{av, av}, []*dynamic.Struct{av, bv}))
	}
	f(`Metrics.Metric.Name: want "", have "x"`, func(rec *otelstef.Metrics) { rec.Metric().SetName("x") })
	f("Metrics.Attributes: want 1 pairs, have 2", func(rec *otelstef.Metrics) { rec.Attributes().SetLen(2) })
	f(`Metrics.Attributes[0].key: want "k", have "q"`, func(rec *otelstef.Metrics) { rec.Attributes().SetKey(0, "q") })
	f(`Metrics.Attributes[0].value.String: want "v", have "w"`, func(rec *otelstef.Metrics) { rec.Attributes().SetString(0, "k", "w") })
	f("Metrics.Attributes[0].value: want choice 1, have 3", func(rec *otelstef.Metrics) { rec.Attributes().SetInt64(0, "k", 0) })
	f("Metrics.Point.Value.Histogram.Sum: want 0 (0x0), have -0 (0x8000000000000000)",
		func(rec *otelstef.Metrics) { rec.Point().Value().Histogram().SetSum(math.Copysign(0, -1)) })
	f("Metrics.Point.Value.Histogram.Sum: want present true, have false",
		func(rec *otelstef.Metrics) { rec.Point().Value().Histogram().UnsetSum() })
	f("Metrics.Point.Exemplars: want 2 elements, have 1", func(rec *otelstef.Metrics) { rec.Point().Exemplars().SetLen(1) })
	f("Metrics.Point.Exemplars[1].SpanID: want []byte{}, have []byte{0x1}",
		func(rec *otelstef.Metrics) { rec.Point().Exemplars().At(1).SetSpanID([]byte{1}) })
	require.Equal(t, "want 1 records, have 0", steftest.DiffAll(root.Schema, make([]*dynamic.Struct, 1), nil))
}
