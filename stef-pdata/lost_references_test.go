// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// lostReferences describes a batch. It has a list for each resource, with a number for each item:
// the bytes of an attribute of the item. An item with tooBig bytes cannot be written. Resource
// number i, from 1, has i entity references.
type lostReferences [][]int

const tooBig = stefpdata.MaxItemBytes

// written returns the number of entity references of all resources that have an item that is
// written.
func (l lostReferences) written() (refs uint64) {
	for i, sizes := range l {
		for _, size := range sizes {
			if size < tooBig {
				refs += uint64(i) + 1
				break
			}
		}
	}
	return refs
}

func (l lostReferences) fill(i int, r pcommon.Resource) {
	r.Attributes().PutInt("resource", int64(i))
	for range i + 1 {
		entity.ResourceEntityRefs(r).AppendEmpty().SetType("service")
	}
}

// TestLostReferences counts lost entity references. A resource without written items counts as
// rejected or empty, so its references do not count as lost.
func TestLostReferences(t *testing.T) {
	for _, l := range []lostReferences{
		{{1}, {tooBig}, {1, 1}},
		{{tooBig, tooBig}, {tooBig, 1}, {}},
		{{tooBig}},
		{{}, {1}},
	} {
		md, td := pmetric.NewMetrics(), ptrace.NewTraces()
		for i, sizes := range l {
			rm, rs := md.ResourceMetrics().AppendEmpty(), td.ResourceSpans().AppendEmpty()
			l.fill(i, rm.Resource())
			l.fill(i, rs.Resource())
			m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
			m.SetName("m")
			points, spans := m.SetEmptyGauge().DataPoints(), rs.ScopeSpans().AppendEmpty().Spans()
			for _, size := range sizes {
				p := points.AppendEmpty()
				p.SetIntValue(1)
				p.Attributes().PutStr("k", string(make([]byte, size)))
				spans.AppendEmpty().Attributes().PutStr("k", string(make([]byte, size)))
			}
		}
		refused := func(err error) {
			t.Helper()
			if err != nil {
				require.ErrorIs(t, err, stef.ErrLimit)
			}
		}
		for _, mode := range modes {
			mw, err := otelstef.NewMetricsWriter(io.Discard, otelstef.PublishedMetrics())
			require.NoError(t, err)
			me := stefpdata.NewMetricsEncoder(mw, stefpdata.WithMode(mode))
			refused(me.Encode(md))
			require.Equal(t, l.written(), me.Losses().EntityRefs, "%v, %v", l, mode)
			refused(me.Encode(md))
			require.Equal(t, 2*l.written(), me.Losses().EntityRefs, "%v, %v", l, mode)

			tw, err := otelstef.NewSpansWriter(io.Discard, otelstef.PublishedSpans())
			require.NoError(t, err)
			te := stefpdata.NewTracesEncoder(tw, stefpdata.WithMode(mode))
			refused(te.Encode(td))
			require.Equal(t, l.written(), te.Losses().EntityRefs, "%v, %v", l, mode)
		}

		b, err := new(pmetric.ProtoMarshaler).MarshalMetrics(md)
		require.NoError(t, err)
		mw, err := otelstef.NewMetricsWriter(io.Discard, otelstef.PublishedMetrics())
		require.NoError(t, err)
		me := stefotlp.NewMetricsEncoder(mw)
		refused(me.EncodeOTLP(b))
		require.Equal(t, l.written(), me.Losses().EntityRefs, "%v", l)

		b, err = new(ptrace.ProtoMarshaler).MarshalTraces(td)
		require.NoError(t, err)
		tw, err := otelstef.NewSpansWriter(io.Discard, otelstef.PublishedSpans())
		require.NoError(t, err)
		te := stefotlp.NewTracesEncoder(tw)
		refused(te.EncodeOTLP(b))
		require.Equal(t, l.written(), te.Losses().EntityRefs, "%v", l)
	}
}
