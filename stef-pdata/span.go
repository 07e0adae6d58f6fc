// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"encoding/hex"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// spanWriter sets spans of records from spans of pdata. It counts what the
// schema cannot carry.
type spanWriter struct {
	copier
	kept   spanKept
	keys   keySorter
	store  pairStore // of events and links
	losses Losses
}

// span sets all of a span but its attributes. Every field is set, so what is left of a span that
// was refused on the way does no harm.
//
// spec: #otlp-spans
func (w *spanWriter) span(dst *otelstef.Span, s ptrace.Span) error {
	var text idText
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
	if err := w.events(dst, s.Events()); err != nil {
		return err
	}
	if err := w.links(dst, s.Links()); err != nil {
		return err
	}
	message := s.Status().Message()
	dst.Status().SetMessage(message)
	dst.Status().SetCode(uint64(int64(s.Status().Code())))
	if err := w.take(len(name) + len(state) + len(message)); err != nil {
		return inField("name, trace_state or status.message", err)
	}
	w.dropped(dst, s)
	return nil
}

// dropped sets the counts of what was dropped, or counts that they are lost.
func (w *spanWriter) dropped(dst *otelstef.Span, s ptrace.Span) {
	events, links := s.DroppedEventsCount(), s.DroppedLinksCount()
	if w.kept.droppedEvents {
		dst.SetDroppedEventsCount(uint64(events))
	} else if events != 0 {
		w.losses.DroppedEvents++
	}
	if w.kept.droppedLinks {
		dst.SetDroppedLinksCount(uint64(links))
	} else if links != 0 {
		w.losses.DroppedLinks++
	}
}

// idText has room for an id as text.
type idText [32]byte

// traceID returns what the stream holds of an id: raw, or as lower-case
// hexadecimal text. Unset ids are empty.
//
// spec: #otlp-common
func (w *spanWriter) traceID(text *idText, id pcommon.TraceID) []byte {
	if id == (pcommon.TraceID{}) {
		return nil
	}
	if w.kept.rawIDs {
		return text[:copy(text[:], id[:])]
	}
	return text[:hex.Encode(text[:], id[:])]
}

// spanID is traceID for span ids.
func (w *spanWriter) spanID(text *idText, id pcommon.SpanID) []byte {
	if id == (pcommon.SpanID{}) {
		return nil
	}
	if w.kept.rawIDs {
		return text[:copy(text[:], id[:])]
	}
	return text[:hex.Encode(text[:], id[:])]
}

// pairsOf gives dst the attributes of an event or link in the order of the mode.
func (w *spanWriter) pairsOf(dst *otelstef.Attributes, src pcommon.Map) error {
	if !w.byKey || src.Len() == 0 {
		return w.attributes(dst, src)
	}
	var found sortedPairs
	w.store.reset()
	w.keys.find(&found, src, &w.store)
	return w.placed(dst, src, &found, &w.store)
}

// placed gives dst attributes in the order of their keys, as find put them into the
// store.
func (w *spanWriter) placed(dst *otelstef.Attributes, src pcommon.Map, found *sortedPairs, store *pairStore) error {
	n, set := src.Len(), found.set
	if set == nil {
		return w.attributesByKey(dst, src)
	}
	if err := w.pairs(n); err != nil {
		return err
	}
	set.refer(w.keyDict)
	values := store.values[found.from:][:n]
	w.left -= set.bytes
	for i := range values {
		w.left -= len(values[i])
	}
	if found.texts {
		dst.SetStrings(set.keys, values)
		return w.take(0)
	}
	dst.SetLen(n)
	i := 0
	for _, v := range src.All() {
		place := int(store.places[found.from:][i])
		if err := w.placedValue(dst, place, &set.keys[place], values[place], v); err != nil {
			return err
		}
		i++
	}
	return w.take(0)
}

func (w *spanWriter) placedValue(dst *otelstef.Attributes, place int, key *codec.Text, text string, v pcommon.Value) error {
	dst.SetKeyRef(place, key.Text, key.Ref)
	if text != "" {
		dst.Value(place).SetString(text)
		return nil
	}
	return w.attributeValue(dst, place, key.Text, v)
}

func (w *spanWriter) events(dst *otelstef.Span, src ptrace.SpanEventSlice) error {
	n := src.Len()
	list := dst.Events()
	if n == 0 {
		list.SetLen(0)
		return nil
	}
	if err := w.take(2 * valueBytes * n); err != nil {
		return inField("events", err)
	}
	list.SetLen(n)
	for i := range n {
		from, to := src.At(i), list.At(i)
		name := from.Name()
		to.SetName(name)
		w.left -= len(name)
		to.SetTimeUnixNano(uint64(from.Timestamp()))
		to.SetDroppedAttributesCount(uint64(from.DroppedAttributesCount()))
		if err := w.pairsOf(to.Attributes(), from.Attributes()); err != nil {
			return inField(fmt.Sprintf("events[%d].attributes", i), err)
		}
	}
	return nil
}

func (w *spanWriter) links(dst *otelstef.Span, src ptrace.SpanLinkSlice) error {
	n := src.Len()
	list := dst.Links()
	if n == 0 {
		list.SetLen(0)
		return nil
	}
	if err := w.take(2 * valueBytes * n); err != nil {
		return inField("links", err)
	}
	list.SetLen(n)
	var text idText
	for i := range n {
		from, to := src.At(i), list.At(i)
		to.SetTraceID(w.traceID(&text, from.TraceID()))
		to.SetSpanID(w.spanID(&text, from.SpanID()))
		state := from.TraceState().AsRaw()
		to.SetTraceState(state)
		w.left -= len(state)
		to.SetFlags(uint64(from.Flags()))
		to.SetDroppedAttributesCount(uint64(from.DroppedAttributesCount()))
		if err := w.pairsOf(to.Attributes(), from.Attributes()); err != nil {
			return inField(fmt.Sprintf("links[%d].attributes", i), err)
		}
	}
	return nil
}
