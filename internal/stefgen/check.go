// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/schema"
)

// checkTypes refuses types that generated code cannot have.
func (p *plan) checkTypes() error {
	for _, s := range p.structs {
		if err := checkTypeName(s.Name, s.Pos); err != nil {
			return err
		}
		if p.endless(s) {
			return fmt.Errorf("%d:%d: struct %s contains itself by way of an optional dictionary struct, which generated code cannot leave out: put an array, multimap or oneof between",
				s.Pos.Line, s.Pos.Column, s.Name)
		}
	}
	for _, m := range p.multimaps {
		if err := checkTypeName(m.Name, m.Pos); err != nil {
			return err
		}
	}
	for _, e := range p.enums {
		if err := checkTypeName(e.Name, e.Pos); err != nil {
			return err
		}
	}
	return nil
}

// checkTypeName refuses names that are not exported, among them all that Go
// and generated code use themselves.
func checkTypeName(name string, pos schema.Pos) error {
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsUpper(first) {
		return fmt.Errorf("%d:%d: %s does not begin with an upper-case letter, as types do in generated code", pos.Line, pos.Column, name)
	}
	return nil
}

// endless says whether an initial value of s takes another one of s.
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
