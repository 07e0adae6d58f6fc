// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import "github.com/otelstef/stef/stef-go/schema"

// size checks that the roots do not exceed the maximum numbers of columns and of wire schema
// entries.
//
// spec: #limits
func (c *checker) size() {
	left := schema.MaxColumns
	for _, root := range c.schema.Roots() {
		at := named(root.Name, root.Pos)
		columns := schema.CountColumns(root, nil, left+1)
		if columns > left {
			c.list.errorf(at, "with root %s, the roots of the file have more than %d columns: each use of a type adds the columns of all types in it",
				quoted(root.Name), schema.MaxColumns)
			return
		}
		left -= columns
		if entries := len(schema.WireOf(root)); entries > schema.MaxWireEntries {
			c.list.errorf(at, "root %s reaches %d structs and oneofs, the limit is %d",
				quoted(root.Name), entries, schema.MaxWireEntries)
		}
	}
}

// firstStruct returns the name of a struct that may become a root.
func (c *checker) firstStruct() string {
	for _, s := range c.schema.Structs {
		if !s.Oneof {
			return s.Name
		}
	}
	return "Record"
}

// unused warns of definitions that no root reaches: no stream can contain them.
func (c *checker) unused() {
	roots := c.schema.Roots()
	if len(roots) == 0 {
		c.list.warnf(span{}, "the file has no root struct, so no stream can use it: write %s",
			quoted("struct "+c.firstStruct()+" root {"))
		return
	}
	for _, root := range roots {
		c.used.structFrom(root)
	}
	for _, s := range c.schema.Structs {
		c.warnUnused(s, s.Name, s.Pos)
	}
	for _, m := range c.schema.Multimaps {
		c.warnUnused(m, m.Name, m.Pos)
	}
	for _, e := range c.schema.Enums {
		c.warnUnused(e, e.Name, e.Pos)
	}
}

func (c *checker) warnUnused(def any, name string, pos schema.Pos) {
	if !c.used[def] {
		c.list.warnf(named(name, pos), "no root uses %s", quoted(name))
	}
}

// reach is the set of definitions that some definitions refer to, directly or
// indirectly. Its elements are *schema.Struct, *schema.Multimap and *schema.Enum.
type reach map[any]bool

// structFrom adds s and everything that it reaches.
func (r reach) structFrom(s *schema.Struct) {
	if r[s] {
		return
	}
	r[s] = true
	r.fieldsOf(s)
}

// fieldsOf adds the definitions that the fields of s reach. It adds s only if its fields refer back
// to s.
func (r reach) fieldsOf(s *schema.Struct) {
	for _, f := range s.Fields {
		r.typeFrom(&f.Type)
	}
}

func (r reach) typeFrom(t *schema.Type) {
	switch t.Kind {
	case schema.KindStruct, schema.KindOneof:
		r.structFrom(t.Struct)
	case schema.KindArray:
		r.typeFrom(t.Elem)
	case schema.KindEnum:
		r[t.Enum] = true
	case schema.KindMultimap:
		if r[t.Multimap] {
			return
		}
		r[t.Multimap] = true
		r.typeFrom(&t.Multimap.Key)
		r.typeFrom(&t.Multimap.Value)
	}
}

// notPortable is the text of a warning about a schema that is valid.
const notPortable = "the reference implementation cannot use %s; this is harmless if it never reads or writes the streams"

// portability warns of uses of dictionaries that the format allows, but that some
// implementations do not handle correctly.
//
// spec: #struct-dict
func (c *checker) portability() {
	for _, s := range c.schema.Structs {
		if !c.used[s] {
			continue
		}
		for _, f := range s.Fields {
			c.portableField(s, f)
		}
		if s.Dict == "" {
			continue
		}
		inside := reach{}
		inside.fieldsOf(s)
		if inside[s] {
			c.list.warnf(named(s.Name, s.Pos),
				notPortable, "a struct with a dictionary that contains itself: implementations number its entries differently")
		}
	}
	c.elementDicts()
}

func (c *checker) portableField(s *schema.Struct, f *schema.Field) {
	at := named(f.Name, f.Pos)
	dictStruct := f.Type.Kind == schema.KindStruct && f.Type.Struct.Dict != ""
	switch {
	case s.Oneof && dictStruct:
		c.list.warnf(at, notPortable, "the choice of a oneof with a struct dictionary")
	case f.Optional && dictStruct:
		c.list.warnf(at, notPortable, "an optional field with a struct dictionary")
	case f.Optional && s.Dict != "":
		c.list.warnf(at, notPortable, "an optional field in a struct with a dictionary")
	}
}

// elementDicts warns of dictionaries that only array elements use: the reference implementation
// cannot use such dictionaries.
func (c *checker) elementDicts() {
	direct := map[string]bool{}
	c.eachType(func(t *schema.Type, element bool) {
		direct[t.Dict] = direct[t.Dict] || !element
	})
	c.eachType(func(t *schema.Type, _ bool) {
		if t.Dict != "" && !direct[t.Dict] {
			c.list.warnf(c.places[t].dict, notPortable, "dictionary "+quoted(t.Dict)+", which only array elements use")
			direct[t.Dict] = true
		}
	})
}
