// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/schema"
)

// enumChanges returns an error for each value of an enum whose number has another name,
// or none, in now. A value may be renamed, and an enum too.
func enumChanges(old, now *schema.Schema) []error {
	var list []error
	for _, was := range old.Enums {
		if is := enumOf(was, old, now); is != nil {
			list = append(list, valueChanges(was, is)...)
		}
	}
	return list
}

// enumOf returns what an enum of old is in now: the enum of the same name, else the type
// of the same field, else nil.
func enumOf(was *schema.Enum, old, now *schema.Schema) *schema.Enum {
	var same *schema.Enum
	for _, e := range now.Enums {
		if e.Name == was.Name {
			same = e
		}
	}
	if same != nil {
		return same
	}
	structs := map[string]*schema.Struct{}
	for _, s := range now.Structs {
		structs[s.Name] = s
	}
	for _, s := range old.Structs {
		other := structs[s.Name]
		for i, f := range s.Fields {
			if other != nil && i < len(other.Fields) && enumIn(&f.Type) == was {
				return enumIn(&other.Fields[i].Type)
			}
		}
	}
	return nil
}

// enumIn returns the enum that is a type or its element, or nil.
func enumIn(t *schema.Type) *schema.Enum {
	if t.Kind == schema.KindArray {
		return t.Elem.Enum
	}
	return t.Enum
}

func valueChanges(was, is *schema.Enum) []error {
	numbers, names := map[string]uint64{}, map[uint64]string{}
	for _, v := range is.Values {
		numbers[v.Name], names[v.Value] = v.Value, v.Name
	}
	var list []error
	for _, v := range was.Values {
		number, kept := numbers[v.Name]
		_, named := names[v.Value]
		switch {
		case kept && number == v.Value:
		case kept && named:
			list = append(list, fmt.Errorf("%s.%s: was %d and is %d: old streams are read with the wrong names", was.Name, v.Name, v.Value, number))
		case kept:
			list = append(list, fmt.Errorf("%s.%s: was %d and is %d: old streams have a value without a name", was.Name, v.Name, v.Value, number))
		case !named:
			list = append(list, fmt.Errorf("%s.%s: was %d and is removed: old streams have a value without a name", was.Name, v.Name, v.Value))
		}
	}
	return list
}
