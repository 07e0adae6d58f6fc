// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// Spans sets spans of records from spans of pdata. It counts the content that the
// schema cannot carry.
type Spans struct {
	values.Copier
	features features.Set
	Keys     intern.KeySorter
	store    intern.PairStore // attributes of events and links
	held     *intern.KeySet   // the keys of the attributes of the record's span, or nil
	losses   *mapping.Losses
}

// Init sets the dictionaries and features of the stream and where to count losses.
func (w *Spans) Init(dicts otelstef.SpansDicts, f features.Set, losses *mapping.Losses) {
	w.features, w.losses, w.held = f, losses, nil
	w.KeyDict, w.TextDict = dicts.AttributeKey, dicts.AnyValueString
	w.Keys.Init(w.KeyDict, w.TextDict)
}

// Span sets all fields of a span except its attributes. It thereby overwrites the fields
// of an earlier span that was rejected halfway.
//
// spec: #otlp-spans
func (w *Spans) Span(dst *otelstef.Span, s ptrace.Span) error {
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

// dropped sets the counts of dropped events and links, or counts them as losses.
func (w *Spans) dropped(dst *otelstef.Span, s ptrace.Span) {
	events, links := s.DroppedEventsCount(), s.DroppedLinksCount()
	if w.features.DroppedEvents {
		dst.SetDroppedEventsCount(uint64(events))
	} else if events != 0 {
		w.losses.DroppedEvents++
	}
	if w.features.DroppedLinks {
		dst.SetDroppedLinksCount(uint64(links))
	} else if links != 0 {
		w.losses.DroppedLinks++
	}
}

// traceID encodes an id as the stream holds it: as bytes or as hexadecimal text. It stores the
// result in text.
func (w *Spans) traceID(text *mapping.IDText, id pcommon.TraceID) []byte {
	return mapping.EncodeTraceID(text, id, w.features.RawIDs)
}

// spanID is like traceID, but for span ids.
func (w *Spans) spanID(text *mapping.IDText, id pcommon.SpanID) []byte {
	return mapping.EncodeSpanID(text, id, w.features.RawIDs)
}

// partContext is the context of the attributes of events and links for KeySorter.Find. No name
// of a span has this context, because names count from 1.
const partContext = 0

// AttributesOf sets dst to the attributes of a span, event or link. They are sorted by key if
// ByKey is set, otherwise they keep their order.
func (w *Spans) AttributesOf(dst *otelstef.Attributes, src pcommon.Map) error {
	left := w.Left
	if err := w.attributesOf(dst, src); err != nil {
		return values.Locate(src, left, err)
	}
	return nil
}

func (w *Spans) attributesOf(dst *otelstef.Attributes, src pcommon.Map) error {
	n := src.Len()
	if w.ByKey && n > 0 {
		var found intern.SortedPairs
		w.store.Reset()
		w.Keys.Find(&found, src, &w.store, partContext)
		return w.placed(dst, src, &found, &w.store, false)
	}
	if n < 2 || n > intern.MaxSetKeys || dst.Len() > 0 && dst.Key(0) == firstKey(src) {
		return w.Attributes(dst, src)
	}
	return w.otherAttributes(dst, src)
}

// otherAttributes sets dst to the attributes of src, in their original order. If the keys of
// dst differ from those of src, it is faster than Attributes.
func (w *Spans) otherAttributes(dst *otelstef.Attributes, src pcommon.Map) error {
	if err := w.TakePairs(src.Len()); err != nil {
		return err
	}
	pairs := w.Keys.Collect(src)
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
			if err := w.AttributeValue(dst, i, k, v); err != nil {
				return err
			}
		}
		i++
	}
	return w.Take(0)
}

// firstKey returns the first key of m, or "" if m is empty.
func firstKey(m pcommon.Map) string {
	for k := range m.All() {
		return k
	}
	return ""
}

// Placed sets dst to the attributes of src in the order of their keys. KeySorter.Find has
// added them to the store. Every call must pass the same dst: the attributes of the record's span.
func (w *Spans) Placed(dst *otelstef.Attributes, src pcommon.Map, found *intern.SortedPairs, store *intern.PairStore) error {
	// Consecutive spans often have the same keys.
	known := found.Set != nil && w.held == found.Set && dst.Len() == len(found.Set.Keys)
	left := w.Left
	err := w.placed(dst, src, found, store, known)
	if w.held = found.Set; err != nil {
		w.held = nil
		return values.Locate(src, left, err)
	}
	return nil
}

// placed is like Placed, but for any dst. If known is true, dst already has the keys of found,
// and placed sets only the values.
func (w *Spans) placed(dst *otelstef.Attributes, src pcommon.Map, found *intern.SortedPairs, store *intern.PairStore, known bool) error {
	n, set := src.Len(), found.Set
	if set == nil {
		return w.AttributesByKey(dst, src)
	}
	if err := w.TakePairs(n); err != nil {
		return err
	}
	from, to := int(found.From), int(found.From)+n
	values := store.Values[from:to]
	w.Left -= set.Bytes + found.Bytes
	if found.Kinds == intern.Text && !known {
		dst.SetStrings(set.Keys, values)
		return w.Take(0)
	}
	dst.SetLen(n)
	if !known {
		for i := range set.Keys {
			key := &set.Keys[i]
			dst.SetKeyRef(i, key.Text, key.Ref)
		}
	}
	types := store.Types[from:to][:len(values)]
	for i := range values {
		v := &values[i]
		switch types[i] {
		case otelstef.AnyValueTypeString:
			dst.Value(i).SetStringRef(v.Text, v.Ref)
		case otelstef.AnyValueTypeInt64:
			dst.Value(i).SetInt64(int64(v.Ref))
		case otelstef.AnyValueTypeFloat64:
			dst.Value(i).SetFloat64(math.Float64frombits(uint64(v.Ref)))
		case otelstef.AnyValueTypeBool:
			dst.Value(i).SetBool(v.Ref != 0)
		case otelstef.AnyValueTypeNone:
			dst.Value(i).SetType(otelstef.AnyValueTypeNone)
		}
	}
	if found.Kinds&^intern.Scalars != 0 {
		return w.composites(dst, src, set.Keys, store.Places[found.From:])
	}
	return w.Take(0)
}

// composites sets the values that are not scalars.
func (w *Spans) composites(dst *otelstef.Attributes, src pcommon.Map, keys []stef.Text, places []uint8) error {
	i := 0
	for _, v := range src.All() {
		switch v.Type() {
		case pcommon.ValueTypeBytes, pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
			place := int(places[i])
			if err := w.AttributeValue(dst, place, keys[place].Text, v); err != nil {
				return err
			}
		}
		i++
	}
	return w.Take(0)
}

func (w *Spans) events(dst *otelstef.Span, src ptrace.SpanEventSlice) error {
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
		if err := w.AttributesOf(to.Attributes(), from.Attributes()); err != nil {
			return mapping.InField(fmt.Sprintf("events[%d].attributes", i), err)
		}
	}
	return nil
}

func (w *Spans) links(dst *otelstef.Span, src ptrace.SpanLinkSlice) error {
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
		if err := w.AttributesOf(to.Attributes(), from.Attributes()); err != nil {
			return mapping.InField(fmt.Sprintf("links[%d].attributes", i), err)
		}
	}
	return nil
}
