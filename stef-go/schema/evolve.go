// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ChangeKind is the effect of a schema change on older streams.
type ChangeKind uint8

// The kinds of changes.
const (
	// LayoutChange makes readers of the new schema misread older streams or refuse them.
	LayoutChange ChangeKind = iota
	// RootChange is the removal of a root: no reader of the new schema reads its streams.
	RootChange
	// EnumChange: values of an enum have other names, or no names. The numbers are read
	// as they were written.
	EnumChange
)

// ChangeError is a schema change that breaks reading of older streams.
type ChangeError struct {
	Kind ChangeKind
	// Where is the changed definition, such as "Point", or the changed part of a
	// definition, such as "Point.Value" or "Attributes.key".
	Where  string
	Reason string
}

// Error implements error.
func (e *ChangeError) Error() string { return e.Where + ": " + e.Reason }

// CompatibleSchemas checks that streams written in old can be read with new: that
// new only appends fields to structs and choices to oneofs. It compares everything
// that the roots of old reach. Fields, types, dictionaries and roots may have new names,
// but the name of a field must not move to another position, and one type or dictionary
// must not become two. An enum is a uint64: Changes compares the values as well. The
// error joins one *ChangeError per breaking change.
//
// spec: #evolution
func CompatibleSchemas(old, new *Schema) error {
	var errs []error
	for _, change := range Changes(old, new) {
		if change.Kind != EnumChange {
			errs = append(errs, change)
		}
	}
	return errors.Join(errs...)
}

// Changes returns the changes that CompatibleSchemas reports, and changes of enums. It
// compares the enums of each place that has an enum in both schemas. An enum that keeps its
// name may have more values, and new names for old values. An enum with another name must
// have all old values with their old names. If it does not have all of them, it may be a
// different enum, and not the old enum with a new name.
//
// spec: #evolution
func Changes(old, new *Schema) []*ChangeError {
	renamed := newComparison()
	renamed.roots(old, new)
	if renamed.breaks == 0 {
		return renamed.changes
	}
	// If a field changes from S to T, and both schemas have S and T, then T is probably not a new
	// name of S. So compare again under the assumption that names in both schemas were not renamed,
	// and return the result with fewer changes.
	kept := newComparison()
	kept.types.keep(typeNames(old), typeNames(new))
	kept.dicts.keep(dictNames(old), dictNames(new))
	kept.roots(old, new)
	if kept.breaks <= renamed.breaks {
		return kept.changes
	}
	return renamed.changes
}

func newComparison() *comparison {
	return &comparison{
		compared: map[string]bool{},
		types:    renames{to: map[string]string{}, from: map[string]string{}},
		dicts:    renames{to: map[string]string{}, from: map[string]string{}},
	}
}

// typeNames returns the names of the structs, oneofs and multimaps of s, with their kind.
func typeNames(s *Schema) map[string]Kind {
	names := map[string]Kind{}
	for _, st := range s.Structs {
		names[st.Name] = KindStruct
		if st.Oneof {
			names[st.Name] = KindOneof
		}
	}
	for _, m := range s.Multimaps {
		names[m.Name] = KindMultimap
	}
	return names
}

// dictNames returns the names of the dictionaries of s, with the kind of their entries.
func dictNames(s *Schema) map[string]Kind {
	names := map[string]Kind{}
	add := func(t *Type) {
		if t.Kind == KindArray {
			t = t.Elem
		}
		names[t.Dict] = t.Kind
	}
	for _, st := range s.Structs {
		names[st.Dict] = KindStruct
		for _, f := range st.Fields {
			add(&f.Type)
		}
	}
	for _, m := range s.Multimaps {
		add(&m.Key)
		add(&m.Value)
	}
	delete(names, "") // no dictionary
	return names
}

// roots compares the roots of old and everything that they reach with the roots of new.
func (c *comparison) roots(old, new *Schema) {
	for i, root := range old.Roots() {
		if other := successor(old, new, i); other != nil {
			c.types.pair(root.Name, other.Name)
			c.structs(root, other)
		} else {
			c.add(RootChange, root.Name, "is no root any more")
		}
	}
}

// successor returns the root of new that replaces root i of old. This is the root of the same
// name. If there is none, but new has all other roots of old, root i was probably renamed: its
// successor is the root of new that old does not have. If there are several such roots, it is
// the one that has all fields of root i.
func successor(old, new *Schema, i int) *Struct {
	roots := old.Roots()
	if same := new.Root(roots[i].Name); same != nil {
		return same
	}
	for j, root := range roots {
		if j != i && new.Root(root.Name) == nil {
			return nil
		}
	}
	added := slices.DeleteFunc(slices.Clone(new.Roots()), func(s *Struct) bool { return old.Root(s.Name) != nil })
	if len(added) > 1 {
		added = slices.DeleteFunc(added, func(s *Struct) bool { return !continues(roots[i], s) })
	}
	if len(added) != 1 {
		return nil
	}
	return added[0]
}

// continues reports whether the first fields of new have the names of the fields of old, and
// types that can read the values of old.
func continues(old, new *Struct) bool {
	if len(new.Fields) < len(old.Fields) {
		return false
	}
	for i, f := range old.Fields {
		if new.Fields[i].Name != f.Name {
			return false
		}
	}
	c := newComparison()
	c.types.pair(old.Name, new.Name)
	c.structs(old, new)
	return c.breaks == 0
}

// RenamedRoot returns the old and the new name of the root that was renamed. It returns "" if no
// root or more than one root was renamed.
func RenamedRoot(old, new *Schema) (was, is string) {
	for i, root := range old.Roots() {
		if now := successor(old, new, i); now != nil && now.Name != root.Name {
			return root.Name, now.Name
		}
	}
	return "", ""
}

// comparison walks two schemas side by side.
type comparison struct {
	// compared has the names of the old definitions that have been compared, or are being compared.
	compared     map[string]bool
	types, dicts renames
	changes      []*ChangeError
	breaks       int // changes that are not of enums
}

// renames maps each name of the old schema to one name of the new schema, and back. Two new names
// for one old name, or one new name for two old names, would change the stream: a wire schema lists
// each struct once, and all values with one dictionary share its entries.
type renames struct{ to, from map[string]string }

// pair reports whether the name old can be renamed to the name new everywhere. If neither
// name is part of a pair yet, it adds the pair.
func (r renames) pair(old, new string) bool {
	to, known := r.to[old]
	from, taken := r.from[new]
	if !known && !taken {
		r.to[old], r.from[new] = new, old
		return true
	}
	return to == new && from == old
}

// keep assumes that a name was not renamed if both schemas have it for the same kind.
func (r renames) keep(old, new map[string]Kind) {
	for name, kind := range old {
		if new[name] == kind {
			r.pair(name, name)
		}
	}
}

func (c *comparison) report(where, format string, args ...any) {
	c.add(LayoutChange, where, format, args...)
}

func (c *comparison) add(kind ChangeKind, where, format string, args ...any) {
	c.changes = append(c.changes, &ChangeError{Kind: kind, Where: where, Reason: fmt.Sprintf(format, args...)})
	if kind != EnumChange {
		c.breaks++
	}
}

func (c *comparison) structs(old, new *Struct) {
	if c.compared[old.Name] {
		return
	}
	c.compared[old.Name] = true
	if !c.sameDict(old.Dict, new.Dict) {
		c.report(old.Name, "the dictionary was %s and is %s", cmp.Or(old.Dict, "none"), cmp.Or(new.Dict, "none"))
	}
	successors := fieldSuccessors(old, new)
	c.removed(old, new, successors)
	gone := 0 // removed fields before field i
	for i, was := range old.Fields {
		place := successors[i]
		if place < 0 {
			gone++
			continue
		}
		// If there are fewer fields, the fields after a removed field move. Do not report
		// this as a change of these fields.
		expected := i
		if len(new.Fields) < len(old.Fields) {
			expected -= gone
		}
		is, where := new.Fields[place], old.Name+"."+was.Name
		if is.Name == was.Name && place != expected {
			part := "field"
			if new.Oneof {
				part = "choice"
			}
			c.report(where, "was %s %d and is %[1]s %[3]d; new %[1]ss go to the end", part, i+1, place+1)
		}
		if was.Optional != is.Optional {
			c.report(where, "was %s and is %s", optionality(was), optionality(is))
		}
		c.compare(where, &was.Type, &is.Type)
	}
}

// fieldSuccessors returns for each field of old the index of the field of new that replaces it: the
// field of the same name. If there is none, it is the field at the same index, unless old has a
// field with the name of that field. The result is -1 if no field replaces the field of old.
func fieldSuccessors(old, new *Struct) []int {
	names := make(map[string]bool, len(old.Fields))
	for _, f := range old.Fields {
		names[f.Name] = true
	}
	successors := make([]int, len(old.Fields))
	for i, was := range old.Fields {
		successors[i] = slices.IndexFunc(new.Fields, func(f *Field) bool { return f.Name == was.Name })
		if successors[i] < 0 && i < len(new.Fields) && !names[new.Fields[i].Name] {
			successors[i] = i
		}
	}
	return successors
}

// removed reports the fields of old that have no successor.
func (c *comparison) removed(old, new *Struct, successors []int) {
	var gone []string
	for i, was := range old.Fields {
		if successors[i] < 0 {
			gone = append(gone, was.Name)
		}
	}
	if len(gone) == 0 {
		return
	}
	what := "fields"
	if old.Oneof {
		what = "choices"
	}
	c.report(old.Name, "had %d %s and has %d, without %s; %s cannot be removed, but may get other names",
		len(old.Fields), what, len(new.Fields), strings.Join(gone, ", "), what)
}

// compare compares the types of a field, an element, a key or a value.
func (c *comparison) compare(where string, old, new *Type) {
	if old.wireKind() != new.wireKind() || !c.sameDict(old.Dict, new.Dict) {
		c.report(where, "was of type %s and is of type %s", old.describe(), new.describe())
		return
	}
	switch old.Kind {
	case KindStruct, KindOneof, KindMultimap:
		if !c.types.pair(old.Name, new.Name) {
			c.report(where, "was of type %s and is of type %s", old.describe(), new.describe())
			return
		}
	}
	switch old.Kind {
	case KindEnum:
		if new.Kind == KindEnum {
			c.enums(where, old.Enum, new.Enum)
		}
	case KindStruct, KindOneof:
		c.structs(old.Struct, new.Struct)
	case KindArray:
		if old.Elem.wireKind() != new.Elem.wireKind() {
			c.report(where, "was of type %s and is of type %s", old.describe(), new.describe())
			return
		}
		c.compare(where, old.Elem, new.Elem)
	case KindMultimap:
		if c.compared[old.Name] {
			return
		}
		c.compared[old.Name] = true
		c.compare(old.Name+".key", &old.Multimap.Key, &new.Multimap.Key)
		c.compare(old.Name+".value", &old.Multimap.Value, &new.Multimap.Value)
	}
}

// enums compares the old and the new enum of a field, an element, a key or a value.
func (c *comparison) enums(where string, old, new *Enum) {
	if old.Name != new.Name {
		c.otherEnum(where, old, new)
		return
	}
	if c.compared[old.Name] {
		return
	}
	c.compared[old.Name] = true
	numbers, names := new.values()
	for _, v := range old.Values {
		number, kept := numbers[v.Name]
		_, named := names[v.Value]
		where := old.Name + "." + v.Name
		switch {
		case kept && number == v.Value:
		case kept && named:
			c.add(EnumChange, where, "was %d and is %d: old streams are read with the wrong names", v.Value, number)
		case kept:
			c.add(EnumChange, where, "was %d and is %d: old streams have a value without a name", v.Value, number)
		case !named:
			c.add(EnumChange, where, "was %d and is removed: old streams have a value without a name", v.Value)
		}
	}
}

// otherEnum compares enums with different names. It reports the first old value that
// new does not have with the same name. In that case new is a different enum, or its
// values changed when it was renamed.
func (c *comparison) otherEnum(where string, old, new *Enum) {
	numbers, names := new.values()
	for _, v := range old.Values {
		if number, ok := numbers[v.Name]; ok && number == v.Value {
			continue
		}
		if name, ok := names[v.Value]; ok {
			c.add(EnumChange, where, "was of type enum %s and is of type enum %s, where %d is %s and not %s: old streams are read with the wrong names",
				old.Name, new.Name, v.Value, name, v.Name)
		} else {
			c.add(EnumChange, where, "was of type enum %s and is of type enum %s, where %d is not %s: old streams have a value without a name",
				old.Name, new.Name, v.Value, v.Name)
		}
		return
	}
}

func (e *Enum) values() (numbers map[string]uint64, names map[uint64]string) {
	numbers, names = map[string]uint64{}, map[uint64]string{}
	for _, v := range e.Values {
		numbers[v.Name], names[v.Value] = v.Value, v.Name
	}
	return numbers, names
}

// wireKind returns the kind as it is on the wire.
func (t *Type) wireKind() Kind {
	if t.Kind == KindEnum {
		return KindUint64
	}
	return t.Kind
}

// sameDict reports whether two dictionary names can denote the same dictionary, which may
// have been renamed. An empty name means no dictionary.
func (c *comparison) sameDict(old, new string) bool {
	if old == "" || new == "" {
		return old == new
	}
	return c.dicts.pair(old, new)
}

// describe returns the result of String with the kind in front. So two types of the same name and
// different kinds have different descriptions, for example if a struct became an enum.
func (t *Type) describe() string {
	switch t.Kind {
	case KindStruct, KindOneof, KindMultimap, KindEnum:
		return t.Kind.String() + " " + t.String()
	case KindArray:
		return "array of " + t.Elem.describe()
	}
	return t.String()
}

func optionality(f *Field) string {
	if f.Optional {
		return "optional"
	}
	return "not optional"
}
