// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// The published schema and the full schema represent some data differently. The
// shapes in this file convert records from one schema to the other.
//
// spec: #otlp-mapping

// noRecordedValue is the OTLP data point flag that the published schema
// represents differently: as a point without a value.
const noRecordedValue = 1

// beyond reports whether a wire schema has more fields of the struct with this name than the
// published schema.
func beyond(root *stream.Root, wire schema.WireSchema, name string) (bool, error) {
	kept, err := schema.Keep(root.Wire, wire)
	if err != nil {
		return false, err
	}
	published := map[string]int{}
	for s, n := range root.Published {
		published[s.Name] = n
	}
	for s, n := range kept {
		if s.Name == name {
			return n > published[name], nil
		}
	}
	return false, nil
}

// metricsShape converts records of metrics between the schemas.
type metricsShape struct {
	fromFlags, toFlags bool // whether points of the input and of the output have the field Flags
	toEntities         bool

	flags, values, unvalued, entities uint64
}

func newMetricsShape(root *stream.Root, from, to schema.WireSchema) (_ shape[*otelstef.Metrics], err error) {
	m := &metricsShape{}
	if m.fromFlags, err = beyond(root, from, "Point"); err != nil {
		return nil, err
	}
	if m.toFlags, err = beyond(root, to, "Point"); err != nil {
		return nil, err
	}
	m.toEntities, err = beyond(root, to, "Resource")
	return m, err
}

func (m *metricsShape) reshape(rec *otelstef.Metrics) error {
	if !m.toEntities && rec.Resource().EntityRefs().Len() > 0 {
		m.entities++
	}
	p := rec.Point()
	none := p.Value().Type() == otelstef.PointValueTypeNone
	switch {
	case m.fromFlags && !m.toFlags:
		m.dropFlags(p, none)
	case !m.fromFlags && m.toFlags && none:
		p.SetFlags(p.Flags() | noRecordedValue)
	}
	for i := range p.Exemplars().Len() {
		if err := m.exemplar(p.Exemplars().At(i)); err != nil {
			return fmt.Errorf("exemplar %d: %w", i, err)
		}
	}
	return nil
}

// dropFlags replaces the flag "no recorded value" by no value, and counts what is lost. An
// exponential histogram keeps its value: the reference implementation cannot read such a
// histogram without a value.
func (m *metricsShape) dropFlags(p *otelstef.Point, none bool) {
	flagged := p.Flags()&noRecordedValue != 0
	exponential := p.Value().Type() == otelstef.PointValueTypeExpHistogram
	switch {
	case none && !flagged:
		m.unvalued++
	case flagged && !none && !exponential:
		m.values++
		p.Value().SetType(otelstef.PointValueTypeNone)
	}
	if p.Flags()&^noRecordedValue != 0 || flagged && exponential {
		m.flags++
	}
}

func (m *metricsShape) exemplar(e *otelstef.Exemplar) error {
	trace, err := traceID.raw(e.TraceID())
	if err != nil {
		return err
	}
	span, err := spanID.raw(e.SpanID())
	if err != nil {
		return err
	}
	if !m.toFlags {
		trace, span = traceID.filled(trace), spanID.filled(span)
	}
	e.SetTraceID(trace)
	e.SetSpanID(span)
	return nil
}

func (m *metricsShape) losses() []string {
	return nonzero(
		m.entities, "entity references of %d point{s}",
		m.flags, "flags of %d point{s}",
		m.values, `values of %d point{s} with the flag "no recorded value"`,
		m.unvalued, `flags of %d point{s} without a value, which now {has} the flag "no recorded value"`,
	)
}

// spansShape converts records of spans between the schemas.
type spansShape struct {
	toRaw      bool // whether the output has raw ids instead of text, and dropped counts
	toEntities bool

	counts, entities uint64
}

func newSpansShape(root *stream.Root, _, to schema.WireSchema) (_ shape[*otelstef.Spans], err error) {
	s := &spansShape{}
	if s.toRaw, err = beyond(root, to, "Span"); err != nil {
		return nil, err
	}
	s.toEntities, err = beyond(root, to, "Resource")
	return s, err
}

func (s *spansShape) reshape(rec *otelstef.Spans) error {
	if !s.toEntities && rec.Resource().EntityRefs().Len() > 0 {
		s.entities++
	}
	span := rec.Span()
	if !s.toRaw && (span.DroppedEventsCount() > 0 || span.DroppedLinksCount() > 0) {
		s.counts++
	}
	set := func(kind idKind, id []byte, to func([]byte)) error {
		changed, err := kind.raw(id)
		if err != nil {
			return err
		}
		if !s.toRaw {
			changed = hex.AppendEncode(nil, changed)
		}
		to(changed)
		return nil
	}
	if err := set(traceID, span.TraceID(), span.SetTraceID); err != nil {
		return err
	}
	if err := set(spanID, span.SpanID(), span.SetSpanID); err != nil {
		return err
	}
	if err := set(spanID, span.ParentSpanID(), span.SetParentSpanID); err != nil {
		return fmt.Errorf("parent: %w", err)
	}
	for i := range span.Links().Len() {
		link := span.Links().At(i)
		err := set(traceID, link.TraceID(), link.SetTraceID)
		if err == nil {
			err = set(spanID, link.SpanID(), link.SetSpanID)
		}
		if err != nil {
			return fmt.Errorf("link %d: %w", i, err)
		}
	}
	return nil
}

func (s *spansShape) losses() []string {
	return nonzero(
		s.entities, "entity references of %d span{s}",
		s.counts, "counts of dropped events and links of %d span{s}",
	)
}

// nonzero formats the counts that are not 0. Its arguments alternate: count,
// format, count, format. A format has {s} and {has} where 1 and other counts
// differ.
func nonzero(pairs ...any) []string {
	var texts []string
	for i := 0; i < len(pairs); i += 2 {
		if n := pairs[i].(uint64); n > 0 {
			words := plural
			if n == 1 {
				words = singular
			}
			texts = append(texts, fmt.Sprintf(words.Replace(pairs[i+1].(string)), n))
		}
	}
	return texts
}

var (
	singular = strings.NewReplacer("{s}", "", "{has}", "has")
	plural   = strings.NewReplacer("{s}", "s", "{has}", "have")
)
