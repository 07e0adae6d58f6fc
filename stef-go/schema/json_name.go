// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import "unicode"

// JSONName returns the name of the field in JSON, which is its name in snake case:
// histogram_bounds for HistogramBounds, schema_url for SchemaURL. Two fields of a
// struct may have the same JSON name; stefc refuses them.
//
// spec: #canonical-json
func (f *Field) JSONName() string {
	if f.Name == "KVList" {
		return "kvlist"
	}
	var snake []rune
	runes := []rune(f.Name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			// A word begins after a lower-case letter, and at the last capital of a
			// run of capitals.
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(runes[i-1]) || next {
				snake = append(snake, '_')
			}
		}
		snake = append(snake, unicode.ToLower(r))
	}
	return string(snake)
}
