// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"encoding/base64"
	"encoding/json"
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
	valid bool // for programs
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

// Item separates an element of an array from the one before it.
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

// PrintNames prints an array of an enum.
func PrintNames[E interface {
	~uint64
	String() string
}](j *JSON, values []uint64) {
	j.Open('[')
	for _, v := range values {
		j.Item()
		j.Text(E(v).String())
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
