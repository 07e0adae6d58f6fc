// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/items"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/order"
)

// TracesEncoder writes traces of pdata to a stream. It serves one stream and is
// not safe for use by several goroutines at once.
type TracesEncoder struct {
	encoder
	w   *otelstef.SpansWriter
	rec *otelstef.Spans

	write  items.Spans
	names  intern.Names
	sorter *spanSorter // set while encoding in the mode Sorted
}

// NewTracesEncoder returns an encoder that writes to w. Nothing else may write to w.
// The default mode is Sorted.
func NewTracesEncoder(w *otelstef.SpansWriter, options ...EncoderOption) *TracesEncoder {
	notNil(w == nil, "writer")
	config := applyOptions(encoderConfig{mode: Sorted}, options)
	e := &TracesEncoder{w: w, rec: w.Record()}
	e.init(config.mode, features.OfSpans(w.Fields()))
	e.write.Init(w.Dicts(), e.features, &e.losses)
	e.write.ByKey = config.mode == Sorted
	return e
}

// Reset prepares the encoder for the next stream of its writer, which must have been
// reset before. The encoder writes the same bytes as a new encoder: it keeps memory, but no
// content. Losses counts from 0 again.
func (e *TracesEncoder) Reset() {
	e.reset(features.OfSpans(e.w.Fields()))
	e.write.Init(e.w.Dicts(), e.features, &e.losses)
	e.write.Keys.Reset()
	e.names.Reset()
}

// Encode writes all spans of td and does not change td. It does not flush the writer.
//
// Spans that exceed a limit are omitted and reported in ItemErrors; all other spans are
// written. Any other error comes from the writer, and neither the encoder nor the
// writer can continue after it.
func (e *TracesEncoder) Encode(td ptrace.Traces) error {
	e.begin()
	if e.mode == Sorted {
		return e.end(e.encodeSorted(td.ResourceSpans()))
	}
	return e.end(e.encodeResources(td.ResourceSpans()))
}

func (e *TracesEncoder) encodeSorted(rss ptrace.ResourceSpansSlice) error {
	e.sorter = spanSorters.Get().(*spanSorter)
	e.sorter.chunk.names = &e.names
	err := e.encodeResources(rss)
	if err == nil {
		err = e.writeSorted()
	}
	e.sorter.reset()
	spanSorters.Put(e.sorter)
	e.sorter = nil
	return err
}

func (e *TracesEncoder) encodeResources(rss ptrace.ResourceSpansSlice) error {
	for i := range rss.Len() {
		rs := rss.At(i)
		scopes := rs.ScopeSpans()
		id, ok := e.enterResource(&e.write.Copier, i, rs.Resource(), rs.SchemaUrl(), scopes.Len(), func() int { return spansIn(scopes) })
		if !ok {
			continue
		}
		if err := e.encodeScopes(scopes, id); err != nil {
			return err
		}
	}
	return nil
}

func (e *TracesEncoder) encodeScopes(sss ptrace.ScopeSpansSlice, resource uint32) error {
	for i := range sss.Len() {
		ss := sss.At(i)
		spans := ss.Spans()
		id, ok := e.enterScope(&e.write.Copier, i, ss.Scope(), ss.SchemaUrl(), spans.Len(), spans.Len)
		if !ok {
			continue
		}
		if e.mode == Sorted {
			e.sorter.add(e.resources.First(resource), id, spanList{spans, e.at})
			continue
		}
		e.rec.SetResource(e.resources.Value(resource))
		e.rec.SetScope(e.scopes.Value(id))
		if err := e.writeSpans(spans); err != nil {
			return err
		}
	}
	return nil
}

func (e *TracesEncoder) writeSpans(spans ptrace.SpanSlice) error {
	dst := e.rec.Span()
	for i := range spans.Len() {
		span := spans.At(i)
		e.write.Begin()
		err := e.write.AttributesOf(dst.Attributes(), span.Attributes())
		if err != nil {
			err = mapping.InField("attributes", err)
		} else {
			err = e.write.Span(dst, span)
		}
		if err := e.writeItem(i, err); err != nil {
			return err
		}
	}
	return nil
}

// writeItem writes span i, or reports why it cannot be written.
func (e *TracesEncoder) writeItem(i int, err error) error {
	if err != nil {
		e.rejectItem(i, err)
		return nil
	}
	return e.w.Write()
}

func (e *TracesEncoder) writeSorted() error {
	s := e.sorter
	e.resources.RankByValue()
	e.scopes.RankByValue()
	s.sort(&e.resources.Ranking, &e.scopes.Ranking)
	for _, h := range s.order {
		group := &s.groups[h]
		e.rec.SetResource(e.resources.Value(group.resource))
		e.rec.SetScope(e.scopes.Value(group.scope))
		if err := e.writeGroup(group); err != nil {
			return err
		}
	}
	return nil
}

// writeGroup writes the spans of a scope of a resource, chunk by chunk.
func (e *TracesEncoder) writeGroup(group *spanGroup) error {
	chunk := &e.sorter.chunk
	for l, list := range group.lists {
		for i := range list.Len() {
			chunk.add(&e.write.Keys, list.At(i), l, i)
			if len(chunk.items) == order.ChunkSpans {
				if err := e.writeChunk(group); err != nil {
					return err
				}
			}
		}
	}
	return e.writeChunk(group)
}

func (e *TracesEncoder) writeChunk(group *spanGroup) error {
	chunk := &e.sorter.chunk
	defer chunk.reset()
	dst := e.rec.Span()
	for _, key := range chunk.sort() {
		item := &chunk.items[key.Item]
		e.write.Begin()
		err := e.spanPairs(dst.Attributes(), item)
		if err != nil {
			err = mapping.InField("attributes", err)
		} else {
			err = e.write.Span(dst, item.Span)
		}
		if err != nil {
			e.at = group.lists[item.list].at
		}
		if err := e.writeItem(int(item.index), err); err != nil {
			return err
		}
	}
	return nil
}

// spanPairs sets dst to the attributes of an item.
func (e *TracesEncoder) spanPairs(dst *otelstef.Attributes, item *spanItem) error {
	if src := item.Attributes(); src.Len() > 0 {
		return e.write.Placed(dst, src, &item.attributes, &e.sorter.chunk.pairs)
	}
	dst.SetLen(0)
	return nil
}

func spansIn(sss ptrace.ScopeSpansSlice) int {
	n := 0
	for i := range sss.Len() {
		n += sss.At(i).Spans().Len()
	}
	return n
}
