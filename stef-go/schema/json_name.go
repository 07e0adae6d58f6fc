// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"unicode"
	"unicode/utf8"
)

// JSONName returns the name of the field in JSON, which is its name in snake case:
// histogram_bounds for HistogramBounds, schema_url for SchemaURL. Two fields of a
// struct may have the same JSON name; stefc refuses them.
//
// spec: #canonical-json
func (f *Field) JSONName() string { return string(f.AppendJSONName(nil)) }

// AppendJSONName appends the result of JSONName to dst.
func (f *Field) AppendJSONName(dst []byte) []byte {
	if f.Name == "KVList" {
		return append(dst, "kvlist"...)
	}
	var last rune
	for i, r := range f.Name {
		if i > 0 && unicode.IsUpper(r) {
			// A word begins after a lower-case letter, and at the last capital of a
			// run of capitals.
			next, _ := utf8.DecodeRuneInString(f.Name[i+utf8.RuneLen(r):])
			if !unicode.IsUpper(last) || unicode.IsLower(next) {
				dst = append(dst, '_')
			}
		}
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
		last = r
	}
	return dst
}
