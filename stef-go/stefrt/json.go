// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// JSON prints a value: the String and MarshalJSON methods of generated types use it.
// Bytes are base64. Floats that JSON cannot express are text. Text that is not UTF-8 is
// printed as closely as possible for human readers, and with U+FFFD for programs, as
// encoding/json does.
type JSON struct {
	out   []byte
	first bool // nothing was printed since the last Open
	valid bool // whether the output must be valid JSON
}

// StringOf returns the output of print.
func StringOf(print func(j *JSON)) string {
	var j JSON
	print(&j)
	return string(j.out)
}

// Marshal returns the output of print as valid JSON.
func Marshal(print func(j *JSON)) ([]byte, error) {
	j := JSON{valid: true}
	print(&j)
	return j.out, nil
}

// Unmarshal returns the error of the UnmarshalJSON methods of generated types. Without
// these methods encoding/json would find no fields, set nothing and return nil.
func Unmarshal(name string) error {
	return fmt.Errorf("stef: JSON cannot be read into %s: the output of MarshalJSON is for human readers and logs", name)
}

// Open begins an object or array.
func (j *JSON) Open(bracket byte) {
	j.out = append(j.out, bracket)
	j.first = true
}

// Close ends an object or array.
func (j *JSON) Close(bracket byte) {
	j.out = append(j.out, bracket)
	j.first = false
}

// Item separates an element of an array from the previous element.
func (j *JSON) Item() {
	if !j.first {
		j.out = append(j.out, ',')
	}
	j.first = false
}

// Field begins a field of an object.
func (j *JSON) Field(name string) *JSON {
	j.Item()
	j.Text(name)
	j.out = append(j.out, ':')
	return j
}

// Null prints an absent value.
func (j *JSON) Null() { j.out = append(j.out, "null"...) }

// Text prints text in quotes.
func (j *JSON) Text(v string) {
	b, err := json.Marshal(v)
	if err != nil || !j.valid && !utf8.ValidString(v) {
		b = strconv.AppendQuote(nil, v)
	}
	j.out = append(j.out, b...)
}

// Name prints v, the result of the String method of an enum: a name in quotes, or a
// number as it is. Names begin with a letter.
func (j *JSON) Name(v string) {
	if v[0] >= '0' && v[0] <= '9' {
		j.out = append(j.out, v...)
		return
	}
	j.Text(v)
}

// Any prints a primitive value or an array of them.
func (j *JSON) Any(v any) {
	switch v := v.(type) {
	case string:
		j.Text(v)
	case []byte:
		j.out = append(base64.StdEncoding.AppendEncode(append(j.out, '"'), v), '"')
	case []bool:
		printEach(j, v)
	case []int64:
		printEach(j, v)
	case []uint64:
		printEach(j, v)
	case []float64:
		printEach(j, v)
	case []string:
		printEach(j, v)
	case [][]byte:
		printEach(j, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			j.Text(Plain(v))
			return
		}
		j.out = append(j.out, Plain(v)...)
	default:
		j.out = append(j.out, Plain(v)...)
	}
}

func printEach[T any](j *JSON, values []T) {
	j.Open('[')
	for _, v := range values {
		j.Item()
		j.Any(v)
	}
	j.Close(']')
}

// PrintArray prints an array of composite values.
func PrintArray[T any](j *JSON, a *Array[T], print func(v *T, j *JSON)) {
	j.Open('[')
	for i := range a.Len() {
		j.Item()
		print(a.At(i), j)
	}
	j.Close(']')
}

// PrintPairs prints a multimap with text keys: as an object, or as an array of pairs if
// keys repeat, because parsers of JSON keep only one of the values of a key.
func PrintPairs[P any](j *JSON, pairs []P, key func(p P) string, value func(p P)) {
	seen := make(map[string]bool, len(pairs))
	for _, p := range pairs {
		k := key(p)
		if j.valid && !utf8.ValidString(k) {
			k = string([]rune(k)) // as Text prints it
		}
		seen[k] = true
	}
	if len(seen) == len(pairs) {
		j.Open('{')
		for _, p := range pairs {
			j.Field(key(p))
			value(p)
		}
		j.Close('}')
		return
	}
	j.Open('[')
	for _, p := range pairs {
		j.Item()
		j.Open('[')
		j.Item()
		j.Text(key(p))
		j.Item()
		value(p)
		j.Close(']')
	}
	j.Close(']')
}

// PrintNames prints an array of an enum.
func PrintNames[E interface {
	~uint64
	String() string
}](j *JSON, values []uint64) {
	j.Open('[')
	for _, v := range values {
		j.Item()
		j.Name(E(v).String())
	}
	j.Close(']')
}

// Plain returns a primitive value in readable form, without quotes.
func Plain(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case string:
		return v
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case float64:
		if b, err := json.Marshal(v); err == nil {
			return string(b)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}
