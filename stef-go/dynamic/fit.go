// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/otelstef/stef/stef-go/schema"
)

// fitter prepares records for the encoder: it checks that they have the types of the
// schema and stay within the limits, and returns normalized copies. In a copy, fields that are
// not kept have their initial value, choices that are not kept are none, and absent fields are
// nil. A copy shares strings and bytes with the original.
//
// spec: #evolution
type fitter struct {
	kept     schema.Kept
	maxBytes int
	// recursive has the identities of the types whose values add to depth.
	recursive map[any]bool
	depth     int
	// entries is the size of the dictionary entries of a record. Entries of equal values count
	// once if seen is not nil.
	entries int64
	seen    map[string]bool
}

func (f *fitter) fit(t *schema.Type, path string, v any) (any, error) {
	if f.counts(t, v) {
		f.depth++
		defer func() { f.depth-- }()
		if f.depth > MaxDepth {
			return nil, fault(ErrLimit, "%s: values are nested deeper than %d levels: an array or multimap in a struct or oneof counts as two levels", path, MaxDepth)
		}
	}
	ok := false
	switch t.Kind {
	case schema.KindBool:
		_, ok = v.(bool)
	case schema.KindInt64:
		_, ok = v.(int64)
	case schema.KindUint64, schema.KindEnum:
		_, ok = v.(uint64)
	case schema.KindFloat64:
		_, ok = v.(float64)
	case schema.KindString:
		var s string
		if s, ok = v.(string); ok {
			f.text(t.Dict, s)
			if err := f.check(path, len(s)); err != nil {
				return nil, err
			}
		}
	case schema.KindBytes:
		var b []byte
		if b, ok = v.([]byte); ok {
			f.text(t.Dict, b)
			if err := f.check(path, len(b)); err != nil {
				return nil, err
			}
		}
	case schema.KindStruct:
		if s, ok := v.(*Struct); ok && s != nil {
			return asAny(f.structure(t.Struct, path, s))
		}
	case schema.KindOneof:
		if o, ok := v.(*Oneof); ok && o != nil {
			return asAny(f.oneof(t.Struct, path, o))
		}
	case schema.KindMultimap:
		if m, ok := v.(*Multimap); ok && m != nil {
			return asAny(f.multimap(t.Multimap, path, m))
		}
	case schema.KindArray:
		if a, ok := v.(*Array); ok && a != nil {
			return asAny(f.array(t.Elem, path, a))
		}
	}
	if !ok {
		return nil, fault(ErrSchema, "%s: the value is of type %T, must be %s", path, v, goType(t.Kind))
	}
	return v, nil
}

// counts reports whether v adds a level to the depth of its contents. The decoder uses
// the same rule.
func (f *fitter) counts(t *schema.Type, v any) bool {
	if !f.recursive[identity(t)] {
		return false
	}
	if o, ok := v.(*Oneof); ok && o != nil {
		return o.Choice > 0 && o.Choice <= f.kept.Of(t.Struct) && t.Struct.Fields[o.Choice-1].Type.Kind.Composite()
	}
	return true
}

func (f *fitter) structure(s *schema.Struct, path string, v *Struct) (*Struct, error) {
	if len(v.Fields) != len(s.Fields) || len(v.Present) != len(s.Fields) {
		return nil, fault(ErrSchema, "%s: the value has %d fields and %d presence entries, but %s has %d fields",
			path, len(v.Fields), len(v.Present), s.Name, len(s.Fields))
	}
	fit := NewStruct(s)
	for i, field := range s.Fields[:f.kept.Of(s)] {
		fit.Present[i] = !field.Optional || v.Present[i]
		if !fit.Present[i] {
			fit.Fields[i] = nil
			continue
		}
		value, err := f.fit(&field.Type, path+"."+field.Name, v.Fields[i])
		if err != nil {
			return nil, err
		}
		fit.Fields[i] = value
	}
	fit.measure(s)
	if s.Dict != "" && (f.seen == nil || f.first(s.Dict, fit)) {
		f.entries += int64(entryStruct + fit.entry)
	}
	return fit, f.check(path, fit.size)
}

// text counts an entry of the dictionary for a string or bytes value, if it has a dictionary.
func (f *fitter) text(dict string, v any) {
	if size := entryOfText(v); dict != "" && size >= entryText+minDictText && (f.seen == nil || f.first(dict, v)) {
		f.entries += int64(size)
	}
}

// first reports whether the value v of a dictionary was not seen before, so that it is counted only
// once.
func (f *fitter) first(dict string, v any) bool {
	key := string(appendKey(append([]byte(dict), 0), v))
	first := !f.seen[key]
	f.seen[key] = true
	return first
}

func (f *fitter) oneof(s *schema.Struct, path string, v *Oneof) (*Oneof, error) {
	if v.Choice < 0 || v.Choice > len(s.Fields) {
		return nil, fault(ErrSchema, "%s: the value has choice %d, but %s has %d choices", path, v.Choice, s.Name, len(s.Fields))
	}
	fit := &Oneof{}
	if v.Choice == 0 || v.Choice > f.kept.Of(s) {
		fit.measure()
		return fit, nil
	}
	field := s.Fields[v.Choice-1]
	value, err := f.fit(&field.Type, path+"."+field.Name, v.Value)
	if err != nil {
		return nil, err
	}
	fit.Choice, fit.Value = v.Choice, value
	fit.measure()
	return fit, f.check(path, fit.size)
}

func (f *fitter) multimap(m *schema.Multimap, path string, v *Multimap) (*Multimap, error) {
	if len(v.Pairs) > MaxPairs {
		return nil, fault(ErrLimit, "%s: the multimap has %d pairs, the limit is %d", path, len(v.Pairs), MaxPairs)
	}
	fit := &Multimap{Pairs: make([]Pair, len(v.Pairs))}
	for i, p := range v.Pairs {
		var err error
		if fit.Pairs[i].Key, err = f.fit(&m.Key, path+".key", p.Key); err != nil {
			return nil, err
		}
		if fit.Pairs[i].Value, err = f.fit(&m.Value, path+".value", p.Value); err != nil {
			return nil, err
		}
	}
	fit.measure()
	return fit, f.check(path, fit.size)
}

func (f *fitter) array(elem *schema.Type, path string, v *Array) (*Array, error) {
	fit := &Array{Elems: make([]any, len(v.Elems))}
	for i, e := range v.Elems {
		var err error
		if fit.Elems[i], err = f.fit(elem, path+"[]", e); err != nil {
			return nil, err
		}
	}
	fit.measure()
	return fit, f.check(path, fit.size)
}

// check returns an error if a value alone exceeds the limit of a record. The path is that of the innermost
// such value, because values are checked before the values that contain them.
func (f *fitter) check(path string, size int) error {
	if size > f.maxBytes {
		return fault(ErrLimit, "%s: the record takes more than %d bytes", path, f.maxBytes)
	}
	return nil
}
