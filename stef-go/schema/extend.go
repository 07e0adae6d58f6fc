// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

// Extend returns the schema base with the additions of the schema more. If both have a struct or
// oneof, the fields or choices in more are appended. Other structs and oneofs in more are added.
// Multimaps and enums are those of base. Extend does not change its arguments, and the result
// shares only the enums with base.
//
// spec: #evolution
func Extend(base, more *Schema) *Schema {
	x := extender{structs: map[string]*Struct{}, maps: map[string]*Multimap{}}
	whole := &Schema{Package: base.Package, Doc: base.Doc, Enums: base.Enums}
	for _, list := range [][]*Struct{base.Structs, more.Structs} {
		for _, s := range list {
			if x.structs[s.Name] == nil {
				copied := *s
				copied.Fields = nil
				x.structs[s.Name] = &copied
				whole.Structs = append(whole.Structs, &copied)
			}
		}
	}
	for _, m := range base.Multimaps {
		copied := *m
		x.maps[m.Name] = &copied
		whole.Multimaps = append(whole.Multimaps, &copied)
	}
	for _, list := range [][]*Struct{base.Structs, more.Structs} {
		for _, s := range list {
			grown := x.structs[s.Name]
			for _, f := range s.Fields {
				field := *f
				field.Type = x.typeOf(&f.Type)
				grown.Fields = append(grown.Fields, &field)
			}
		}
	}
	for _, m := range whole.Multimaps {
		m.Key, m.Value = x.typeOf(&m.Key), x.typeOf(&m.Value)
	}
	return whole
}

type extender struct {
	structs map[string]*Struct
	maps    map[string]*Multimap
}

func (x *extender) typeOf(t *Type) Type {
	grown := *t
	if t.Struct != nil {
		grown.Struct = x.structs[t.Struct.Name]
	}
	if t.Multimap != nil {
		grown.Multimap = x.maps[t.Multimap.Name]
	}
	if t.Elem != nil {
		elem := x.typeOf(t.Elem)
		grown.Elem = &elem
	}
	return grown
}
