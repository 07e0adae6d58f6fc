// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
)

// ChangeError is a schema change that breaks reading of older streams.
type ChangeError struct {
	// Where is the changed definition, such as "Point", or the changed part of one,
	// such as "Point.Value" or "Attributes.key".
	Where  string
	Reason string
}

// Error implements error.
func (e *ChangeError) Error() string { return e.Where + ": " + e.Reason }

// CompatibleSchemas checks that streams written in old can be read with new: that
// new only appends fields to structs and choices to oneofs. It compares everything
// that the roots of old reach. Field names may change as long as no name moves to
// another position. The error joins one *ChangeError per breaking change.
//
// spec: #evolution
func CompatibleSchemas(old, new *Schema) error {
	c := comparison{compared: map[string]bool{}}
	for _, root := range old.Roots() {
		if other := new.Root(root.Name); other != nil {
			c.structs(root, other)
		} else {
			c.report(root.Name, "is no root any more")
		}
	}
	return errors.Join(c.errs...)
}

// comparison walks two schemas side by side.
type comparison struct {
	// compared has the names of the definitions that were or are being compared.
	compared map[string]bool
	errs     []error
}

func (c *comparison) report(where, format string, args ...any) {
	c.errs = append(c.errs, &ChangeError{Where: where, Reason: fmt.Sprintf(format, args...)})
}

func (c *comparison) structs(old, new *Struct) {
	if c.compared[old.Name] {
		return
	}
	c.compared[old.Name] = true
	if old.Dict != new.Dict {
		c.report(old.Name, "the dictionary was %s and is %s", dictOrNone(old.Dict), dictOrNone(new.Dict))
	}
	if len(new.Fields) < len(old.Fields) {
		what := "fields"
		if old.Oneof {
			what = "choices"
		}
		c.report(old.Name, "had %d %s and has %d; %s cannot be removed", len(old.Fields), what, len(new.Fields), what)
		return
	}
	places := make(map[string]int, len(new.Fields))
	for i, f := range new.Fields {
		places[f.Name] = i
	}
	for i, was := range old.Fields {
		is, where := new.Fields[i], old.Name+"."+was.Name
		if place, ok := places[was.Name]; ok && place != i {
			c.report(where, "was field %d and is field %d; new fields go to the end", i+1, place+1)
			continue
		}
		if was.Optional != is.Optional {
			c.report(where, "was %s and is %s", optionality(was), optionality(is))
		}
		c.types(where, &was.Type, &is.Type)
	}
}

func (c *comparison) types(where string, old, new *Type) {
	if old.Kind != new.Kind || old.String() != new.String() {
		c.report(where, "was of type %s and is of type %s", old.describe(), new.describe())
		return
	}
	switch old.Kind {
	case KindStruct, KindOneof:
		c.structs(old.Struct, new.Struct)
	case KindArray:
		c.types(where, old.Elem, new.Elem)
	case KindMultimap:
		if c.compared[old.Name] {
			return
		}
		c.compared[old.Name] = true
		c.types(old.Name+".key", &old.Multimap.Key, &new.Multimap.Key)
		c.types(old.Name+".value", &old.Multimap.Value, &new.Multimap.Value)
	}
}

// describe distinguishes types that String does not: a name that was a struct and is
// now an enum.
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

func dictOrNone(dict string) string {
	if dict == "" {
		return "none"
	}
	return dict
}
