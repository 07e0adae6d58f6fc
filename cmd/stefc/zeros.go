// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// zeroNames are names for the value 0 of an enum. They say that no value was written.
var zeroNames = []string{"", "Unspecified", "Unknown", "Unset", "None"}

// newEnums warns of new fields of an enum type whose value 0 has a meaning: a reader cannot
// distinguish an older stream without the field from a stream with a written 0. Optional fields
// do not have this problem.
func newEnums(path string, old, now *schema.Schema) (list idl.Diagnostics) {
	before := predecessors(old, now)
	for _, st := range now.Structs {
		was := before[st]
		if was == nil || st.Oneof {
			continue
		}
		for _, f := range st.Fields[min(len(was.Fields), len(st.Fields)):] {
			if f.Optional || f.Type.Kind != schema.KindEnum {
				continue
			}
			zero := ""
			if i := slices.IndexFunc(f.Type.Enum.Values, func(v schema.EnumValue) bool { return v.Value == 0 }); i >= 0 {
				zero = f.Type.Enum.Values[i].Name
			}
			if slices.Contains(zeroNames, zero) {
				continue
			}
			list = append(list, idl.Diagnostic{
				Filename: path, Pos: f.Pos, Width: utf8.RuneCountInString(f.Name), Warning: true,
				Message: fmt.Sprintf("field %s is new, and records of older streams read as %s, as if a writer had set it: make the field optional, or name the value 0 Unspecified, before you write streams with the new code",
					f.Name, zero),
			})
		}
	}
	return list
}

// predecessors maps each struct of now to the struct of old in the same place, which may have
// another name. It follows the fields of the roots, because streams have no other structs.
func predecessors(old, now *schema.Schema) map[*schema.Struct]*schema.Struct {
	structs := map[*schema.Struct]*schema.Struct{}
	multimaps := map[*schema.Multimap]bool{}
	var follow func(was, is *schema.Struct)
	var followType func(was, is *schema.Type)
	follow = func(was, is *schema.Struct) {
		if structs[is] != nil {
			return
		}
		structs[is] = was
		for i := range min(len(was.Fields), len(is.Fields)) {
			followType(&was.Fields[i].Type, &is.Fields[i].Type)
		}
	}
	followType = func(was, is *schema.Type) {
		switch {
		case was.Kind != is.Kind: // reported as a change
		case is.Kind == schema.KindStruct, is.Kind == schema.KindOneof:
			follow(was.Struct, is.Struct)
		case is.Kind == schema.KindArray:
			followType(was.Elem, is.Elem)
		case is.Kind == schema.KindMultimap && !multimaps[is.Multimap]:
			multimaps[is.Multimap] = true
			followType(&was.Multimap.Key, &is.Multimap.Key)
			followType(&was.Multimap.Value, &is.Multimap.Value)
		}
	}
	renamed := renamedRoot(old, now)
	for _, root := range old.Roots() {
		name := root.Name
		if name == renamed.was {
			name = renamed.is
		}
		if is := now.Root(name); is != nil {
			follow(root, is)
		}
	}
	return structs
}
