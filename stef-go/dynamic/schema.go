// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/otelstef/stef/stef-go/schema"
)

// schemaCheck checks that a schema is usable. Package idl checks the schemas that it
// parses, but not schemas that a program builds.
//
// spec: #schema-language
type schemaCheck struct {
	// done has the structs and multimaps that were or are being checked.
	done map[any]bool
	// within has the structs that enclose the struct being checked: each has the next one as a required
	// field.
	within map[*schema.Struct]bool
	finite map[*schema.Struct]bool
	// structDicts and textDicts have the first user of each dictionary.
	structDicts map[string]*schema.Struct
	textDicts   map[string]schema.Kind
}

func checkSchema(root *schema.Struct) error {
	if root == nil || root.Oneof || len(root.Fields) == 0 {
		return fault(ErrSchema, "the root must be a struct with fields")
	}
	c := &schemaCheck{
		done:        map[any]bool{},
		within:      map[*schema.Struct]bool{},
		finite:      map[*schema.Struct]bool{},
		structDicts: map[string]*schema.Struct{},
		textDicts:   map[string]schema.Kind{},
	}
	return c.fields(root)
}

func (c *schemaCheck) fields(s *schema.Struct) error {
	if c.done[s] {
		return nil
	}
	c.done[s] = true
	limit := maxFields
	if s.Oneof {
		limit = maxChoices
	}
	if len(s.Fields) > limit {
		return fault(ErrSchema, "%s has %d fields, the limit is %d", s.Name, len(s.Fields), limit)
	}
	// An entry of a dictionary has no type on the wire: with two types in one
	// dictionary, a reference could return a value of the wrong type.
	if s.Dict != "" {
		if other := c.structDicts[s.Dict]; other != nil && other != s {
			return fault(ErrSchema, "%s and %s share the dictionary %s", other.Name, s.Name, s.Dict)
		}
		c.structDicts[s.Dict] = s
	}
	if err := c.initial(s); err != nil {
		return err
	}
	for _, f := range s.Fields {
		if err := c.typ(&f.Type, s.Name+"."+f.Name); err != nil {
			return err
		}
	}
	return nil
}

func (c *schemaCheck) typ(t *schema.Type, path string) error {
	switch t.Kind {
	case schema.KindBool, schema.KindInt64, schema.KindUint64, schema.KindFloat64, schema.KindEnum:
		return nil
	case schema.KindString, schema.KindBytes:
		if other, ok := c.textDicts[t.Dict]; ok && other != t.Kind && t.Dict != "" {
			return fault(ErrSchema, "%s: the dictionary %s is used for both strings and bytes", path, t.Dict)
		}
		c.textDicts[t.Dict] = t.Kind
		return nil
	case schema.KindStruct, schema.KindOneof:
		if t.Struct != nil && t.Struct.Oneof == (t.Kind == schema.KindOneof) {
			return c.fields(t.Struct)
		}
	case schema.KindMultimap:
		if t.Multimap != nil {
			return c.multimap(t.Multimap)
		}
	case schema.KindArray:
		if t.Elem != nil && t.Elem.Kind != schema.KindArray {
			return c.typ(t.Elem, path)
		}
	}
	return fault(ErrSchema, "%s has no type, or an unknown type", path)
}

func (c *schemaCheck) multimap(m *schema.Multimap) error {
	if c.done[m] {
		return nil
	}
	c.done[m] = true
	if err := c.typ(&m.Key, m.Name+" key"); err != nil {
		return err
	}
	return c.typ(&m.Value, m.Name+" value")
}

// initial checks that s has an initial value. It has none if it contains itself
// through required fields alone.
func (c *schemaCheck) initial(s *schema.Struct) error {
	if s.Oneof || c.finite[s] {
		return nil
	}
	if c.within[s] {
		return fault(ErrSchema, "%s contains itself", s.Name)
	}
	c.within[s] = true
	defer delete(c.within, s)
	for _, f := range s.Fields {
		if f.Type.Kind != schema.KindStruct || f.Optional || f.Type.Struct == nil {
			continue
		}
		if err := c.initial(f.Type.Struct); err != nil {
			return err
		}
	}
	c.finite[s] = true
	return nil
}
