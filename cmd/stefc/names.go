// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// pluralNames warns of fields whose JSON name splits a plural of capitals: VLANs is
// vla_ns. The rule of the names is part of the specification, so the names must change.
func pluralNames(path string, s *schema.Schema) (list idl.Diagnostics) {
	for _, st := range s.Structs {
		for _, f := range st.Fields {
			better := withoutPlurals(f.Name)
			if better == f.Name {
				continue
			}
			list = append(list, idl.Diagnostic{
				Filename: path, Pos: f.Pos, Width: utf8.RuneCountInString(f.Name), Warning: true,
				Message: fmt.Sprintf("field %s is %q in JSON; if it should be %q, write %s", f.Name, f.JSONName(), (&schema.Field{Name: better}).JSONName(), better),
			})
		}
	}
	return list
}

// renamedGetters warns of fields String: the method of that name compiles and returns
// something else, so users would not notice that the getter has another name.
func renamedGetters(path string, s *schema.Schema) (list idl.Diagnostics) {
	for _, st := range s.Structs {
		for _, f := range st.Fields {
			if f.Name == "String" {
				list = append(list, idl.Diagnostic{
					Filename: path, Pos: f.Pos, Width: len(f.Name), Warning: true,
					Message: fmt.Sprintf("the getter of field String is Str(), because String() prints all of %s", st.Name),
				})
			}
		}
	}
	return list
}

// withoutPlurals returns a name with the plurals of capitals in it written as words:
// VlanIds for VlanIDs.
func withoutPlurals(name string) string {
	b := []byte(name)
	for start := 0; start < len(b); start++ {
		end := start
		for end < len(b) && isUpper(b[end]) {
			end++
		}
		plural := end-start >= 2 && end < len(b) && b[end] == 's' && (end+1 == len(b) || isUpper(b[end+1]))
		if plural {
			copy(b[start+1:end], strings.ToLower(string(b[start+1:end])))
		}
		start = end
	}
	return string(b)
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
