// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// Entries that differ in any field have different hashes. Otherwise the time for a batch would grow
// with the square of its size: 40,000 metrics with the same name took a minute.
func TestHashesDiffer(t *testing.T) {
	const n = 300
	// chained returns how many entries of an index have the hash of an earlier one.
	chained := func(x *index) (chained int) {
		require.Equal(t, n, x.Size())
		for _, next := range x.chain {
			if next != 0 {
				chained++
			}
		}
		return chained
	}
	for name, change := range map[string]func(m pmetric.Metric, i int){
		"name":        func(m pmetric.Metric, i int) { m.SetName(strconv.Itoa(i)) },
		"description": func(m pmetric.Metric, i int) { m.SetDescription(strconv.Itoa(i)) },
		"unit":        func(m pmetric.Metric, i int) { m.SetUnit(strconv.Itoa(i)) },
		"metadata":    func(m pmetric.Metric, i int) { m.Metadata().PutInt("k", int64(i)) },
		"temporality": func(m pmetric.Metric, i int) {
			m.SetEmptySum().SetAggregationTemporality(pmetric.AggregationTemporality(i))
		},
	} {
		t.Run("metrics/"+name, func(t *testing.T) {
			var p Metrics
			var c values.Copier
			for i := range n {
				m := pmetric.NewMetric()
				m.SetEmptyGauge()
				change(m, i)
				d := Describe(m)
				_, err := p.Find(&c, &d)
				require.NoError(t, err)
			}
			require.Zero(t, chained(&p.index))
		})
	}
	for name, change := range map[string]func(r pcommon.Resource, i int) (url string){
		"url": func(_ pcommon.Resource, i int) string { return strconv.Itoa(i) },
		"attributes": func(r pcommon.Resource, i int) string {
			r.Attributes().PutInt("k", int64(i))
			return ""
		},
		"dropped attributes": func(r pcommon.Resource, i int) string {
			r.SetDroppedAttributesCount(uint32(i))
			return ""
		},
		"type of an entity": func(r pcommon.Resource, i int) string {
			entity.ResourceEntityRefs(r).AppendEmpty().SetType(strconv.Itoa(i))
			return ""
		},
		"url of an entity": func(r pcommon.Resource, i int) string {
			entity.ResourceEntityRefs(r).AppendEmpty().SetSchemaUrl(strconv.Itoa(i))
			return ""
		},
		"keys of an entity": func(r pcommon.Resource, i int) string {
			ref := entity.ResourceEntityRefs(r).AppendEmpty()
			ref.IdKeys().Append(strconv.Itoa(i / 2))
			ref.DescriptionKeys().Append(strconv.Itoa(i))
			return ""
		},
	} {
		t.Run("resources/"+name, func(t *testing.T) {
			p := Resources{KeepEntityRefs: true}
			var c values.Copier
			for i := range n {
				r := pcommon.NewResource()
				url := change(r, i)
				_, err := p.Find(&c, r, url)
				require.NoError(t, err)
			}
			require.Zero(t, chained(&p.index))
			require.Len(t, p.alike, n)
		})
	}
	for name, change := range map[string]func(s pcommon.InstrumentationScope, i int) (url string){
		"url": func(_ pcommon.InstrumentationScope, i int) string { return strconv.Itoa(i) },
		"version": func(s pcommon.InstrumentationScope, i int) string {
			s.SetVersion(strconv.Itoa(i))
			return ""
		},
		"dropped attributes": func(s pcommon.InstrumentationScope, i int) string {
			s.SetDroppedAttributesCount(uint32(i))
			return ""
		},
	} {
		t.Run("scopes/"+name, func(t *testing.T) {
			var p Scopes
			var c values.Copier
			for i := range n {
				s := pcommon.NewInstrumentationScope()
				url := change(s, i)
				_, err := p.Find(&c, s, url)
				require.NoError(t, err)
			}
			require.Zero(t, chained(&p.index))
		})
	}
}
