// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/schema"
)

// AppendPlainJSON appends the JSON of rec, a record of root that a Reader read, to
// dst. The result is short, for human readers and for tools such as jq. Use
// AppendJSON to keep everything, such as the type of a number.
//
//	struct    an object of the fields that are set, by the names that they have
//	          in canonical JSON; it omits absent optional fields, and other
//	          fields that are zero or empty
//	oneof     the value of its choice, without the name of the choice; null if there
//	          is none
//	multimap  an object; a list of [key, value] if keys repeat, are not strings or
//	          are not UTF-8
//	array     a list
//	integer   a number, however long
//	enum      the name, or the number if it has none; 0 is omitted if the field is
//	          not optional and 0 has no name or the name Unspecified
//	float64   a number with a point or an exponent; "NaN", "+Inf", "-Inf"
//	string    a string; {"invalid_utf8_hex":HEX} if it is not UTF-8
//	bytes     {"bytes":HEX} as the choice of a oneof, otherwise a string of
//	          lower-case hexadecimal digits. Ids that already are such digits, as
//	          in the published schema, are printed as they are: 32 digits in a
//	          field named ...TraceID, or 16 digits in a field named ...SpanID
func AppendPlainJSON(dst []byte, root *schema.Struct, rec *Struct) []byte {
	return plainJSON{}.structure(dst, root, rec)
}

// AppendZerosJSON is like AppendPlainJSON, but also prints fields that are not optional if
// they are zero or empty. Use it for tools that convert the fields to columns: they
// treat a missing field as unknown, and exclude it from a mean or a comparison.
func AppendZerosJSON(dst []byte, root *schema.Struct, rec *Struct) []byte {
	return plainJSON{zeros: true}.structure(dst, root, rec)
}

// plainJSON prints values. zeros is set for AppendZerosJSON.
type plainJSON struct{ zeros bool }

func (j plainJSON) structure(dst []byte, s *schema.Struct, v *Struct) []byte {
	dst = append(dst, '{')
	first := true
	for i, f := range s.Fields {
		if !v.Present[i] || !f.Optional && !j.zeros && plainEmpty(&f.Type, v.Fields[i]) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(f.AppendJSONName(append(dst, '"')), '"', ':')
		if b, ok := v.Fields[i].([]byte); ok && hexadecimal(f.Name, b) {
			dst = appendText(dst, string(b), true)
			continue
		}
		dst = j.value(dst, &f.Type, v.Fields[i])
	}
	return append(dst, '}')
}

// plainEmpty reports whether AppendPlainJSON omits v because v is the initial value. It returns false for
// 0 of an enum in which 0 has a name other than Unspecified: for example, the kind 0 is printed as Gauge.
func plainEmpty(t *schema.Type, v any) bool {
	switch v := v.(type) {
	case bool:
		return !v
	case int64:
		return v == 0
	case uint64:
		return v == 0 && (t.Enum == nil || nameOf(t.Enum, 0) == "" || nameOf(t.Enum, 0) == "Unspecified")
	case float64:
		return math.Float64bits(v) == 0
	case string:
		return v == ""
	case []byte:
		return len(v) == 0
	case *Struct:
		for i, f := range t.Struct.Fields {
			if v.Present[i] && (f.Optional || !plainEmpty(&f.Type, v.Fields[i])) {
				return false
			}
		}
		return true
	case *Oneof:
		return v.Choice == 0
	case *Multimap:
		return len(v.Pairs) == 0
	case *Array:
		return len(v.Elems) == 0
	}
	return false
}

// hexadecimal reports whether a field is an id that is already hexadecimal text. A field is such text
// only if it has the length that text ids of its name have. Without this rule, the 16 bytes of a binary
// trace id could be taken for digits by chance.
func hexadecimal(field string, b []byte) bool {
	trace := len(b) == 32 && strings.HasSuffix(field, "TraceID")
	span := len(b) == 16 && strings.HasSuffix(field, "SpanID")
	return (trace || span) && len(bytes.Trim(b, "0123456789abcdef")) == 0
}

func (j plainJSON) value(dst []byte, t *schema.Type, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return plainUint(dst, t, v)
	case float64:
		return plainFloat(dst, v)
	case string:
		return appendText(dst, v, true)
	case []byte:
		return appendHex(dst, v)
	case *Struct:
		return j.structure(dst, t.Struct, v)
	case *Oneof:
		return j.oneof(dst, t.Struct, v)
	case *Multimap:
		return j.multimap(dst, t.Multimap, v)
	case *Array:
		dst = append(dst, '[')
		for i, e := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = j.value(dst, t.Elem, e)
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}

func plainUint(dst []byte, t *schema.Type, v uint64) []byte {
	if t.Enum != nil {
		if name := nameOf(t.Enum, v); name != "" {
			return appendText(dst, name, true)
		}
	}
	return strconv.AppendUint(dst, v, 10)
}

// nameOf returns the name of an enum value, or "" if the value has no name.
func nameOf(e *schema.Enum, value uint64) string {
	for _, v := range e.Values {
		if v.Value == value {
			return v.Name
		}
	}
	return ""
}

func plainFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return appendText(dst, strconv.FormatFloat(v, 'g', -1, 64), true)
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	dst = append(dst, text...)
	if !strings.ContainsAny(text, ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

func (j plainJSON) oneof(dst []byte, s *schema.Struct, v *Oneof) []byte {
	if v.Choice == 0 {
		return append(dst, "null"...)
	}
	f := s.Fields[v.Choice-1]
	if b, ok := v.Value.([]byte); ok {
		dst = append(dst, `{"bytes":`...)
		return append(appendHex(dst, b), '}')
	}
	return j.value(dst, &f.Type, v.Value)
}

func (j plainJSON) multimap(dst []byte, m *schema.Multimap, v *Multimap) []byte {
	object := m.Key.Kind == schema.KindString
	seen := make(map[any]bool, len(v.Pairs))
	for _, p := range v.Pairs {
		key, _ := p.Key.(string)
		object = object && !seen[key] && utf8.ValidString(key)
		seen[key] = true
	}
	begin, between, end := "[", ",", "]"
	if object {
		begin, between, end = "", ":", ""
	}
	dst = append(dst, "[{"[btoi(object)])
	for i, p := range v.Pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, begin...)
		dst = append(j.value(dst, &m.Key, p.Key), between...)
		dst = append(j.value(dst, &m.Value, p.Value), end...)
	}
	return append(dst, "]}"[btoi(object)])
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
