// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/schema"
)

// dictionaries checks the use of dictionary names. A name denotes one dictionary in
// the whole file. All types with this name share its entries, so they must have entries
// of the same type.
func (c *checker) dictionaries() {
	first := map[string]dictUse{}
	for _, s := range c.schema.Structs {
		if s.Dict != "" {
			first[s.Dict] = dictUse{"structs", s.Pos.Line}
		}
	}
	c.eachType(func(t *schema.Type, _ bool) {
		if t.Dict == "" || !c.stringDict(t) {
			return
		}
		at := c.places[t].dict
		use := dictUse{"values of type " + t.Kind.String(), at.pos.Line}
		other, taken := first[t.Dict]
		if !taken {
			first[t.Dict] = use
			return
		}
		if other.holds != use.holds {
			c.list.errorf(at, "dictionary %s cannot hold %s: it holds %s, see line %d",
				quoted(t.Dict), use.holds, other.holds, other.line)
		}
	})
}

// whatCan is the end of a message about a type that cannot have a dictionary.
const whatCan = ": only string, bytes and structs can, a struct at its definition, as in \"struct S dict(S) {\""

type dictUse struct {
	holds string
	line  int
}

// stringDict reports whether a type that names a dictionary can have a dictionary. It adds an error
// for an enum. For a struct, oneof or multimap it adds a warning, and removes the dictionary name
// from t.
func (c *checker) stringDict(t *schema.Type) bool {
	at := c.places[t].dict
	switch t.Kind {
	case schema.KindString, schema.KindBytes:
		return true
	case schema.KindEnum:
		c.list.errorf(at, "enum %s cannot have a dictionary%s", quoted(t.Name), whatCan)
	case schema.KindStruct:
		why := "names its dictionary where it is defined"
		if t.Struct.Dict == "" {
			why = fmt.Sprintf("has none; for one, write \"struct %[1]s dict(%[1]s) {\" at its definition", t.Name)
		}
		c.list.warnf(at, "the dictionary here has no effect: struct %s %s", quoted(t.Name), why)
		t.Dict = ""
	case schema.KindOneof, schema.KindMultimap:
		c.list.warnf(at, "the dictionary here has no effect: a %s has none", t.Kind)
		t.Dict = ""
	}
	return false
}
