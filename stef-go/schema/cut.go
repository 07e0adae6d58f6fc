// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

// Cut returns a copy of root that has only the fields and choices that w keeps.
//
// spec: #evolution
func Cut(root *Struct, w WireSchema) (*Struct, error) {
	kept, err := Keep(root, w)
	if err != nil {
		return nil, err
	}
	c := cutter{kept: kept, structs: map[*Struct]*Struct{}, maps: map[*Multimap]*Multimap{}}
	return c.structOf(root), nil
}

type cutter struct {
	kept    Kept
	structs map[*Struct]*Struct
	maps    map[*Multimap]*Multimap
}

func (c *cutter) structOf(s *Struct) *Struct {
	if s == nil {
		return nil
	}
	if known := c.structs[s]; known != nil {
		return known
	}
	cut := new(Struct)
	*cut = *s
	c.structs[s] = cut
	cut.Fields = nil
	for _, f := range s.Fields[:c.kept.Of(s)] {
		field := *f
		field.Type = c.typeOf(&f.Type)
		cut.Fields = append(cut.Fields, &field)
	}
	return cut
}

func (c *cutter) typeOf(t *Type) Type {
	cut := *t
	cut.Struct = c.structOf(t.Struct)
	if t.Elem != nil {
		elem := c.typeOf(t.Elem)
		cut.Elem = &elem
	}
	if m := t.Multimap; m != nil {
		if c.maps[m] == nil {
			copied := *m
			c.maps[m] = &copied
			copied.Key, copied.Value = c.typeOf(&m.Key), c.typeOf(&m.Value)
		}
		cut.Multimap = c.maps[m]
	}
	return cut
}
