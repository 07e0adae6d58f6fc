// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/schema"
)

// AppendJSON appends the canonical JSON of rec, a record of root, to dst. A nil kept
// prints all fields; otherwise only kept fields are printed, and a choice that is not
// kept is printed as none. Two records are equal if and only if their canonical JSON is
// equal:
//
//	struct    an object of all fields by their names in snake case, in the
//	          order of the schema; an absent field is null
//	oneof     {"type":"none"} or {"type":NAME,NAME:VALUE}, the name in snake case
//	multimap  [{"key":KEY,"value":VALUE},...]
//	array     [ELEMENT,...]
//	bool      true or false
//	int64     the decimal number in a string; the same for a uint64 or an enum
//	float64   {"v":"0.5","bits":"3fe0000000000000"}
//	string    a string, in which only '"' and '\' have a backslash and bytes
//	          below 0x20 are \u00xx; {"invalid_utf8_hex":HEX} if it is not UTF-8
//	bytes     lower-case hexadecimal digits in a string
//
// spec: #canonical-json
func AppendJSON(dst []byte, root *schema.Struct, kept schema.Kept, rec *Struct) ([]byte, error) {
	p := &jsonPrinter{dst: dst, kept: kept}
	p.value(&schema.Type{Kind: schema.KindStruct, Struct: root}, rec)
	return p.dst, p.err
}

type jsonPrinter struct {
	dst  []byte
	kept schema.Kept
	err  error
}

func (p *jsonPrinter) value(t *schema.Type, v any) {
	switch v := v.(type) {
	case bool:
		p.dst = strconv.AppendBool(p.dst, v)
	case int64:
		p.quoted(strconv.AppendInt(nil, v, 10))
	case uint64:
		p.quoted(strconv.AppendUint(nil, v, 10))
	case float64:
		p.dst = append(p.dst, `{"v":`...)
		p.quoted(strconv.AppendFloat(nil, v, 'g', -1, 64))
		p.dst = fmt.Appendf(p.dst, `,"bits":"%016x"}`, math.Float64bits(v))
	case string:
		p.text(v)
	case []byte:
		p.dst = appendHex(p.dst, v)
	default:
		p.composite(t, v)
	}
}

func (p *jsonPrinter) quoted(s []byte) {
	p.dst = append(append(append(p.dst, '"'), s...), '"')
}

// composite prints a value that must be of type t.
func (p *jsonPrinter) composite(t *schema.Type, v any) {
	switch v := v.(type) {
	case *Struct:
		if t.Kind == schema.KindStruct && len(v.Fields) == len(t.Struct.Fields) && len(v.Present) == len(v.Fields) {
			p.structure(t.Struct, v)
			return
		}
	case *Oneof:
		if t.Kind == schema.KindOneof && v.Choice >= 0 && v.Choice <= len(t.Struct.Fields) {
			p.oneof(t.Struct, v)
			return
		}
	case *Multimap:
		if t.Kind == schema.KindMultimap {
			p.multimap(t.Multimap, v)
			return
		}
	case *Array:
		if t.Kind == schema.KindArray {
			p.array(t.Elem, v)
			return
		}
	}
	p.err = fault(ErrSchema, "a %T is not a value of %s", v, t.Name)
}

func (p *jsonPrinter) structure(s *schema.Struct, v *Struct) {
	sep := byte('{')
	for i, f := range s.Fields[:p.kept.Of(s)] {
		p.dst = append(p.dst, sep, '"')
		p.dst = append(f.AppendJSONName(p.dst), '"', ':')
		if f.Optional && !v.Present[i] {
			p.dst = append(p.dst, "null"...)
		} else {
			p.value(&f.Type, v.Fields[i])
		}
		sep = ','
	}
	if sep == '{' {
		p.dst = append(p.dst, sep)
	}
	p.dst = append(p.dst, '}')
}

func (p *jsonPrinter) oneof(s *schema.Struct, v *Oneof) {
	if v.Choice == 0 || v.Choice > p.kept.Of(s) {
		p.dst = append(p.dst, `{"type":"none"}`...)
		return
	}
	f := s.Fields[v.Choice-1]
	p.dst = f.AppendJSONName(append(p.dst, `{"type":"`...))
	p.dst = f.AppendJSONName(append(p.dst, `","`...))
	p.dst = append(p.dst, '"', ':')
	p.value(&f.Type, v.Value)
	p.dst = append(p.dst, '}')
}

func (p *jsonPrinter) multimap(m *schema.Multimap, v *Multimap) {
	p.dst = append(p.dst, '[')
	for i, pair := range v.Pairs {
		if i > 0 {
			p.dst = append(p.dst, ',')
		}
		p.dst = append(p.dst, `{"key":`...)
		p.value(&m.Key, pair.Key)
		p.dst = append(p.dst, `,"value":`...)
		p.value(&m.Value, pair.Value)
		p.dst = append(p.dst, '}')
	}
	p.dst = append(p.dst, ']')
}

func (p *jsonPrinter) array(t *schema.Type, v *Array) {
	p.dst = append(p.dst, '[')
	for i, elem := range v.Elems {
		if i > 0 {
			p.dst = append(p.dst, ',')
		}
		p.value(t, elem)
	}
	p.dst = append(p.dst, ']')
}

func (p *jsonPrinter) text(s string) { p.dst = appendText(p.dst, s, false) }

// appendText appends a JSON string. With short escapes, line breaks and tabs are
// \n and \t; canonical JSON has \u000a and \u0009.
func appendText(dst []byte, s string, short bool) []byte {
	if !utf8.ValidString(s) {
		dst = append(dst, `{"invalid_utf8_hex":`...)
		return append(appendHex(dst, []byte(s)), '}')
	}
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case short && c == '\n':
			dst = append(dst, `\n`...)
		case short && c == '\t':
			dst = append(dst, `\t`...)
		case c < 0x20:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

func appendHex(dst, b []byte) []byte {
	return append(hex.AppendEncode(append(dst, '"'), b), '"')
}
