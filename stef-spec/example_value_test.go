// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// parseRecord applies a record line of an example to the record before it.
func parseRecord(root *schema.Struct, held *dynamic.Struct, line string) (*dynamic.Struct, error) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return toStruct(root, held, v)
}

// toStruct returns held with the values of v for the fields that v names.
func toStruct(s *schema.Struct, held *dynamic.Struct, v any) (*dynamic.Struct, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is no object", v)
	}
	out := dynamic.NewStruct(s)
	copy(out.Fields, held.Fields)
	copy(out.Present, held.Present)
	seen := 0
	for i, f := range s.Fields {
		given, ok := fields[f.Name]
		if !ok {
			continue
		}
		seen++
		if f.Optional && given == nil {
			out.Present[i] = false
			continue
		}
		base := out.Fields[i]
		if !out.Present[i] {
			base = dynamic.NewValue(&f.Type)
		}
		value, err := toValue(&f.Type, base, given)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", s.Name, f.Name, err)
		}
		out.Fields[i], out.Present[i] = value, true
	}
	if seen != len(fields) {
		return nil, fmt.Errorf("%v: %s lacks some of these fields", v, s.Name)
	}
	return out, nil
}

func toValue(t *schema.Type, held, v any) (any, error) {
	switch t.Kind {
	case schema.KindStruct:
		return toStruct(t.Struct, held.(*dynamic.Struct), v)
	case schema.KindOneof:
		return toOneof(t.Struct, held.(*dynamic.Oneof), v)
	case schema.KindArray:
		return toArray(t, v)
	case schema.KindMultimap:
		return toMultimap(t.Multimap, v)
	}
	switch v := v.(type) {
	case bool:
		if t.Kind == schema.KindBool {
			return v, nil
		}
	case json.Number:
		return toNumber(t.Kind, v.String())
	case string:
		switch t.Kind {
		case schema.KindString:
			return v, nil
		case schema.KindBytes:
			return toBytes(v)
		case schema.KindFloat64:
			return toFloat(v)
		}
	}
	return nil, fmt.Errorf("%v is no %s", v, t.Kind)
}

func toNumber(kind schema.Kind, text string) (any, error) {
	switch kind {
	case schema.KindInt64:
		return strconv.ParseInt(text, 10, 64)
	case schema.KindUint64, schema.KindEnum:
		return strconv.ParseUint(text, 10, 64)
	case schema.KindFloat64:
		return strconv.ParseFloat(text, 64)
	}
	return nil, fmt.Errorf("%s is no %s", text, kind)
}

func toFloat(text string) (any, error) {
	if bits, ok := strings.CutPrefix(text, "bits:"); ok {
		u, err := strconv.ParseUint(bits, 16, 64)
		return math.Float64frombits(u), err
	}
	return strconv.ParseFloat(text, 64)
}

func toBytes(text string) (any, error) {
	if digits, ok := strings.CutPrefix(text, "hex:"); ok {
		return hex.DecodeString(digits)
	}
	return []byte(text), nil
}

// toOneof returns a oneof with the choice that v names. If held has the same choice, v may omit
// fields: they keep their values in held.
func toOneof(s *schema.Struct, held *dynamic.Oneof, v any) (any, error) {
	if v == nil {
		return &dynamic.Oneof{}, nil
	}
	given, _ := v.(map[string]any)
	if len(given) != 1 {
		return nil, fmt.Errorf("%v is no object with one name", v)
	}
	for i, f := range s.Fields {
		value, ok := given[f.Name]
		if !ok {
			continue
		}
		base := dynamic.NewValue(&f.Type)
		if held.Choice == i+1 {
			base = held.Value
		}
		value, err := toValue(&f.Type, base, value)
		return &dynamic.Oneof{Choice: i + 1, Value: value}, err
	}
	return nil, fmt.Errorf("%v: %s has no such choice", v, s.Name)
}

// toList returns the elements of an array or the pairs of a multimap. Instead of a list, the
// input may be one value with the number of its repetitions.
func toList(v any) ([]any, error) {
	if list, ok := v.([]any); ok {
		return list, nil
	}
	many, _ := v.(map[string]any)
	n, err := strconv.Atoi(fmt.Sprint(many["repeat"]))
	if err != nil || len(many) != 2 {
		return nil, fmt.Errorf("%v is no list", v)
	}
	return slices.Repeat([]any{many["value"]}, n), nil
}

func toArray(t *schema.Type, v any) (any, error) {
	list, err := toList(v)
	if err != nil {
		return nil, err
	}
	out := &dynamic.Array{}
	for _, given := range list {
		elem, err := toValue(t.Elem, dynamic.NewValue(t.Elem), given)
		if err != nil {
			return nil, err
		}
		out.Elems = append(out.Elems, elem)
	}
	return out, nil
}

func toMultimap(m *schema.Multimap, v any) (any, error) {
	list, err := toList(v)
	if err != nil {
		return nil, err
	}
	out := &dynamic.Multimap{}
	for _, given := range list {
		pair, _ := given.([]any)
		if len(pair) != 2 {
			return nil, fmt.Errorf("%v is no pair", given)
		}
		key, keyErr := toValue(&m.Key, dynamic.NewValue(&m.Key), pair[0])
		value, valueErr := toValue(&m.Value, dynamic.NewValue(&m.Value), pair[1])
		if err := errors.Join(keyErr, valueErr); err != nil {
			return nil, err
		}
		out.Pairs = append(out.Pairs, dynamic.Pair{Key: key, Value: value})
	}
	return out, nil
}
