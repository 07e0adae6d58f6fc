// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	descriptors "github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// TestBeyondBounds: items survive the round trip after most tables of the encoder, of the writer and of
// the reader were full, and were emptied or overwritten. Batches of new items fill the tables; before
// and after each of them, the same few items repeat, so that a pointer or number that was remembered too
// long would be used. Large dictionaries do not restart, so that the tables of the compact form become
// full. Small dictionaries restart often.
func TestBeyondBounds(t *testing.T) {
	t.Run("traces", func(t *testing.T) {
		beyondBounds(t, descriptors.Traces, manyTraces, sorted.Traces, otelstef.CompactSpans())
	})
	t.Run("logs", func(t *testing.T) {
		beyondBounds(t, descriptors.Logs, manyLogs, sorted.Logs, otelstef.CompactLogs())
	})
	t.Run("metrics", func(t *testing.T) {
		beyondBounds(t, descriptors.Metrics, manyMetrics, sorted.Metrics, otelstef.CompactMetrics())
	})
}

func beyondBounds[B any](t *testing.T, d *descriptors.Descriptor[B], batchOf func(r *rand.Rand, items []int) B,
	itemsOf func(...B) *canon.Items, compact stef.WriterOption,
) {
	f := func(mode stefpdata.Mode, many, rounds int, options ...stef.WriterOption) {
		t.Helper()
		var out bytes.Buffer
		e, err := d.NewEncoder(&out, []stefpdata.EncoderOption{stefpdata.WithMode(mode), stefpdata.WithTemplates(stefpdata.TemplatesOn)}, options...)
		require.NoError(t, err)
		next := 0
		for range 2 { // the second stream reuses the memory of the first
			r := rand.New(rand.NewPCG(1, uint64(mode)))
			var batches []B
			write := func(items []int) {
				batches = append(batches, batchOf(r, items))
				require.NoError(t, e.Encode(batches[len(batches)-1]))
			}
			for range rounds {
				few, fresh := []int{}, []int{}
				for range 200 {
					few = append(few, r.IntN(20))
				}
				write(few)
				for range many {
					next++
					fresh = append(fresh, 100+next)
				}
				write(fresh)
				write(few)
			}
			require.NoError(t, e.Writer.Close())
			require.Empty(t, canon.Diff(itemsOf(batches...), itemsOf(decode(t, d, out.Bytes())...)))
			out.Reset()
			require.NoError(t, e.Writer.Reset(&out))
			e.Reset()
			many, rounds = 1000, 1
		}
	}
	f(stefpdata.Sorted, 17_000, 2, compact, stef.WithDictBytes(56<<20))
	f(stefpdata.Ordered, 5_000, 1, stef.WithDictBytes(1<<18), stef.WithFrameBytes(1<<15))
}

func manyResource(to pcommon.Resource, item int) {
	to.Attributes().PutInt("resource", int64(item))
}

// manyAttributes sets the attributes of an item: a key of its own, or three keys in random order.
func manyAttributes(r *rand.Rand, m pcommon.Map, item int) {
	if item%2 == 0 {
		m.PutStr(fmt.Sprint("key", item), "value")
		return
	}
	for _, i := range r.Perm(3) {
		m.PutStr(fmt.Sprint("k", i), fmt.Sprint("value ", i, " of ", item))
	}
}

func manyIDs(item int) (trace pcommon.TraceID, span pcommon.SpanID) {
	binary.BigEndian.PutUint64(trace[8:], uint64(item)+1)
	binary.BigEndian.PutUint64(span[:], uint64(item)+1)
	return trace, span
}

func manyTraces(r *rand.Rand, items []int) ptrace.Traces {
	td := ptrace.NewTraces()
	for _, item := range items {
		rs := td.ResourceSpans().AppendEmpty()
		manyResource(rs.Resource(), item)
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(fmt.Sprint("scope", item))
		span := ss.Spans().AppendEmpty()
		span.SetName(fmt.Sprint("name", item))
		trace, id := manyIDs(item)
		span.SetTraceID(trace)
		span.SetSpanID(id)
		_, parent := manyIDs(item ^ 1)
		span.SetParentSpanID(parent)
		span.SetStartTimestamp(pcommon.Timestamp(1000 * item))
		manyAttributes(r, span.Attributes(), item)
	}
	return td
}

func manyLogs(r *rand.Rand, items []int) plog.Logs {
	ld := plog.NewLogs()
	for _, item := range items {
		rl := ld.ResourceLogs().AppendEmpty()
		manyResource(rl.Resource(), item)
		sl := rl.ScopeLogs().AppendEmpty()
		sl.Scope().SetName(fmt.Sprint("scope", item))
		lr := sl.LogRecords().AppendEmpty()
		trace, span := manyIDs(item)
		lr.SetTraceID(trace)
		lr.SetSpanID(span)
		lr.SetTimestamp(pcommon.Timestamp(1000 * item))
		manyAttributes(r, lr.Attributes(), item)
		lr.Attributes().PutStr("trace", trace.String())
		lr.Body().SetStr(fmt.Sprintf("shape %c%c%c%c of %d: trace %s, value %d",
			'a'+item%26, 'a'+item/26%26, 'a'+item/676%26, 'a'+item/17576, item, trace, r.IntN(9)))
	}
	return ld
}

func manyMetrics(r *rand.Rand, items []int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	for _, item := range items {
		rm := md.ResourceMetrics().AppendEmpty()
		manyResource(rm.Resource(), item)
		sm := rm.ScopeMetrics().AppendEmpty()
		m := sm.Metrics().AppendEmpty()
		m.SetName(fmt.Sprint("metric", item))
		points := m.SetEmptySum().DataPoints()
		for _, series := range []int{item, 1<<20 + item} {
			p := points.AppendEmpty()
			p.SetTimestamp(pcommon.Timestamp(1000 * series))
			p.SetIntValue(int64(series))
			manyAttributes(r, p.Attributes(), series)
			if item%5 == 0 {
				x := p.Exemplars().AppendEmpty()
				x.SetIntValue(int64(series))
				x.FilteredAttributes().PutStr("exemplar", fmt.Sprint("of ", series))
			}
		}
	}
	return md
}
