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

// zeroNames are names of the value 0 of an enum that say that no value was written.
var zeroNames = []string{"", "Unspecified", "Unknown", "Unset", "None"}

// newEnums warns of new fields of an enum type whose value 0 has a meaning: a reader cannot tell an
// older stream, which does not have the field, from a written 0. It compares the structs of old and
// now that have the same name.
func newEnums(path string, old, now *schema.Schema) (list idl.Diagnostics) {
	for _, st := range now.Structs {
		at := slices.IndexFunc(old.Structs, func(s *schema.Struct) bool { return s.Name == st.Name })
		if at < 0 || st.Oneof {
			continue
		}
		for _, f := range st.Fields[min(len(old.Structs[at].Fields), len(st.Fields)):] {
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
				Message: fmt.Sprintf("field %s is new, and records of older streams have %s in it, as if that was written: make it optional, or name the value 0 Unspecified, before you write streams with the new code",
					f.Name, zero),
			})
		}
	}
	return list
}
