// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"
)

// The types of values, as letters.
const (
	letterString = 's'
	letterInt    = 'i'
	letterDouble = 'd'
	letterBool   = 'b'
	letterBytes  = 'x'
	letterArray  = 'a'
	letterMap    = 'm'
	letterNone   = 'n'
)

// maxDepth is how deep arrays and maps may be nested in a text. Deeper values are
// stored as OTLP.
const maxDepth = 64

// canonicalNaN is the NaN that the text NaN stands for.
var canonicalNaN = math.Float64bits(math.NaN())

// textOf returns the text of a value and the letter of its type. exact is false if text and
// letter do not determine the value. The text of a text value is the value itself.
func textOf(v pcommon.Value) (text string, letter byte, exact bool) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		text, exact = valid(v.Str())
		return text, letterString, exact
	case pcommon.ValueTypeInt:
		return strconv.FormatInt(v.Int(), 10), letterInt, true
	case pcommon.ValueTypeDouble:
		d := v.Double()
		return strconv.FormatFloat(d, 'g', -1, 64), letterDouble, d == d || math.Float64bits(d) == canonicalNaN
	case pcommon.ValueTypeBool:
		return strconv.FormatBool(v.Bool()), letterBool, true
	case pcommon.ValueTypeBytes:
		return base64.StdEncoding.EncodeToString(v.Bytes().AsRaw()), letterBytes, true
	case pcommon.ValueTypeSlice:
		b, exact := appendJSON(nil, v, 0)
		return string(b), letterArray, exact
	case pcommon.ValueTypeMap:
		b, exact := appendJSON(nil, v, 0)
		return string(b), letterMap, exact
	}
	return "", letterNone, true
}

// valid returns s if it is UTF-8, and s with replacements otherwise.
func valid(s string) (string, bool) {
	if utf8.ValidString(s) {
		return s, true
	}
	return strings.ToValidUTF8(s, "\uFFFD"), false
}

// appendJSON appends a value as JSON. Numbers with a decimal point or an exponent are
// doubles, all other numbers are integers. It returns false if the JSON does not represent
// the value exactly.
func appendJSON(b []byte, v pcommon.Value, depth int) ([]byte, bool) {
	if depth > maxDepth {
		return append(b, `"..."`...), false
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return appendText(b, v.Str())
	case pcommon.ValueTypeInt:
		return strconv.AppendInt(b, v.Int(), 10), true
	case pcommon.ValueTypeDouble:
		return appendDouble(b, v.Double())
	case pcommon.ValueTypeBool:
		return strconv.AppendBool(b, v.Bool()), true
	case pcommon.ValueTypeBytes:
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, v.Bytes().AsRaw())
		return append(b, '"'), false
	case pcommon.ValueTypeSlice:
		exact := true
		b = append(b, '[')
		for i, e := range v.Slice().All() {
			if i > 0 {
				b = append(b, ',')
			}
			var ok bool
			b, ok = appendJSON(b, e, depth+1)
			exact = exact && ok
		}
		return append(b, ']'), exact
	case pcommon.ValueTypeMap:
		exact := true
		b = append(b, '{')
		first := true
		for k, e := range v.Map().All() {
			if !first {
				b = append(b, ',')
			}
			first = false
			var ok bool
			b, ok = appendText(b, k)
			exact = exact && ok
			b = append(b, ':')
			b, ok = appendJSON(b, e, depth+1)
			exact = exact && ok
		}
		return append(b, '}'), exact
	}
	return append(b, "null"...), true
}

func appendText(b []byte, s string) ([]byte, bool) {
	s, exact := valid(s)
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c == 0x7f {
			quoted, _ := json.Marshal(s) // cannot fail for a string
			return append(b, quoted...), exact
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"'), exact
}

func appendDouble(b []byte, d float64) ([]byte, bool) {
	if math.IsNaN(d) || math.IsInf(d, 0) {
		return strconv.AppendQuote(b, strconv.FormatFloat(d, 'g', -1, 64)), false
	}
	from := len(b)
	b = strconv.AppendFloat(b, d, 'g', -1, 64)
	if !bytes.ContainsAny(b[from:], ".e") {
		b = append(b, ".0"...)
	}
	return b, true
}

// setText sets dst to a value, from its text and the letter of its type. fits is false if the
// text is not valid for the type. known is false if the letter is unknown. If one of them is
// false, dst is undefined.
func setText(dst pcommon.Value, text string, letter byte) (fits, known bool) {
	switch letter {
	case letterString:
		dst.SetStr(text)
		return true, true
	case letterInt:
		n, err := strconv.ParseInt(text, 10, 64)
		dst.SetInt(n)
		return err == nil, true
	case letterDouble:
		d, err := strconv.ParseFloat(text, 64)
		dst.SetDouble(d)
		return err == nil, true
	case letterBool:
		dst.SetBool(text == "true")
		return text == "true" || text == "false", true
	case letterBytes:
		raw, err := base64.StdEncoding.DecodeString(text)
		dst.SetEmptyBytes().FromRaw(raw)
		return err == nil, true
	case letterArray:
		return strings.HasPrefix(text, "[") && setJSON(dst, text), true
	case letterMap:
		return strings.HasPrefix(text, "{") && setJSON(dst, text), true
	case letterNone:
		return text == "", true
	}
	return false, false
}

// setJSON sets dst to the value that appendJSON wrote as text. It returns false if it cannot
// decode the text.
func setJSON(dst pcommon.Value, text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if jsonValue(d, dst, 0) != nil {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}

func jsonValue(d *json.Decoder, dst pcommon.Value, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case string:
		dst.SetStr(t)
	case bool:
		dst.SetBool(t)
	case json.Number:
		return jsonNumber(dst, string(t))
	case json.Delim:
		if depth > maxDepth { // appendJSON writes no lists and maps at such a depth
			return errors.New("values are nested too deeply")
		}
		if t == '[' {
			return jsonArray(d, dst.SetEmptySlice(), depth)
		}
		return jsonMap(d, dst.SetEmptyMap(), depth)
	}
	return nil
}

func jsonNumber(dst pcommon.Value, text string) error {
	if strings.ContainsAny(text, ".eE") {
		d, err := strconv.ParseFloat(text, 64)
		dst.SetDouble(d)
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	dst.SetInt(n)
	return err
}

func jsonArray(d *json.Decoder, dst pcommon.Slice, depth int) error {
	for d.More() {
		if err := jsonValue(d, dst.AppendEmpty(), depth+1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func jsonMap(d *json.Decoder, dst pcommon.Map, depth int) error {
	var b xpdata.MapBuilder
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if err := jsonValue(d, b.AppendEmpty(key.(string)), depth+1); err != nil {
			return err
		}
	}
	b.UnsafeIntoMap(dst)
	_, err := d.Token()
	return err
}
