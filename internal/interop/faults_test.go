// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"math"
	"testing"

	ref "github.com/splunk/stef/go/pkg"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// positive replaces every negative zero and every NaN in a value by zero, so that the comparison ignores
// them: the reference implementation compares floats by value. See TestNegativeZero.
func positive(v any) {
	switch v := v.(type) {
	case *dynamic.Struct:
		for i, f := range v.Fields {
			v.Fields[i] = positiveZero(f)
		}
	case *dynamic.Oneof:
		v.Value = positiveZero(v.Value)
	case *dynamic.Array:
		for i, e := range v.Elems {
			v.Elems[i] = positiveZero(e)
		}
	case *dynamic.Multimap:
		for i, p := range v.Pairs {
			v.Pairs[i] = dynamic.Pair{Key: positiveZero(p.Key), Value: positiveZero(p.Value)}
		}
	}
}

func positiveZero(v any) any {
	if f, ok := v.(float64); ok && (f == 0 || math.IsNaN(f)) {
		return 0.0
	}
	positive(v)
	return v
}

// TestNegativeZero asserts a fault of the reference implementation: its writer treats negative
// zero as zero in the structs of a dictionary, for example in the histogram bounds of a Metric. If
// this test fails, the fault is fixed: remove the functions positive and positiveZero.
func TestNegativeZero(t *testing.T) {
	var b bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&b, otelstef.PublishedMetrics())
	require.NoError(t, err)
	for _, bound := range []float64{0, math.Copysign(0, -1)} {
		m := w.Record().EditMetric()
		m.SetName("m")
		bounds := m.HistogramBounds()
		bounds.SetLen(1)
		bounds.Set(0, bound)
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	signs := func(stream []byte) []bool {
		r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
		require.NoError(t, err)
		var all []bool
		for r.Next() {
			all = append(all, math.Signbit(r.Record().Metric().HistogramBounds().At(0)))
		}
		require.NoError(t, r.Err())
		return all
	}
	require.Equal(t, []bool{false, true}, signs(b.Bytes()))
	back, err := rewriteMetrics(b.Bytes(), ref.WriterOptions{})
	require.NoError(t, err)
	require.Equal(t, []bool{false, false}, signs(back), "the reference keeps the sign now")
}

// TestRestartCompressionWithoutCompression asserts a fault of the reference
// implementation: its writer panics at the second frame.
func TestRestartCompressionWithoutCompression(t *testing.T) {
	loadMetrics(t, func(name string, parts []pmetric.Metrics) {
		if name != "shop" {
			return
		}
		stream := oursMetrics(t, parts, stefpdata.Sorted)
		require.Panics(t, func() {
			_, _ = rewriteMetrics(stream, ref.WriterOptions{FrameRestartFlags: ref.RestartCompression})
		})
	})
}
