// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/schema"
)

// copyMethod returns the name of the method with which generated code copies a struct, oneof, multimap
// or array. For types that can contain themselves it is copyFrom, not CopyFrom: their CopyFrom also
// checks that neither value is part of the other. For nested values, the checks would cost time that
// is quadratic in the depth.
func (p *plan) copyMethod(t *schema.Type) string {
	if t.Kind != schema.KindArray && p.cyclic[key(t)] {
		return "copyFrom"
	}
	return "CopyFrom"
}

// copyAdded returns code that adds a node and copies src to it. add is the call that adds and
// returns the node, and dst is the field that then holds the node. The code copies an array to dst,
// not to the result of add: this result has a type of package list, whose CopyFrom would check again
// that neither array is part of the other.
func (p *plan) copyAdded(t *schema.Type, add, dst, src string) string {
	if t.Kind == schema.KindArray {
		return fmt.Sprintf("%s\n%s.CopyFrom(%s)", add, dst, src)
	}
	return fmt.Sprintf("%s.%s(%s)", add, p.copyMethod(t), src)
}

// printCopyFrom prints the end of the comment of CopyFrom, and the beginning of the method that
// copies. This is CopyFrom, or copyFrom for a type that can contain itself. For such a type it
// also prints all of CopyFrom.
func (p *plan) printCopyFrom(pr *printer, t *schema.Type, recv string) {
	cyclic := p.cyclic[key(t)]
	pr.If(cyclic, "// It panics if one of the values is part of the other: copy src to a new value first.")
	pr.If(holdsShared(t), "//\n// Call Unshare before a goroutine with another writer gets "+recv+".")
	if cyclic {
		pr.P("func (%s *%s) CopyFrom(src *%s) {", recv, t.Name, t.Name)
		check := fmt.Sprintf("stefrt.RefuseNested(&%s.node, &src.node)", recv)
		if t.Kind == schema.KindOneof { // composite choices are stored in the box: without a box no check is needed
			check = fmt.Sprintf("if %s.box != nil || src.box != nil {\n%s\n}", recv, check)
		}
		pr.P("%s\n%s.copyFrom(src)\n}\n", check, recv)
	}
	pr.P("func (%s *%s) %s(src *%s) {", recv, t.Name, p.copyMethod(t), t.Name)
}
