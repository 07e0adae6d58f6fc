// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/otelstef/stef/internal/stefgen"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// pluralNames warns of fields whose name has a plural of an acronym, because the JSON name splits it:
// VLANs becomes vla_ns. The specification defines JSON names, so only another name of the field helps.
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

// vetted lists method names for which go vet expects a certain signature. go vet reports getters
// with these names in all types.
var vetted = []string{
	"GobDecode", "GobEncode", "MarshalXML", "ReadByte", "ReadRune", "UnmarshalXML", "UnreadByte", "UnreadRune", "WriteByte",
}

// methodNames warns of fields whose getter does not have the name of the field, or has a name
// for which go vet expects another signature. Without the warning, users may call String() to
// get the field String: this compiles, but prints the whole record.
func methodNames(path string, s *schema.Schema) (list idl.Diagnostics) {
	for _, st := range s.Structs {
		for _, f := range st.Fields {
			name, message := upperFirst(f.Name), ""
			switch other := stefgen.Renamed(name, f.Type.Kind); {
			case name == "String":
				message = fmt.Sprintf("the getter of field %s is %s(), because String() prints all of %s", f.Name, other, st.Name)
			case other != "":
				message = fmt.Sprintf("the getter of field %s is %s(), because package fmt would print only the result of %s() in place of %s", f.Name, other, name, st.Name)
			case slices.Contains(vetted, name):
				message = fmt.Sprintf("go vet reports the getter %s() of field %s, because it expects another signature of a method of this name: rename the field", name, f.Name)
			default:
				continue
			}
			list = append(list, idl.Diagnostic{Filename: path, Pos: f.Pos, Width: len(f.Name), Warning: true, Message: message})
		}
	}
	return list
}

// withoutPlurals returns a name with each plural of an acronym written as a word: VlanIds for
// VlanIDs.
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

// otherStyle matches names in snake case, and names with five or more letters that are all
// capitals. Shorter names, such as HTTP, may be acronyms.
var otherStyle = regexp.MustCompile(`_|^([A-Z][0-9]*){5,}$`)

// otherCase warns of names of fields and enum values that are in snake case or in capitals, because
// they become parts of Go names.
func otherCase(path string, s *schema.Schema) (list idl.Diagnostics) {
	// warn warns of a name. what says what the name becomes in Go, and names has all names of the
	// same struct or enum.
	warn := func(pos schema.Pos, name, what string, names map[string]bool) {
		advice := "write " + mixedCaps(name)
		if names[mixedCaps(name)] {
			advice = mixedCaps(name) + " is taken"
		}
		list = append(list, idl.Diagnostic{
			Filename: path, Pos: pos, Width: utf8.RuneCountInString(name), Warning: true,
			Message: fmt.Sprintf("%s in Go; names are in MixedCaps, %s", what, advice),
		})
	}
	for _, st := range s.Structs {
		names := map[string]bool{}
		for _, f := range st.Fields {
			names[f.Name] = true
		}
		for _, f := range st.Fields {
			if otherStyle.MatchString(f.Name) {
				warn(f.Pos, f.Name, fmt.Sprintf("field %s has the setter Set%s", f.Name, upperFirst(f.Name)), names)
			}
		}
	}
	for _, e := range s.Enums {
		names := map[string]bool{}
		for _, v := range e.Values {
			names[v.Name] = true
		}
		for _, v := range e.Values {
			if otherStyle.MatchString(v.Name) {
				warn(v.Pos, v.Name, fmt.Sprintf("value %s of enum %s is the constant %s%s", v.Name, e.Name, e.Name, upperFirst(v.Name)), names)
			}
		}
	}
	return list
}

// mixedCaps converts a name to the form of names in Go: order_id and ORDER_ID to OrderID.
func mixedCaps(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		switch word = strings.ToLower(word); word {
		case "":
		case "id", "url":
			b.WriteString(strings.ToUpper(word))
		default:
			b.WriteString(upperFirst(word))
		}
	}
	return b.String()
}

func upperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}
