// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/otelstef/stef/stef-go/schema"
)

// normalizer prepares records for the encoder: it checks that they have the types of the schema and stay
// within the limits, and returns normalized copies. In a copy, fields that are not kept have their
// initial value, choices that are not kept are none, and absent fields are nil. A copy shares strings and
// bytes with the original.
//
// spec: #evolution
type normalizer struct {
	kept     schema.Kept
	maxBytes int
	// recursive has the identities of the types whose values add to depth.
	recursive map[any]bool
	depth     int
	// entries is the total size of the dictionary entries that the record would add. If seen is not nil,
	// entries of equal values count only once.
	entries int64
	seen    map[string]bool
}

func (f *normalizer) normalize(t *schema.Type, path string, v any) (any, error) {
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

// counts reports whether v adds a level to the depth of the values in it. The decoder uses the same rule.
func (f *normalizer) counts(t *schema.Type, v any) bool {
	if !f.recursive[identity(t)] {
		return false
	}
	if o, ok := v.(*Oneof); ok && o != nil {
		return o.Choice > 0 && o.Choice <= f.kept.Of(t.Struct) && t.Struct.Fields[o.Choice-1].Type.Kind.Composite()
	}
	return true
}

func (f *normalizer) structure(s *schema.Struct, path string, v *Struct) (*Struct, error) {
	if len(v.Fields) != len(s.Fields) || len(v.Present) != len(s.Fields) {
		return nil, fault(ErrSchema, "%s: the value has %d fields and %d presence entries, but %s has %d fields",
			path, len(v.Fields), len(v.Present), s.Name, len(s.Fields))
	}
	normalized := NewStruct(s)
	for i, field := range s.Fields[:f.kept.Of(s)] {
		normalized.Present[i] = !field.Optional || v.Present[i]
		if !normalized.Present[i] {
			normalized.Fields[i] = nil
			continue
		}
		value, err := f.normalize(&field.Type, path+"."+field.Name, v.Fields[i])
		if err != nil {
			return nil, err
		}
		normalized.Fields[i] = value
	}
	normalized.measure(s)
	if s.Dict != "" && (f.seen == nil || f.first(s.Dict, normalized)) {
		f.entries += int64(entryStruct + normalized.entry)
	}
	return normalized, f.check(path, normalized.size)
}

// text adds the size of a string or bytes value to entries, if the value belongs to a dictionary.
func (f *normalizer) text(dict string, v any) {
	if size := entryOfText(v); dict != "" && size >= entryText+minDictText && (f.seen == nil || f.first(dict, v)) {
		f.entries += int64(size)
	}
}

// first reports whether the value v of a dictionary occurs for the first time. Only then is it counted.
func (f *normalizer) first(dict string, v any) bool {
	key := string(appendKey(append([]byte(dict), 0), v))
	first := !f.seen[key]
	f.seen[key] = true
	return first
}

func (f *normalizer) oneof(s *schema.Struct, path string, v *Oneof) (*Oneof, error) {
	if v.Choice < 0 || v.Choice > len(s.Fields) {
		return nil, fault(ErrSchema, "%s: the value has choice %d, but %s has %d choices", path, v.Choice, s.Name, len(s.Fields))
	}
	normalized := &Oneof{}
	if v.Choice == 0 || v.Choice > f.kept.Of(s) {
		normalized.measure()
		return normalized, nil
	}
	field := s.Fields[v.Choice-1]
	value, err := f.normalize(&field.Type, path+"."+field.Name, v.Value)
	if err != nil {
		return nil, err
	}
	normalized.Choice, normalized.Value = v.Choice, value
	normalized.measure()
	return normalized, f.check(path, normalized.size)
}

func (f *normalizer) multimap(m *schema.Multimap, path string, v *Multimap) (*Multimap, error) {
	if len(v.Pairs) > MaxPairs {
		return nil, fault(ErrLimit, "%s: the multimap has %d pairs, the limit is %d", path, len(v.Pairs), MaxPairs)
	}
	normalized := &Multimap{Pairs: make([]Pair, len(v.Pairs))}
	for i, p := range v.Pairs {
		var err error
		if normalized.Pairs[i].Key, err = f.normalize(&m.Key, path+".key", p.Key); err != nil {
			return nil, err
		}
		if normalized.Pairs[i].Value, err = f.normalize(&m.Value, path+".value", p.Value); err != nil {
			return nil, err
		}
	}
	normalized.measure()
	return normalized, f.check(path, normalized.size)
}

func (f *normalizer) array(elem *schema.Type, path string, v *Array) (*Array, error) {
	normalized := &Array{Elems: make([]any, len(v.Elems))}
	for i, e := range v.Elems {
		var err error
		if normalized.Elems[i], err = f.normalize(elem, path+"[]", e); err != nil {
			return nil, err
		}
	}
	normalized.measure()
	return normalized, f.check(path, normalized.size)
}

// check returns an error if the size of a value exceeds the limit of a record. The error has the path of
// the innermost such value, because values are checked before the values that contain them.
func (f *normalizer) check(path string, size int) error {
	if size > f.maxBytes {
		return fault(ErrLimit, "%s: the record takes more than %d bytes", path, f.maxBytes)
	}
	return nil
}
