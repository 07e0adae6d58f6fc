// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import (
	"strings"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/schema"
)

// The maximum number of fields of a struct, whose masks have 64 bits, and of choices of a oneof.
const (
	maxFields  = 64
	maxChoices = 255
)

// checker finds definitions that the grammar allows and the format forbids.
type checker struct {
	schema *schema.Schema
	places places
	list   *reports
	names  map[string]definition
	// used is the set of definitions that the roots reach.
	used reach
}

// definition is the definition of a type name: exactly one pointer is set.
type definition struct {
	strct    *schema.Struct
	multimap *schema.Multimap
	enum     *schema.Enum
	pos      schema.Pos
}

// check links the type names of s to their definitions and reports errors in s.
//
// spec: #schema-language
func check(s *schema.Schema, places places, list *reports) {
	c := &checker{schema: s, places: places, list: list, names: map[string]definition{}, used: reach{}}
	c.define()
	c.eachType(c.link)
	for _, st := range s.Structs {
		c.fields(st)
	}
	for _, e := range s.Enums {
		c.enumValues(e)
	}
	c.dictionaries()
	c.cycles()
	// The following checks need a schema in which all type names are linked.
	if list.failed() {
		return
	}
	c.size()
	if list.failed() { // portability would take too long for a root that is too large
		return
	}
	c.unused()
	c.portability()
}

func named(name string, pos schema.Pos) span {
	return span{pos, utf8.RuneCountInString(name)}
}

// define collects the definitions; all kinds share one name space.
func (c *checker) define() {
	for _, s := range c.schema.Structs {
		c.defineName(s.Name, definition{strct: s, pos: s.Pos})
	}
	for _, m := range c.schema.Multimaps {
		c.defineName(m.Name, definition{multimap: m, pos: m.Pos})
	}
	for _, e := range c.schema.Enums {
		c.defineName(e.Name, definition{enum: e, pos: e.Pos})
	}
}

func (c *checker) defineName(name string, d definition) {
	first, taken := c.names[name]
	if !taken {
		c.names[name] = d
		return
	}
	// Definitions are visited by kind, but the error belongs to the definition that is
	// later in the file.
	if d.pos.Line < first.pos.Line || d.pos.Line == first.pos.Line && d.pos.Column < first.pos.Column {
		first, d = d, first
		c.names[name] = first
	}
	c.list.errorf(named(name, d.pos), "%s is already defined on line %d", quoted(name), first.pos.Line)
}

// eachType calls visit for the types of fields, choices, keys and values. For an
// array it passes the type of the elements, and true for element.
func (c *checker) eachType(visit func(t *schema.Type, element bool)) {
	outer := func(t *schema.Type) {
		if t.Kind == schema.KindArray {
			visit(t.Elem, true)
			return
		}
		visit(t, false)
	}
	for _, s := range c.schema.Structs {
		for _, f := range s.Fields {
			outer(&f.Type)
		}
	}
	for _, m := range c.schema.Multimaps {
		outer(&m.Key)
		outer(&m.Value)
	}
}

// link sets the kind and the definition of a type that is given by its name.
func (c *checker) link(t *schema.Type, inList bool) {
	if t.Name == "" {
		return
	}
	d, ok := c.names[t.Name]
	switch {
	case !ok && inList && t.Name == "byte" && !c.list.full() && c.guess(t.Name) == "bytes":
		c.list.errorf(c.places[t].name, `unknown type "byte": write "bytes" in place of "[]byte"`)
	case !ok:
		c.list.errorf(c.places[t].name, "unknown type %s%s", quoted(t.Name), c.suggestion(t.Name))
	case d.strct != nil && d.strct.Oneof:
		t.Kind, t.Struct = schema.KindOneof, d.strct
	case d.strct != nil:
		t.Kind, t.Struct = schema.KindStruct, d.strct
	case d.multimap != nil:
		t.Kind, t.Multimap = schema.KindMultimap, d.multimap
	default:
		t.Kind, t.Enum = schema.KindEnum, d.enum
	}
}

func (c *checker) fields(s *schema.Struct) {
	at := named(s.Name, s.Pos)
	switch {
	case s.Root && len(s.Fields) == 0:
		c.list.errorf(at, "root struct %s has no fields", quoted(s.Name))
	case s.Oneof && len(s.Fields) == 0:
		c.list.warnf(at, "oneof %s has no choices: its value is always None", quoted(s.Name))
	case s.Oneof && len(s.Fields) > maxChoices:
		c.list.errorf(at, "oneof %s has %d choices, the limit is %d", quoted(s.Name), len(s.Fields), maxChoices)
	case !s.Oneof && len(s.Fields) > maxFields:
		c.list.errorf(at, "struct %s has %d fields, the limit is %d: move some to a struct of their own", quoted(s.Name), len(s.Fields), maxFields)
	}
	lines := map[string]int{}
	for _, f := range s.Fields {
		if line, taken := lines[f.Name]; taken {
			c.list.errorf(named(f.Name, f.Pos), "%s already has a field %s on line %d",
				quoted(s.Name), quoted(f.Name), line)
			continue
		}
		lines[f.Name] = f.Pos.Line
	}
}

func (c *checker) enumValues(e *schema.Enum) {
	lines := map[string]int{}
	names := map[uint64]string{}
	for _, v := range e.Values {
		at := named(v.Name, v.Pos)
		if line, taken := lines[v.Name]; taken {
			c.list.errorf(at, "enum %s already has a value %s on line %d", quoted(e.Name), quoted(v.Name), line)
			continue
		}
		lines[v.Name] = v.Pos.Line
		if name, taken := names[v.Value]; taken {
			c.list.warnf(at, "%s and %s are the same number, %d", quoted(name), quoted(v.Name), v.Value)
			continue
		}
		names[v.Value] = v.Name
	}
}

// cycles reports structs that contain themselves by value: their initial value would
// be infinite. An optional field, array, multimap or oneof on the way is initially
// empty and breaks the cycle.
func (c *checker) cycles() {
	w := cycleWalk{list: c.list, state: map[*schema.Struct]walkState{}}
	for _, s := range c.schema.Structs {
		w.visit(s)
	}
}

type walkState uint8

const (
	unvisited walkState = iota
	open
	done
)

type cycleWalk struct {
	list  *reports
	state map[*schema.Struct]walkState
	// path has one step for each open struct: the field that the walk followed from the struct.
	path []step
}

type step struct {
	owner *schema.Struct
	field *schema.Field
}

func (w *cycleWalk) visit(s *schema.Struct) {
	if s.Oneof || w.state[s] != unvisited {
		return
	}
	w.state[s] = open
	for _, f := range s.Fields {
		if f.Optional || f.Type.Kind != schema.KindStruct {
			continue
		}
		w.path = append(w.path, step{s, f})
		if w.state[f.Type.Struct] == open {
			w.report(f.Type.Struct)
		} else {
			w.visit(f.Type.Struct)
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.state[s] = done
}

// report reports a cycle: the last step leads back to the open struct s.
func (w *cycleWalk) report(s *schema.Struct) {
	last := w.path[len(w.path)-1].field
	at := named(last.Name, last.Pos)
	if w.list.full() {
		w.list.errorf(at, "struct %s contains itself", quoted(s.Name))
		return
	}
	start := len(w.path) - 1
	for w.path[start].owner != s {
		start--
	}
	var names []string
	for _, step := range w.path[start:] {
		names = append(names, step.owner.Name+"."+step.field.Name)
	}
	const shown = 6
	if len(names) > shown {
		names = append(names[:shown-1], "...", names[len(names)-1])
	}
	w.list.errorf(at, "struct %s contains itself without end (%s): make a field optional, or use an array",
		quoted(s.Name), strings.Join(names, ", "))
}
