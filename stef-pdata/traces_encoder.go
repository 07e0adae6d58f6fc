// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// TracesEncoder writes traces of pdata to a stream. It serves one stream and is
// not safe for use by several goroutines at once.
type TracesEncoder struct {
	w    *otelstef.SpansWriter
	rec  *otelstef.Spans
	mode Mode
	spanWriter

	resources resourcePool
	scopes    scopePool
	names     names
	sorter    *spanSorter // while it encodes in the mode Sorted

	at       mapping.Place
	rejected ItemErrors
}

// NewTracesEncoder returns an encoder that writes to w, which nothing else may
// write to. The default mode is Sorted.
func NewTracesEncoder(w *otelstef.SpansWriter, options ...EncoderOption) *TracesEncoder {
	config := encoderConfig{mode: Sorted}
	for _, option := range options {
		option(&config)
	}
	e := &TracesEncoder{w: w, rec: w.Record(), mode: config.mode}
	e.keyDict, e.textDict = w.Dicts().AttributeKey, w.Dicts().AnyValueString
	e.keys.Init(e.keyDict, e.textDict)
	e.kept = features.OfSpans(w.Fields())
	e.byKey = config.mode == Sorted
	e.resources.refs = e.kept.EntityRefs
	return e
}

// Losses returns what the schema of the stream could not carry so far.
func (e *TracesEncoder) Losses() Losses { return e.losses }

// Encode writes all spans of td, which it does not change. It does not flush the
// writer.
//
// Spans that exceed a limit are left out and reported in ItemErrors, while the
// others are written. Any other error is that of the writer, and neither can go
// on after it.
func (e *TracesEncoder) Encode(td ptrace.Traces) error {
	e.rejected = nil
	if e.resources.full(maxContainers) || e.scopes.full(maxContainers) {
		e.resources.reset()
		e.scopes.reset()
	}
	encode := e.encodeResources
	if e.mode == Sorted {
		encode = e.encodeSorted
	}
	if err := encode(td.ResourceSpans()); err != nil {
		return err
	}
	if len(e.rejected) > 0 {
		return e.rejected
	}
	return nil
}

// encodeSorted collects spans and writes them.
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
	for r := range rss.Len() {
		rs := rss.At(r)
		e.at = mapping.Place{Offset: -1, Resource: r, Scope: -1, Metric: -1, Item: -1}
		if rs.ScopeSpans().Len() == 0 {
			e.losses.EmptyContainers++
			continue
		}
		id, err := e.resources.find(&e.copier, rs.Resource(), rs.SchemaUrl())
		if err != nil {
			e.reject("resource.", err, spansIn(rs.ScopeSpans()))
			continue
		}
		if !e.kept.EntityRefs {
			e.losses.EntityRefs += countEntityRefs(rs.Resource())
		}
		if err := e.encodeScopes(rs.ScopeSpans(), id); err != nil {
			return err
		}
	}
	return nil
}

func (e *TracesEncoder) encodeScopes(sss ptrace.ScopeSpansSlice, resource uint32) error {
	for s := range sss.Len() {
		ss := sss.At(s)
		e.at.Scope, e.at.Item = s, -1
		if ss.Spans().Len() == 0 {
			e.losses.EmptyContainers++
			continue
		}
		id, err := e.scopes.find(&e.copier, ss.Scope(), ss.SchemaUrl())
		if err != nil {
			e.reject("scope.", err, ss.Spans().Len())
			continue
		}
		if e.mode == Sorted {
			e.sorter.add(e.resources.entries[resource].as, id, spanList{ss.Spans(), e.at})
			continue
		}
		e.rec.SetResource(e.resources.entries[resource].value)
		e.rec.SetScope(e.scopes.entries[id].value)
		if err := e.writeSpans(ss.Spans()); err != nil {
			return err
		}
	}
	return nil
}

func (e *TracesEncoder) writeSpans(spans ptrace.SpanSlice) error {
	dst := e.rec.Span()
	for i := range spans.Len() {
		span := spans.At(i)
		e.Begin()
		err := e.attributesOf(dst.Attributes(), span.Attributes())
		if err != nil {
			err = mapping.InField("attributes", err)
		} else {
			err = e.span(dst, span)
		}
		if err != nil {
			e.at.Item = i
			e.reject("", err, 1)
		} else if err := e.w.Write(); err != nil {
			return err
		}
	}
	return nil
}

// writeSorted writes what was collected.
func (e *TracesEncoder) writeSorted() error {
	s := e.sorter
	e.resources.rank(e.resources.size(), func(a, b uint32) int {
		return compareResources(e.resources.entries[a].value, e.resources.entries[b].value)
	})
	e.scopes.rank(e.scopes.size(), func(a, b uint32) int {
		return compareScopes(e.scopes.entries[a].value, e.scopes.entries[b].value)
	})
	s.sort(&e.resources.ranking, &e.scopes.ranking)
	for _, h := range s.order {
		home := &s.homes[h]
		e.rec.SetResource(e.resources.entries[home.resource].value)
		e.rec.SetScope(e.scopes.entries[home.scope].value)
		if err := e.writeHome(home); err != nil {
			return err
		}
	}
	return nil
}

// writeHome writes the spans of a scope of a resource, chunk by chunk.
func (e *TracesEncoder) writeHome(home *spanHome) error {
	chunk := &e.sorter.chunk
	for l, list := range home.lists {
		for i := range list.Len() {
			chunk.add(&e.keys, list.At(i), l, i)
			if len(chunk.items) == chunkSpans {
				if err := e.writeChunk(home); err != nil {
					return err
				}
			}
		}
	}
	return e.writeChunk(home)
}

func (e *TracesEncoder) writeChunk(home *spanHome) error {
	chunk := &e.sorter.chunk
	defer chunk.reset()
	dst := e.rec.Span()
	for _, key := range chunk.sort() {
		item := &chunk.items[key.entry]
		e.Begin()
		err := e.spanPairs(dst.Attributes(), item)
		if err != nil {
			err = mapping.InField("attributes", err)
		} else {
			err = e.span(dst, item.Span)
		}
		if err != nil {
			e.at = home.lists[item.list].at
			e.at.Item = int(item.index)
			e.reject("", err, 1)
		} else if err := e.w.Write(); err != nil {
			return err
		}
	}
	return nil
}

// spanPairs gives dst the attributes of an item.
func (e *TracesEncoder) spanPairs(dst *otelstef.Attributes, item *spanItem) error {
	if src := item.Attributes(); src.Len() > 0 {
		return e.placed(dst, src, &item.attributes, &e.sorter.chunk.pairs)
	}
	dst.SetLen(0)
	return nil
}

// reject notes that n spans where the encoder is are not written.
func (e *TracesEncoder) reject(prefix string, err error, n int) {
	e.rejected = mapping.AddItems(e.rejected, e.at, prefix, err, n)
}

func spansIn(sss ptrace.ScopeSpansSlice) int {
	n := 0
	for i := range sss.Len() {
		n += sss.At(i).Spans().Len()
	}
	return n
}
