// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"go/token"
	"strings"
	"unicode"
)

// exported returns name with its first letter in upper case.
func exported(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// private returns name as an unexported Go identifier, initialisms in lower
// case: TraceID is traceID, IDKeys is idKeys, URL is url.
func private(name string) string {
	r := []rune(name)
	for i := range r {
		last := i == len(r)-1
		if !unicode.IsUpper(r[i]) || i > 0 && !last && unicode.IsLower(r[i+1]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	if s := string(r); !token.IsKeyword(s) {
		return s
	}
	return string(r) + "Field"
}

// fileName returns the name of the file of a type: point_value.stef.go.
func fileName(typ string) string {
	var b strings.Builder
	r := []rune(typ)
	for i, c := range r {
		if unicode.IsUpper(c) && i > 0 && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String() + ".stef.go"
}
