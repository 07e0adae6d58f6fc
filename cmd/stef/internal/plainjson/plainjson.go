// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package plainjson prints records for people and for tools such as jq: short,
// and with numbers as numbers. What must not lose anything, such as the type of
// a number, takes the canonical JSON of package dynamic instead.
//
//	struct    an object of the fields that are set, by their names in snake
//	          case: what is absent, zero or empty is left out
//	oneof     the value of its choice; null where there is none
//	multimap  an object; a list of [key, value] where keys repeat or are no
//	          strings
//	array     a list
//	integer   a number, however long
//	enum      the name, or the number where it has none; left out where that
//	          says Unspecified
//	float64   a number with a point or an exponent; "NaN", "+Inf", "-Inf"
//	string    a string; {"invalid_utf8_hex":HEX} if it is not UTF-8
//	bytes     {"bytes":HEX} as the choice of a oneof, otherwise a string of
//	          lower-case hexadecimal digits; ids that are such text already, as
//	          in the published schema, are left as they are
package plainjson

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Append appends the JSON of rec, a record of root that package dynamic read.
func Append(dst []byte, root *schema.Struct, rec *dynamic.Struct) []byte {
	return appendStruct(dst, root, rec)
}

func appendStruct(dst []byte, s *schema.Struct, v *dynamic.Struct) []byte {
	dst = append(dst, '{')
	first := true
	for i, f := range s.Fields {
		if !v.Present[i] || !f.Optional && empty(&f.Type, v.Fields[i]) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), Name(f.Name)...), '"', ':')
		if b, ok := v.Fields[i].([]byte); ok && strings.HasSuffix(f.Name, "ID") && hexadecimal(b) {
			dst = appendString(dst, string(b))
			continue
		}
		dst = appendValue(dst, &f.Type, v.Fields[i])
	}
	return append(dst, '}')
}

// empty says whether a value is initial and says nothing by that, as a kind of
// metric does.
func empty(t *schema.Type, v any) bool {
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
	case *dynamic.Struct:
		for i, f := range t.Struct.Fields {
			if v.Present[i] && (f.Optional || !empty(&f.Type, v.Fields[i])) {
				return false
			}
		}
		return true
	case *dynamic.Oneof:
		return v.Choice == 0
	case *dynamic.Multimap:
		return len(v.Pairs) == 0
	case *dynamic.Array:
		return len(v.Elems) == 0
	}
	return false
}

// hexadecimal says whether an id is the text of one.
func hexadecimal(b []byte) bool {
	if len(b) != 16 && len(b) != 32 {
		return false
	}
	for _, c := range b {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

func appendValue(dst []byte, t *schema.Type, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return appendUint(dst, t, v)
	case float64:
		return appendFloat(dst, v)
	case string:
		return appendString(dst, v)
	case []byte:
		return appendHex(dst, v)
	case *dynamic.Struct:
		return appendStruct(dst, t.Struct, v)
	case *dynamic.Oneof:
		return appendOneof(dst, t.Struct, v)
	case *dynamic.Multimap:
		return appendMultimap(dst, t.Multimap, v)
	case *dynamic.Array:
		dst = append(dst, '[')
		for i, e := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, t.Elem, e)
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}

func appendUint(dst []byte, t *schema.Type, v uint64) []byte {
	if t.Enum != nil {
		if name := nameOf(t.Enum, v); name != "" {
			return appendString(dst, name)
		}
	}
	return strconv.AppendUint(dst, v, 10)
}

// nameOf returns the name of a value, or "".
func nameOf(e *schema.Enum, value uint64) string {
	for _, v := range e.Values {
		if v.Value == value {
			return v.Name
		}
	}
	return ""
}

func appendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return appendString(dst, strconv.FormatFloat(v, 'g', -1, 64))
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	dst = append(dst, text...)
	if !strings.ContainsAny(text, ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendOneof(dst []byte, s *schema.Struct, v *dynamic.Oneof) []byte {
	if v.Choice == 0 {
		return append(dst, "null"...)
	}
	f := s.Fields[v.Choice-1]
	if b, ok := v.Value.([]byte); ok {
		dst = append(dst, `{"bytes":`...)
		return append(appendHex(dst, b), '}')
	}
	return appendValue(dst, &f.Type, v.Value)
}

func appendMultimap(dst []byte, m *schema.Multimap, v *dynamic.Multimap) []byte {
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
		dst = append(appendValue(dst, &m.Key, p.Key), between...)
		dst = append(appendValue(dst, &m.Value, p.Value), end...)
	}
	return append(dst, "]}"[btoi(object)])
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func appendHex(dst, b []byte) []byte {
	return append(hex.AppendEncode(append(dst, '"'), b), '"')
}

func appendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		dst = append(dst, `{"invalid_utf8_hex":`...)
		return append(appendHex(dst, []byte(s)), '}')
	}
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < 0x20:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// Name returns the name of a field in JSON: schema_url for SchemaURL. It is the
// same as in canonical JSON.
func Name(field string) string {
	if field == "KVList" {
		return "kvlist"
	}
	var snake []rune
	runes := []rune(field)
	for i, r := range runes {
		capital := unicode.IsUpper(r)
		// A word begins after a small letter, and at the last capital of a run.
		if i > 0 && capital && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			snake = append(snake, '_')
		}
		snake = append(snake, unicode.ToLower(r))
	}
	return string(snake)
}
