// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import "strings"

// placeholder stands for a parameter in the text of a BodyTemplate.
const placeholder = "\x00"

// Observed returns the time at which the event was observed, in Unix nanoseconds: Time plus
// ObservedDelta if the record has ObservedDelta, otherwise ObservedTime.
//
// spec: #otlp-logs
func (s *LogRecord) Observed() uint64 {
	if s.HasObservedDelta() {
		return s.Time() + uint64(s.ObservedDelta())
	}
	return s.ObservedTime()
}

// Text returns the text of a body of any form: String, Template, or a Value that is text.
// ok is false if there is no body or if the body is not text. It is also false if the numbers
// of placeholders and parameters of a template differ. The text of a template is allocated;
// use AppendText to avoid the allocation. The method String prints a Template as JSON. Text of a
// String body that NextBorrowing read is valid until the next call of NextBorrowing.
//
// spec: #otlp-logs
func (v *LogBody) Text() (text string, ok bool) {
	switch v.Type() {
	case LogBodyTypeString:
		return v.Str(), true
	case LogBodyTypeTemplate:
		b, ok := v.Template().AppendText(nil)
		return string(b), ok
	case LogBodyTypeValue:
		if v.Value().Type() == BodyValueTypeString {
			return v.Value().Str(), true
		}
	}
	return "", false
}

// AppendText appends to dst what Text returns. If ok is false, it returns dst.
func (v *LogBody) AppendText(dst []byte) (text []byte, ok bool) {
	if v.Type() == LogBodyTypeTemplate {
		return v.Template().AppendText(dst)
	}
	s, ok := v.Text()
	return append(dst, s...), ok
}

// AppendText appends to dst the text that the template and its parameters stand for.
// If the template does not have as many placeholders as there are parameters, it
// returns dst and false.
//
// spec: #otlp-logs
func (s *BodyTemplate) AppendText(dst []byte) (text []byte, ok bool) {
	rest, params := s.Template(), s.Params()
	text = dst
	for i := range params.Len() {
		before, after, found := strings.Cut(rest, placeholder)
		if !found {
			return dst, false
		}
		text = append(append(text, before...), params.Value(i)...)
		rest = after
	}
	if strings.Contains(rest, placeholder) {
		return dst, false
	}
	return append(text, rest...), true
}
