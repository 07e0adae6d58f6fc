// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"math/bits"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// logWriter sets log records from those of pdata.
type logWriter struct {
	copier
	kept features.Set
	// asDelta writes the observed time as the distance to the time.
	asDelta bool
	// templates takes text bodies apart.
	templates bool
	split     splitter
	own       ownWords
}

// record sets all of a log record.
//
// spec: #otlp-logs
func (w *logWriter) record(dst *otelstef.LogRecord, src plog.LogRecord, split int) error {
	time, observed := uint64(src.Timestamp()), uint64(src.ObservedTimestamp())
	dst.SetTime(time)
	if w.asDelta {
		dst.SetObservedDelta(int64(observed - time))
	} else {
		dst.UnsetObservedDelta()
		dst.SetObservedTime(observed)
	}
	dst.SetSeverityNumber(uint64(int64(src.SeverityNumber())))
	dst.SetSeverityText(src.SeverityText())
	dst.SetEventName(src.EventName())
	if err := w.Take(len(src.SeverityText()) + len(src.EventName())); err != nil {
		return mapping.InField("severity_text or event_name", err)
	}
	if id := src.TraceID(); id == (pcommon.TraceID{}) {
		dst.SetTraceID(nil)
	} else {
		dst.SetTraceID(id[:])
	}
	if id := src.SpanID(); id == (pcommon.SpanID{}) {
		dst.SetSpanID(nil)
	} else {
		dst.SetSpanID(id[:])
	}
	dst.SetFlags(uint64(src.Flags()))
	dst.SetDroppedAttributesCount(uint64(src.DroppedAttributesCount()))
	if err := w.body(dst.Body(), src.Body(), split); err != nil {
		return mapping.InField("body", err)
	}
	if err := w.attributes(dst.Attributes(), src.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	return nil
}

func (w *logWriter) body(dst *otelstef.LogBody, src pcommon.Value, split int) error {
	switch src.Type() {
	case pcommon.ValueTypeEmpty:
		dst.SetType(otelstef.LogBodyTypeNone)
	case pcommon.ValueTypeStr:
		if err := w.Take(len(src.Str())); err != nil {
			return err
		}
		if w.templates && w.split.bodies[split].shape != nil {
			return w.template(dst.SetTemplate(), &w.split.bodies[split])
		}
		dst.SetString(src.Str())
	default:
		return w.bodyValue(dst.SetValue(), src, 0)
	}
	return nil
}

// template sets a text as a template and parameters.
func (w *logWriter) template(dst *otelstef.BodyTemplate, b *splitBody) error {
	params := dst.Params()
	n := int(b.to - b.from)
	if err := w.TakePairs(n); err != nil {
		return err
	}
	dst.SetTemplate(b.template)
	params.SetLen(n)
	long := len(b.text) > maxHeldBody
	for i, p := range w.split.params[b.from:b.to] {
		word := b.text[p.from:p.to]
		if long && params.Value(i) != word {
			word = w.own.copy(word)
		}
		params.SetValue(i, word)
	}
	return nil
}

// ownWords gives words memory that only such words share. Those of short bodies
// stay where they are.
type ownWords struct{ text strings.Builder }

// maxHeldBody is what may stay in memory for a word that a record holds. A record
// has stef.MaxPairs words at most, each of another body.
const maxHeldBody = 2 << 10

// copy returns a word in other memory.
func (w *ownWords) copy(word string) string {
	if w.text.Cap()-w.text.Len() < len(word) {
		w.text.Reset()
		w.text.Grow(maxHeldBody)
	}
	from := w.text.Len()
	w.text.WriteString(word)
	return w.text.String()[from:]
}

// observedSizes estimates whether the observed times of log records are smaller
// as distances to their times: those of a poll are alike, those of an SDK follow
// the time.
type observedSizes struct{ absolute, delta differences }

func (s *observedSizes) add(lr plog.LogRecord) {
	observed := uint64(lr.ObservedTimestamp())
	s.absolute.add(observed)
	s.delta.add(observed - uint64(lr.Timestamp()))
}

func (s *observedSizes) deltaIsSmaller() bool { return s.delta.size < s.absolute.size }

// differences estimates the size of a column of numbers, of which only those
// that differ from the one before are written.
type differences struct {
	value, delta uint64
	size         int // in bits
}

func (d *differences) add(v uint64) {
	if v == d.value {
		return
	}
	delta := v - d.value
	change := int64(delta - d.delta)
	d.size += bits.Len64(uint64(change<<1^change>>63)) + 4
	d.value, d.delta = v, delta
}
