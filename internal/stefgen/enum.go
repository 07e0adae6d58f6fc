// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import "github.com/otelstef/stef/stef-go/schema"

func (p *plan) printEnum(pr *printer, e *schema.Enum) {
	pr.P("")
	pr.Doc(docOr(e.Doc, e.Name+" is an enum. Values that are not listed are legal, too."))
	pr.P("type %s uint64", e.Name)
	if len(e.Values) == 0 {
		return
	}
	pr.Decl("// The values of %s.", e.Name)
	pr.P("const (")
	for _, v := range e.Values {
		pr.Doc(prefixed(e.Name, v.Name, v.Doc))
		pr.P("%s%s %s = %d", e.Name, exported(v.Name), e.Name, v.Value)
	}
	pr.P(")")
	pr.Decl("// String returns the name of the value, or its number.")
	pr.P("func (v %s) String() string {", e.Name)
	pr.P("switch v {")
	seen := map[uint64]bool{}
	for _, v := range e.Values {
		if !seen[v.Value] {
			seen[v.Value] = true
			pr.P("case %s%s:\nreturn %q", e.Name, exported(v.Name), v.Name)
		}
	}
	pr.P("}")
	pr.P("return strconv.FormatUint(uint64(v), 10)")
	pr.P("}")
}
