// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// With the published schema, encoders lose exactly the content that the package doc lists, and
// Losses counts all of it.
func TestLossesOfPublishedMetrics(t *testing.T) {
	for seed := range uint64(200) {
		md := newRandom(seed).metrics()
		for _, mode := range modes {
			var out bytes.Buffer
			w, err := otelstef.NewMetricsWriter(&out, otelstef.PublishedMetrics())
			require.NoError(t, err)
			e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
			require.NoError(t, e.Encode(md))
			require.NoError(t, w.Close())

			want := pmetric.NewMetrics()
			md.CopyTo(want)
			losses := lose(want)
			require.Equal(t, losses, e.Losses(), "seed %d, %v", seed, mode)
			requireSame(t, mode, []pmetric.Metrics{want}, decodeMetrics(t, out.Bytes()))
		}
	}
}

// With the full schema, encoders lose only containers without items.
func TestLossesOfFullMetrics(t *testing.T) {
	for seed := range uint64(50) {
		md := newRandom(seed).metrics()
		for _, mode := range modes {
			w, err := otelstef.NewMetricsWriter(new(bytes.Buffer), stef.WithSchemaHeader())
			require.NoError(t, err)
			e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
			require.NoError(t, e.Encode(md))
			require.Equal(t, stefpdata.Losses{EmptyContainers: countEmpty(md)}, e.Losses(), "seed %d, %v", seed, mode)
		}
	}
}

// lose removes the content that the published schema cannot carry from md, and counts it.
func lose(md pmetric.Metrics) stefpdata.Losses {
	losses := stefpdata.Losses{EmptyContainers: countEmpty(md)}
	for _, rm := range md.ResourceMetrics().All() {
		refs := entity.ResourceEntityRefs(rm.Resource())
		if hasPoints(rm) {
			losses.EntityRefs += uint64(refs.Len())
		}
		refs.RemoveIf(func(entity.EntityRef) bool { return true })
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				losePoints(m, &losses)
			}
		}
	}
	return losses
}

func hasPoints(rm pmetric.ResourceMetrics) bool {
	md := pmetric.NewMetrics()
	rm.CopyTo(md.ResourceMetrics().AppendEmpty())
	return md.DataPointCount() > 0
}

func losePoints(m pmetric.Metric, losses *stefpdata.Losses) {
	const noValue = pmetric.DataPointFlags(1)
	count := func(counter *uint64, lost bool) {
		if lost {
			*counter++
		}
	}
	numbers := func(ps pmetric.NumberDataPointSlice) {
		for _, p := range ps.All() {
			count(&losses.Flags, p.Flags()&^noValue != 0)
			empty := p.ValueType() == pmetric.NumberDataPointValueTypeEmpty
			if !p.Flags().NoRecordedValue() {
				count(&losses.Unvalued, empty)
				p.SetFlags(0)
				if empty {
					p.SetFlags(noValue)
				}
				continue
			}
			count(&losses.Values, !empty)
			without := pmetric.NewNumberDataPoint()
			p.Attributes().CopyTo(without.Attributes())
			without.SetStartTimestamp(p.StartTimestamp())
			without.SetTimestamp(p.Timestamp())
			without.SetFlags(noValue)
			p.Exemplars().CopyTo(without.Exemplars())
			without.MoveTo(p)
		}
	}
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			count(&losses.Flags, p.Flags()&^noValue != 0)
			p.SetFlags(p.Flags() & noValue)
			if p.Flags() == 0 {
				continue
			}
			count(&losses.Values, p.Count() != 0 || p.HasSum() || p.HasMin() || p.HasMax() || p.BucketCounts().Len() > 0)
			p.SetCount(0)
			p.RemoveSum()
			p.RemoveMin()
			p.RemoveMax()
			p.BucketCounts().FromRaw(nil)
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			count(&losses.Flags, p.Flags() != 0)
			p.SetFlags(0)
		}
	case pmetric.MetricTypeSummary:
		for _, p := range m.Summary().DataPoints().All() {
			count(&losses.Flags, p.Flags()&^noValue != 0)
			p.SetFlags(p.Flags() & noValue)
			if p.Flags() == 0 {
				continue
			}
			hasSum := p.Sum() != 0 || 1/p.Sum() < 0
			count(&losses.Values, p.Count() != 0 || hasSum || p.QuantileValues().Len() > 0)
			p.SetCount(0)
			p.SetSum(0)
			p.QuantileValues().RemoveIf(func(pmetric.SummaryDataPointValueAtQuantile) bool { return true })
		}
	}
}

// countEmpty counts resources without scopes, scopes without metrics, and metrics without points.
func countEmpty(md pmetric.Metrics) uint64 {
	n := uint64(0)
	for _, rm := range md.ResourceMetrics().All() {
		if rm.ScopeMetrics().Len() == 0 {
			n++
		}
		for _, sm := range rm.ScopeMetrics().All() {
			if sm.Metrics().Len() == 0 {
				n++
			}
			for _, m := range sm.Metrics().All() {
				one := pmetric.NewMetrics()
				m.CopyTo(one.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty())
				if one.DataPointCount() == 0 {
					n++
				}
			}
		}
	}
	return n
}

// Losses do not count the content of points that are not written.
func TestLossesOfRejectedPoints(t *testing.T) {
	md := pmetric.NewMetrics()
	metrics := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	reject := func(x pmetric.Exemplar) {
		v := x.FilteredAttributes().PutEmpty("deep")
		for range 300 {
			v = v.SetEmptySlice().AppendEmpty()
		}
	}
	for i, bad := range []bool{true, false} {
		number := metrics.AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
		histogram := metrics.AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
		exponential := metrics.AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
		number.SetFlags(2)
		histogram.SetFlags(3)
		histogram.SetCount(uint64(1 + i))
		exponential.SetFlags(1)
		for _, x := range []pmetric.ExemplarSlice{number.Exemplars(), histogram.Exemplars(), exponential.Exemplars()} {
			if bad {
				reject(x.AppendEmpty())
			}
		}
	}
	for _, mode := range modes {
		w, err := otelstef.NewMetricsWriter(io.Discard, otelstef.PublishedMetrics())
		require.NoError(t, err)
		e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
		var rejected stefpdata.ItemErrors
		require.ErrorAs(t, e.Encode(md), &rejected)
		require.Equal(t, 3, rejected.Items())
		require.Equal(t, stefpdata.Losses{Flags: 3, Values: 1, Unvalued: 1}, e.Losses(), mode)
	}
}
