// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// The limits of references.
//
// spec: #compact-references
const (
	// maxReferred is how many bytes the references of a record may stand for.
	maxReferred = 1 << 20
	// maxBodyPairs is how many pairs of a body can have references and be referred to.
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

// references replaces the texts of one log record that refer to the record.
//
// spec: #compact-references
type references struct {
	record          view
	traceID, spanID []byte
	time            uint64
	// pairs counts the pairs of the body, and texts has the first text of each key.
	pairs int
	texts map[string]string
	// attributes are those of the record, after their references were replaced.
	attributes []dynamic.Pair
	// referred counts the bytes that references stand for.
	referred int
}

// resolver returns what a reference after its byte 00 stands for, or false if it is none.
type resolver func(ref string) (string, bool)

// replace sets the fields Attributes and Body of a LogRecord. refers says whether
// attributes and pairs may have references.
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

// text returns what a text stands for.
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
			full := r.text(text.(string), r.id, r.timeText)
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
			p.Value = chosen(typ, "String", r.text(text.(string), r.id, r.timeText, r.pair))
		}
		pairs = append(pairs, p)
	}
	return pairs
}

func (r *references) replaceParams(template view) *dynamic.Struct {
	params := &dynamic.Multimap{}
	for _, p := range template.pairs("Params") {
		if p.Key.(bool) {
			p.Value = r.text(p.Value.(string), r.id, r.timeText, r.attribute)
		}
		params.Pairs = append(params.Pairs, p)
	}
	return template.with(template.typ, map[string]any{"Params": params})
}

// id resolves references to the ids.
func (r *references) id(ref string) (string, bool) {
	id := r.traceID
	if ref == "s" {
		id = r.spanID
	} else if ref != "t" {
		return "", false
	}
	return hex.EncodeToString(id), len(id) > 0
}

// timeText resolves references to the time.
func (r *references) timeText(ref string) (string, bool) {
	if len(ref) != 2 || ref[0] != 'T' {
		return "", false
	}
	const second = uint64(time.Second)
	format, ok := timeFormats[ref[1]]
	return time.Unix(int64(r.time/second), int64(r.time%second)).UTC().Format(format), ok
}

// pair resolves references to pairs of the body.
func (r *references) pair(ref string) (string, bool) {
	if ref[0] != 'k' {
		return "", false
	}
	text, ok := r.texts[ref[1:]]
	return text, ok
}

// attribute resolves references to attributes.
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
