// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// spanWriter sets spans of records from spans of pdata. It counts what the
// schema cannot carry.
type spanWriter struct {
	copier
	kept   features.Set
	keys   keySorter
	store  pairStore // of events and links
	losses Losses
}

// span sets all of a span but its attributes. Every field is set, so what is left of a span that
// was refused on the way does no harm.
//
// spec: #otlp-spans
func (w *spanWriter) span(dst *otelstef.Span, s ptrace.Span) error {
	var text mapping.IDText
	dst.SetTraceID(w.traceID(&text, s.TraceID()))
	dst.SetSpanID(w.spanID(&text, s.SpanID()))
	dst.SetParentSpanID(w.spanID(&text, s.ParentSpanID()))
	name, state := s.Name(), s.TraceState().AsRaw()
	dst.SetTraceState(state)
	dst.SetFlags(uint64(s.Flags()))
	dst.SetName(name)
	dst.SetKind(otelstef.SpanKind(int64(s.Kind()))) // OTLP enums are signed
	dst.SetStartTimeUnixNano(uint64(s.StartTimestamp()))
	dst.SetEndTimeUnixNano(uint64(s.EndTimestamp()))
	dst.SetDroppedAttributesCount(uint64(s.DroppedAttributesCount()))
	if events := s.Events(); events.Len()|dst.Events().Len() != 0 {
		if err := w.events(dst, events); err != nil {
			return err
		}
	}
	if links := s.Links(); links.Len()|dst.Links().Len() != 0 {
		if err := w.links(dst, links); err != nil {
			return err
		}
	}
	message := s.Status().Message()
	dst.Status().SetMessage(message)
	dst.Status().SetCode(uint64(int64(s.Status().Code())))
	if err := w.Take(len(name) + len(state) + len(message)); err != nil {
		return mapping.InField("name, trace_state or status.message", err)
	}
	w.dropped(dst, s)
	return nil
}

// dropped sets the counts of what was dropped, or counts that they are lost.
func (w *spanWriter) dropped(dst *otelstef.Span, s ptrace.Span) {
	events, links := s.DroppedEventsCount(), s.DroppedLinksCount()
	if w.kept.DroppedEvents {
		dst.SetDroppedEventsCount(uint64(events))
	} else if events != 0 {
		w.losses.DroppedEvents++
	}
	if w.kept.DroppedLinks {
		dst.SetDroppedLinksCount(uint64(links))
	} else if links != 0 {
		w.losses.DroppedLinks++
	}
}

// traceID returns what the stream holds of an id, in the memory of text.
func (w *spanWriter) traceID(text *mapping.IDText, id pcommon.TraceID) []byte {
	return mapping.EncodeID(text, id[:], w.kept.RawIDs)
}

// spanID is traceID for span ids.
func (w *spanWriter) spanID(text *mapping.IDText, id pcommon.SpanID) []byte {
	return mapping.EncodeID(text, id[:], w.kept.RawIDs)
}

// attributesOf gives dst the attributes of a span, event or link in the order of the
// mode.
func (w *spanWriter) attributesOf(dst *otelstef.Attributes, src pcommon.Map) error {
	n := src.Len()
	if w.byKey && n > 0 {
		var found sortedPairs
		w.store.reset()
		w.keys.find(&found, src, &w.store)
		return w.placed(dst, src, &found, &w.store)
	}
	if n < 2 || n > maxSetKeys || dst.Len() > 0 && dst.Key(0) == firstKey(src) {
		return w.attributes(dst, src)
	}
	return w.otherAttributes(dst, src)
}

// otherAttributes gives dst attributes that are likely to have nothing in common with
// those that it has, in the order in which they came.
func (w *spanWriter) otherAttributes(dst *otelstef.Attributes, src pcommon.Map) error {
	if err := w.TakePairs(src.Len()); err != nil {
		return err
	}
	pairs := w.keys.collect(src)
	dst.SetLen(len(pairs))
	texts := true
	for i := range pairs {
		k, v := &pairs[i].Key, &pairs[i].Value
		w.Left -= len(k.Text) + len(v.Text)
		dst.SetKeyRef(i, k.Text, k.Ref)
		if v.Text != "" {
			dst.Value(i).SetStringRef(v.Text, v.Ref)
		} else {
			texts = false
		}
	}
	if texts {
		return w.Take(0)
	}
	i := 0
	for k, v := range src.All() {
		if pairs[i].Value.Text == "" {
			if err := w.attributeValue(dst, i, k, v); err != nil {
				return err
			}
		}
		i++
	}
	return w.Take(0)
}

// firstKey returns the first key of m, if it has one.
func firstKey(m pcommon.Map) string {
	for k := range m.All() {
		return k
	}
	return ""
}

// placed gives dst attributes in the order of their keys, as find put them into the
// store.
func (w *spanWriter) placed(dst *otelstef.Attributes, src pcommon.Map, found *sortedPairs, store *pairStore) error {
	n, set := src.Len(), found.set
	if set == nil {
		return w.attributesByKey(dst, src)
	}
	if err := w.TakePairs(n); err != nil {
		return err
	}
	values := store.values[found.from:][:n]
	w.Left -= set.bytes + found.bytes
	if found.texts {
		dst.SetStrings(set.keys, values)
		return w.Take(0)
	}
	dst.SetLen(n)
	i := 0
	for _, v := range src.All() {
		place := int(store.places[found.from:][i])
		if err := w.placedValue(dst, place, &set.keys[place], &values[place], v); err != nil {
			return err
		}
		i++
	}
	return w.Take(0)
}

func (w *spanWriter) placedValue(dst *otelstef.Attributes, place int, key, text *stef.Text, v pcommon.Value) error {
	dst.SetKeyRef(place, key.Text, key.Ref)
	if text.Text != "" {
		dst.Value(place).SetStringRef(text.Text, text.Ref)
		return nil
	}
	return w.attributeValue(dst, place, key.Text, v)
}

func (w *spanWriter) events(dst *otelstef.Span, src ptrace.SpanEventSlice) error {
	n := src.Len()
	list := dst.Events()
	if err := w.Take(mapping.PartBytes * n); err != nil {
		return mapping.InField("events", err)
	}
	list.SetLen(n)
	for i := range n {
		from, to := src.At(i), list.At(i)
		name := from.Name()
		to.SetName(name)
		w.Left -= len(name)
		to.SetTimeUnixNano(uint64(from.Timestamp()))
		to.SetDroppedAttributesCount(uint64(from.DroppedAttributesCount()))
		if err := w.attributesOf(to.Attributes(), from.Attributes()); err != nil {
			return mapping.InField(fmt.Sprintf("events[%d].attributes", i), err)
		}
	}
	return nil
}

func (w *spanWriter) links(dst *otelstef.Span, src ptrace.SpanLinkSlice) error {
	n := src.Len()
	list := dst.Links()
	if err := w.Take(mapping.PartBytes * n); err != nil {
		return mapping.InField("links", err)
	}
	list.SetLen(n)
	var text mapping.IDText
	for i := range n {
		from, to := src.At(i), list.At(i)
		to.SetTraceID(w.traceID(&text, from.TraceID()))
		to.SetSpanID(w.spanID(&text, from.SpanID()))
		state := from.TraceState().AsRaw()
		to.SetTraceState(state)
		w.Left -= len(state)
		to.SetFlags(uint64(from.Flags()))
		to.SetDroppedAttributesCount(uint64(from.DroppedAttributesCount()))
		if err := w.attributesOf(to.Attributes(), from.Attributes()); err != nil {
			return mapping.InField(fmt.Sprintf("links[%d].attributes", i), err)
		}
	}
	return nil
}
