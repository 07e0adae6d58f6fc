// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"errors"
	"fmt"
	"go/token"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/schema"
)

// Error reports a part of a schema that has no Go code, and the reason.
type Error struct {
	// Pos is the position of that part, or zero if the error is about the whole schema.
	Pos schema.Pos
	// Width is the number of runes at Pos to mark.
	Width   int
	Message string
	// Form says that Pos is in the file of Options.Form.
	Form bool
}

// Error returns the message with the position in front.
func (e *Error) Error() string {
	if e.Pos == (schema.Pos{}) {
		return e.Message
	}
	return fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Column, e.Message)
}

func refuse(name string, pos schema.Pos, format string, args ...any) error {
	return &Error{Pos: pos, Width: utf8.RuneCountInString(name), Message: fmt.Sprintf(format, args...)}
}

// inForm sets Form of err, if err is an *Error, to form. It returns err.
func inForm(err error, form bool) error {
	if refused, ok := err.(*Error); ok {
		refused.Form = form
	}
	return err
}

// typeOfForm reports whether the form defines the type with a name.
func (p *plan) typeOfForm(name string) bool {
	return !slices.ContainsFunc(p.plain.Structs, func(s *schema.Struct) bool { return s.Name == name }) &&
		!slices.ContainsFunc(p.plain.Multimaps, func(m *schema.Multimap) bool { return m.Name == name }) &&
		!slices.ContainsFunc(p.plain.Enums, func(e *schema.Enum) bool { return e.Name == name })
}

// check refuses what the generated code cannot express, with an error for each part of the
// schema. clashes finds names that become equal only when they are combined.
func (p *plan) check() error {
	if token.IsKeyword(p.options.Package) {
		return refuse("", schema.Pos{}, "package %q is a keyword of Go: pass another name with -package", p.options.Package)
	}
	if !token.IsIdentifier(p.options.Package) {
		return refuse("", schema.Pos{}, "%q is not a Go package name: pass one with -package", p.options.Package)
	}
	if p.options.Package == "main" {
		return refuse("", schema.Pos{}, "programs cannot import a package main: pass another name with -package")
	}
	var errs []error
	for _, s := range p.structs {
		errs = append(errs, p.checkStruct(s)...)
	}
	for _, m := range p.multimaps {
		if err := checkTypeName(m.Name, m.Pos); err != nil {
			errs = append(errs, err)
		} else if sharedPart(&m.Key) || sharedPart(&m.Value) {
			errs = append(errs, refuse(m.Name, m.Pos, "multimap %s: keys and values cannot be dictionary structs in generated code, nor arrays of them; put them into a struct", m.Name))
		}
	}
	for _, e := range p.enums {
		errs = append(errs, inForm(checkTypeName(e.Name, e.Pos), p.typeOfForm(e.Name)))
	}
	for _, r := range p.schema.Roots() {
		errs = append(errs, p.checkDicts(r))
	}
	return errors.Join(errs...)
}

// checkDicts refuses a root that has two dictionaries with the same name in Go. The error names a
// field or a multimap that uses the second dictionary.
func (p *plan) checkDicts(r *schema.Struct) error {
	_, _, dicts := reachable(r)
	seen := map[string]string{}
	for _, d := range dicts {
		other := seen[exported(d)]
		if seen[exported(d)] = d; other == "" {
			continue
		}
		in := func(t *schema.Type) bool {
			return t.Kind == schema.KindString && t.Dict == d || t.Kind == schema.KindArray && t.Elem.Kind == schema.KindString && t.Elem.Dict == d
		}
		const same = "dictionaries %s and %s have the same name in Go: rename one of them"
		for _, s := range p.structs {
			for i, f := range s.Fields {
				if in(&f.Type) {
					return inForm(refuse(f.Name, f.Pos, same, d, other), p.ofForm(s, i))
				}
			}
		}
		for _, m := range p.multimaps {
			if in(&m.Key) || in(&m.Value) {
				return refuse(m.Name, m.Pos, same, d, other)
			}
		}
	}
	return nil
}

// reserved are the methods that every composite type has; a field cannot have their
// names. reservedChoices are further methods of oneofs.
var (
	reserved = map[string]bool{
		"Reset": true, "CopyFrom": true, "Equal": true, "Modified": true, "MarshalJSON": true, "UnmarshalJSON": true,
	}
	reservedChoices = map[string]bool{"Type": true, "SetType": true}
)

func (p *plan) checkStruct(s *schema.Struct) (errs []error) {
	if err := checkTypeName(s.Name, s.Pos); err != nil {
		errs = append(errs, inForm(err, p.typeOfForm(s.Name)))
	}
	if p.endless(s) {
		err := refuse(s.Name, s.Pos, "struct %s contains itself by way of an optional dictionary struct, for which generated code always creates a value: put an array, multimap or oneof between them", s.Name)
		errs = append(errs, inForm(err, p.typeOfForm(s.Name)))
	}
	seen := map[string]string{}
	for i := range s.Fields {
		errs = append(errs, inForm(checkField(s, i, seen), p.ofForm(s, i)))
	}
	return errs
}

// checkField checks field i of a struct and adds it to seen, which maps names in Go to
// those of the schema.
func checkField(s *schema.Struct, i int, seen map[string]string) error {
	f := s.Fields[i]
	name := exported(f.Name)
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsUpper(first) {
		return refuse(f.Name, f.Pos, "%s.%s begins with a letter that has no upper case, so generated code cannot export it: write a letter such as F before it", s.Name, f.Name)
	}
	if reserved[name] {
		return refuse(f.Name, f.Pos, "field %s.%s has the name of a method of all records: rename it", s.Name, f.Name)
	}
	if s.Oneof && reservedChoices[name] {
		return refuse(f.Name, f.Pos, "choice %s.%s has the name of a method of all oneofs: rename it", s.Name, f.Name)
	}
	if s.Oneof && name == "None" { // the constant OTypeNone means no choice
		return refuse(f.Name, f.Pos, "choice %s.%s has the name that stands for no choice in all oneofs: rename it, or remove it if it means that there is no value", s.Name, f.Name)
	}
	if other := seen[name]; other != "" {
		return refuse(f.Name, f.Pos, "fields %s.%s and %s have the same name in Go", s.Name, f.Name, other)
	}
	seen[name] = f.Name
	if err := checkJSONName(s, f, s.Fields[:i]); err != nil {
		return err
	}
	if s.Oneof && isDictStruct(&f.Type) {
		return refuse(f.Name, f.Pos, "oneof %[1]s: a choice cannot be the dictionary struct %[2]s in generated code; wrap it: struct %[2]sItem { %[2]s %[2]s }, %[3]s %[2]sItem", s.Name, f.Type.Name, f.Name)
	}
	if !isDictStruct(&f.Type) && sharedPart(&f.Type) {
		return refuse(f.Name, f.Pos, "arrays of the dictionary struct %[1]s cannot be generated; wrap it: struct %[1]sItem { %[1]s %[1]s }, %[2]s []%[1]sItem", f.Type.Elem.Name, f.Name)
	}
	return nil
}

// checkJSONName refuses a field with the JSON name of an earlier field: the JSON object
// would have a duplicate key. Package idl does not check this: the format allows such
// fields, and idl also reads the schemas of foreign streams.
//
// spec: #canonical-json
func checkJSONName(s *schema.Struct, f *schema.Field, before []*schema.Field) error {
	what, name := "fields", f.JSONName()
	if s.Oneof {
		what = "choices"
	}
	for _, other := range before {
		if other.JSONName() == name {
			return refuse(f.Name, f.Pos, "%s %s.%s and %s have the same name in JSON, %q: rename one of them", what, s.Name, f.Name, other.Name, name)
		}
	}
	return nil
}

// sharedPart reports whether t is a dictionary struct or an array of dictionary structs.
// In generated code, only fields of structs can be dictionary structs.
func sharedPart(t *schema.Type) bool {
	return isDictStruct(t) || t.Kind == schema.KindArray && isDictStruct(t.Elem)
}

// checkTypeName refuses names that are not exported. So it also refuses the keywords
// and predeclared names of Go, and the names of local variables in generated code.
func checkTypeName(name string, pos schema.Pos) error {
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsUpper(first) {
		return refuse(name, pos, "%s does not begin with an upper-case letter, as types do in generated code%s", name, upperHint(name))
	}
	return nil
}

// upperHint returns the end of a message with the name to write instead, or "" if the
// first letter of the name has no upper case.
func upperHint(name string) string {
	if upper := exported(name); upper != name {
		return fmt.Sprintf(": write %q", upper)
	}
	return ""
}

// endless reports whether the initial value of s would have no end, because it would contain another
// initial value of s.
func (p *plan) endless(s *schema.Struct) bool {
	seen := map[*schema.Struct]bool{}
	var leads func(from *schema.Struct) bool
	leads = func(from *schema.Struct) bool {
		for _, f := range p.fieldsOf(from) {
			inner := f.t.Struct
			if f.t.Kind != schema.KindStruct || f.lazy || seen[inner] {
				continue
			}
			seen[inner] = true
			if inner == s || leads(inner) {
				return true
			}
		}
		return false
	}
	return leads(s)
}
