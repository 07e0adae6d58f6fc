// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import "strings"

// docOr returns the comment of the schema, or the second argument if there is no comment.
func docOr(doc, otherwise string) string {
	if doc = strings.TrimSpace(doc); doc != "" {
		return doc
	}
	return otherwise
}

// prefixed returns the comment of a value whose Go name begins with the name of its
// type. If the comment begins with the name in the schema, the Go name replaces this name.
func prefixed(typ, name, doc string) string {
	doc = strings.TrimSpace(doc)
	if doc == "" {
		return typ + exported(name) + " is " + name + "."
	}
	if rest, ok := strings.CutPrefix(doc, name+" "); ok {
		return typ + exported(name) + " " + rest
	}
	return typ + exported(name) + ": " + doc
}

// getterDoc returns the comment of the getter of a field. It is the schema's comment, if this
// comment begins with the name of the field. If not, "returns the field" precedes the schema's
// comment. If the getter and the field have different names, the comment also names the field.
func getterDoc(getter, name, doc string) string {
	doc = strings.TrimSpace(doc)
	returns, renamed := getter+" returns the field", getter != exported(name)
	if renamed {
		returns += " " + name
	}
	if doc == "" {
		return returns + "."
	}
	if rest, ok := strings.CutPrefix(doc, name+" "); ok && !renamed {
		return getter + " " + rest
	}
	return returns + ": " + doc
}
