// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/template"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// Logs sets log records from log records of pdata.
type Logs struct {
	values.Copier
	// AsDelta writes the observed time as its difference from the time of the log record.
	AsDelta bool
	// Templates splits text bodies into templates and parameters.
	Templates bool
	Split     template.Splitter
	own       template.OwnWords
	// refers says that the stream can have references in attributes and structured bodies.
	refers     bool
	references references
}

// Init sets the dictionaries of the stream.
func (w *Logs) Init(dicts otelstef.LogsDicts, templates bool, f features.Set) {
	w.KeyDict, w.TextDict = dicts.AttributeKey, dicts.AnyValueString
	w.Templates, w.refers = templates && f.Templates, f.ValueReferences
	w.Split.References, w.Split.Formats, w.references.formats = f.References, f.Formats, f.Formats
}

// Reset drops what was learned from a stream.
func (w *Logs) Reset() {
	w.Split.Reset()
	w.references.reset()
}

// References reports whether the last log record may have references.
func (w *Logs) References() bool { return w.references.references() }

// Drop drops the pointers to the log records of pdata that were converted.
func (w *Logs) Drop() {
	w.Split.Begin()
	w.references.end()
}

// Record sets all fields of a log record. split is the index of its body in Split.
//
// spec: #otlp-logs
func (w *Logs) Record(dst *otelstef.LogRecord, src plog.LogRecord, split int) error {
	time, observed := uint64(src.Timestamp()), uint64(src.ObservedTimestamp())
	dst.SetTime(time)
	if w.AsDelta {
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
	if !w.refers || !w.references.begin(src) {
		return w.content(dst, src, split)
	}
	left := w.Left
	w.Refer = &w.references
	err := w.content(dst, src, split)
	w.Refer = nil
	if w.references.clash {
		w.Left = left
		return w.content(dst, src, split)
	}
	return err
}

func (w *Logs) content(dst *otelstef.LogRecord, src plog.LogRecord, split int) error {
	if err := w.body(dst.Body(), src.Body(), split); err != nil {
		return mapping.InField("body", err)
	}
	if err := w.Attributes(dst.Attributes(), src.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	return nil
}

func (w *Logs) body(dst *otelstef.LogBody, src pcommon.Value, split int) error {
	switch src.Type() {
	case pcommon.ValueTypeEmpty:
		dst.SetType(otelstef.LogBodyTypeNone)
	case pcommon.ValueTypeStr:
		if err := w.Take(len(src.Str())); err != nil {
			return err
		}
		if w.Templates {
			if b := w.Split.Body(split); b != nil {
				return w.template(dst.SetTemplate(), b)
			}
		}
		dst.SetString(src.Str())
	default:
		return w.BodyValue(dst.SetValue(), src, 0)
	}
	return nil
}

func (w *Logs) template(dst *otelstef.BodyTemplate, b *template.Body) error {
	params := dst.Params()
	found := w.Split.Params(b)
	n := len(found)
	if err := w.TakePairs(n); err != nil {
		return err
	}
	dst.SetTemplate(b.Template)
	params.SetLen(n)
	long := len(b.Text) > template.MaxHeldBody
	for i, p := range found {
		if ref := b.Ref(p); ref != "" {
			params.SetKey(i, true)
			params.SetValue(i, ref)
			continue
		}
		word := b.Text[p.From:p.To]
		params.SetKey(i, false)
		if long && params.Value(i) != word {
			word = w.own.Copy(word)
		}
		params.SetValue(i, word)
	}
	return nil
}

// ObservedSizes estimates whether observed times need fewer bytes if they are written as
// differences from the times of their log records. Log records that a Collector reads at
// once have almost the same observed time. Log records of an SDK have an observed time that
// is close to their time.
type ObservedSizes struct{ absolute, delta differences }

func (s *ObservedSizes) Add(lr plog.LogRecord) {
	observed := uint64(lr.ObservedTimestamp())
	s.absolute.add(observed)
	s.delta.add(observed - uint64(lr.Timestamp()))
}

func (s *ObservedSizes) DeltaIsSmaller() bool { return s.delta.size < s.absolute.size }

// differences estimates the size of a column of numbers. Only numbers that differ
// from the previous number are written.
type differences struct {
	value, delta uint64
	size         int // estimated size in bits
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
