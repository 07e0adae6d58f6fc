// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// The limits of references.
//
// spec: #compact-references
const (
	// maxReferred is the maximum total length of the texts that the references of a
	// record stand for.
	maxReferred = 1 << 20
	// maxBodyPairs is the number of pairs at the start of a body that references can
	// use: only these pairs can contain references, or be referred to.
	maxBodyPairs = 256
)

// The formats of times in references.
var timeFormats = map[byte]string{
	'0': "2006-01-02T15:04:05Z",
	'3': "2006-01-02T15:04:05.000Z",
	'6': "2006-01-02T15:04:05.000000Z",
	'9': "2006-01-02T15:04:05.000000000Z",
	'C': "02/Jan/2006:15:04:05 +0000",
}

// The layouts of the day and the clock in references with a format.
var clockLayouts = map[byte]string{
	'T': "2006-01-02T15:04:05",
	' ': "2006-01-02 15:04:05",
	'/': "2006/01/02 15:04:05",
	'C': "02/Jan/2006:15:04:05",
	'J': "Jan _2 15:04:05",
	'A': "Mon Jan 02 15:04:05",
}

// The zones in references with a format.
var clockZones = map[byte]string{'0': "", 'Z': "Z", '+': "-0700", ':': "-07:00", ' ': " -0700"}

// references replaces the references in one log record by the text that they stand for.
//
// spec: #compact-references
type references struct {
	record          view
	traceID, spanID []byte
	time            uint64
	// formats says that the stream can have references with a format.
	formats bool
	// pairs counts the pairs of the body, and texts has the first text of each key.
	pairs int
	texts map[string]string
	// attributes are the attributes of the record, after their references were
	// replaced.
	attributes []dynamic.Pair
	// referred is the total length of the texts that references stand for.
	referred int
}

// resolver returns the text that a reference stands for, or false if it cannot resolve
// the reference. ref is the reference without its first byte, 00.
type resolver func(ref string) (string, bool)

// replace sets the fields Attributes and Body of a LogRecord. refers says whether
// attributes and pairs of the body may have references.
func (r *references) replace(refers bool, fields map[string]any) error {
	typ := r.record.typ
	body, value := choice(structOf(typ, "Body"), r.record.value("Body"))
	r.attributes = r.record.pairs("Attributes")
	if refers {
		r.texts = map[string]string{}
		if body == "Value" {
			bodyType := structOf(structOf(typ, "Body"), "Value")
			value = r.bodyValue(bodyType, value)
		}
		r.attributes = r.replaceAttributes(valueOf(typ, "Attributes"))
		fields["Attributes"] = &dynamic.Multimap{Pairs: r.attributes}
	}
	if body == "Template" {
		value = r.replaceParams(view{structOf(structOf(typ, "Body"), "Template"), value.(*dynamic.Struct)})
	}
	if body != "" {
		fields["Body"] = chosen(structOf(typ, "Body"), body, value)
	}
	if r.referred > maxReferred {
		return corrupt("the references of the record stand for %d bytes, the limit is %d", r.referred, maxReferred)
	}
	return nil
}

// text returns the text that a reference stands for. It returns any other text
// unchanged.
func (r *references) text(text string, resolvers ...resolver) string {
	if len(text) < 2 || text[0] != 0 {
		return text
	}
	for _, resolve := range resolvers {
		if full, ok := resolve(text[1:]); ok {
			r.referred += len(full)
			return full
		}
	}
	return text
}

// bodyValue replaces the references in a value of the body or of one of its pairs.
func (r *references) bodyValue(typ *schema.Struct, v any) any {
	name, value := choice(typ, v)
	if name != "Map" {
		return v
	}
	m := &dynamic.Multimap{}
	for _, p := range value.(*dynamic.Multimap).Pairs {
		r.pairs++
		if r.pairs > maxBodyPairs {
			m.Pairs = append(m.Pairs, p)
			continue
		}
		if name, text := choice(typ, p.Value); name == "String" {
			full := r.text(text.(string), r.id, r.timeText, r.clockText)
			if _, known := r.texts[p.Key.(string)]; !known {
				r.texts[p.Key.(string)] = full
			}
			p.Value = chosen(typ, "String", full)
		} else {
			p.Value = r.bodyValue(typ, p.Value)
		}
		m.Pairs = append(m.Pairs, p)
	}
	return chosen(typ, "Map", m)
}

func (r *references) replaceAttributes(typ *schema.Struct) []dynamic.Pair {
	var pairs []dynamic.Pair
	for _, p := range r.attributes {
		if name, text := choice(typ, p.Value); name == "String" {
			p.Value = chosen(typ, "String", r.text(text.(string), r.id, r.timeText, r.clockText, r.pair))
		}
		pairs = append(pairs, p)
	}
	return pairs
}

func (r *references) replaceParams(template view) *dynamic.Struct {
	params := &dynamic.Multimap{}
	for _, p := range template.pairs("Params") {
		if p.Key.(bool) {
			p.Value = r.text(p.Value.(string), r.id, r.timeText, r.clockText, r.attribute, r.decimal)
		}
		params.Pairs = append(params.Pairs, p)
	}
	return template.with(template.typ, map[string]any{"Params": params})
}

// id resolves references to the trace id and the span id of the record.
func (r *references) id(ref string) (string, bool) {
	id := r.traceID
	if ref == "s" {
		id = r.spanID
	} else if ref != "t" {
		return "", false
	}
	return hex.EncodeToString(id), len(id) > 0
}

// timeText resolves references to the time of the record, formatted in UTC.
func (r *references) timeText(ref string) (string, bool) {
	if len(ref) != 2 || ref[0] != 'T' {
		return "", false
	}
	const second = uint64(time.Second)
	format, ok := timeFormats[ref[1]]
	return time.Unix(int64(r.time/second), int64(r.time%second)).UTC().Format(format), ok
}

// clockText resolves references to the time of the record, formatted as the local time of a zone.
func (r *references) clockText(ref string) (string, bool) {
	if !r.formats || len(ref) != 5 || ref[0] != 'L' {
		return "", false
	}
	layout, known := clockLayouts[ref[1]]
	zone, knownZone := clockZones[ref[3]]
	quarters := int(ref[4]) - 64
	digits, mark := int(ref[2])-'0', "."
	if ref[2] >= 'a' {
		digits, mark = int(ref[2])-'a'+1, ","
	}
	if !known || !knownZone || digits < 0 || digits > 9 || quarters < -56 || quarters > 56 {
		return "", false
	}
	local := new(big.Int).SetUint64(r.time)
	local.Add(local, big.NewInt(int64(quarters)*int64(15*time.Minute)))
	if !local.IsUint64() {
		return "", false
	}
	nanos := fmt.Sprintf("%09d", r.time%uint64(time.Second))
	if digits == 0 {
		mark = ""
	}
	at := time.Unix(int64(r.time/uint64(time.Second)), 0).In(time.FixedZone("", quarters*15*60))
	text := at.Format(layout) + mark + nanos[:digits]
	if ref[1] == 'A' {
		text += at.Format(" 2006")
	}
	return text + at.Format(zone), true
}

// decimal resolves references to an attribute that is a double, formatted as a decimal number.
func (r *references) decimal(ref string) (string, bool) {
	if !r.formats || len(ref) != 3 || ref[0] != 'd' || int(ref[1]) >= len(r.attributes) || ref[2] < '0' || ref[2] > '9' {
		return "", false
	}
	name, value := choice(valueOf(r.record.typ, "Attributes"), r.attributes[ref[1]].Value)
	if name != "Float64" {
		return "", false
	}
	f := value.(float64)
	if a := math.Abs(f); a != 0 && (!(a >= 0x1p-20) || a >= 0x1p53) {
		return "", false
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	_, decimals, point := strings.Cut(text, ".")
	least := int(ref[2] - '0')
	if least > 0 && !point {
		text += "."
	}
	return text + strings.Repeat("0", max(least-len(decimals), 0)), true
}

// pair resolves references to texts of pairs of the body.
func (r *references) pair(ref string) (string, bool) {
	if ref[0] != 'k' {
		return "", false
	}
	text, ok := r.texts[ref[1:]]
	return text, ok
}

// attribute resolves references to attributes that are text or an integer.
func (r *references) attribute(ref string) (string, bool) {
	if len(ref) != 2 || ref[0] != 'a' || int(ref[1]) >= len(r.attributes) {
		return "", false
	}
	typ := valueOf(r.record.typ, "Attributes")
	name, value := choice(typ, r.attributes[ref[1]].Value)
	if name == "Array" {
		elems := value.(*dynamic.Array).Elems
		if len(elems) != 1 {
			return "", false
		}
		name, value = choice(typ, elems[0])
	}
	switch name {
	case "String":
		return value.(string), true
	case "Int64":
		return strconv.FormatInt(value.(int64), 10), true
	}
	return "", false
}
