// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// smallChange returns v, a value of type t, with one change somewhere in it, to test
// values that are nearly equal. In rare cases, nothing changes.
func (r random) smallChange(t *schema.Type, v any) any {
	switch v := v.(type) {
	case *dynamic.Struct:
		if len(t.Struct.Fields) == 0 {
			return v
		}
		return r.nudgeStruct(t.Struct, v, r.IntN(len(t.Struct.Fields)))
	case *dynamic.Oneof:
		n := len(t.Struct.Fields)
		if v.Choice == 0 || r.chance(20) {
			c := &dynamic.Oneof{Choice: r.IntN(n + 1)}
			if c.Choice > 0 {
				c.Value = dynamic.NewValue(&t.Struct.Fields[c.Choice-1].Type)
			}
			return c
		}
		return &dynamic.Oneof{Choice: v.Choice, Value: r.smallChange(&t.Struct.Fields[v.Choice-1].Type, v.Value)}
	case *dynamic.Multimap:
		c := &dynamic.Multimap{Pairs: append([]dynamic.Pair{}, v.Pairs...)}
		i := r.IntN(len(v.Pairs) + 1)
		switch {
		case i == len(v.Pairs):
			c.Pairs = append(c.Pairs, dynamic.Pair{Key: dynamic.NewValue(&t.Multimap.Key), Value: dynamic.NewValue(&t.Multimap.Value)})
			c.Pairs = c.Pairs[:min(len(c.Pairs), maxPairs)]
		case r.chance(30):
			c.Pairs[i].Key = r.smallChange(&t.Multimap.Key, c.Pairs[i].Key)
		default:
			c.Pairs[i].Value = r.smallChange(&t.Multimap.Value, c.Pairs[i].Value)
		}
		return c
	case *dynamic.Array:
		c := &dynamic.Array{Elems: append([]any{}, v.Elems...)}
		if i := r.IntN(len(v.Elems) + 1); i < len(v.Elems) {
			c.Elems[i] = r.smallChange(t.Elem, c.Elems[i])
		} else {
			c.Elems = append(c.Elems, dynamic.NewValue(t.Elem))
		}
		return c
	}
	return r.primitive(t)
}

func (r random) nudgeStruct(s *schema.Struct, v *dynamic.Struct, i int) *dynamic.Struct {
	c := &dynamic.Struct{Fields: append([]any{}, v.Fields...), Present: append([]bool{}, v.Present...)}
	f := s.Fields[i]
	switch {
	case f.Optional && !v.Present[i]:
		c.Present[i], c.Fields[i] = true, dynamic.NewValue(&f.Type)
	case f.Optional && r.chance(20):
		c.Present[i] = false
	default:
		c.Fields[i] = r.smallChange(&f.Type, c.Fields[i])
	}
	return c
}
