// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// RandomMessage returns a random OTLP message of a signal. The messages cover all content of OTLP
// and all its encodings in protobuf: fields in any order, singular fields several times, numbers in
// more bytes than necessary, packed and unpacked lists, unknown fields between known fields.
func RandomMessage(rng *rand.Rand, signal string) []byte {
	g := generator{rng: rng}
	var items field
	switch signal {
	case "metrics":
		points := map[string]*shape{
			"gauge": numberShape, "sum": numberShape, "histogram": histogramShape,
			"exponential_histogram": exponentialShape, "summary": summaryShape,
		}
		metric := new(shape)
		for number, name := range metricShape.names {
			if point := points[name]; point != nil {
				data := newShape(field{1, actMessage, "data_points", point})
				if known := dataShapes[number]; known.names[2] != "" {
					data.with(field{2, actVarint, "aggregation_temporality", nil})
				}
				metric.with(field{number, actMessage, name, data})
			} else if name != "" {
				metric.with(field{number, actBytes, name, nil})
			}
		}
		items = field{2, actMessage, "metrics", metric}
	case "traces":
		items = field{2, actMessage, "spans", spanShape}
	case "logs":
		items = field{2, actMessage, "log_records", recordShape}
	}
	url := field{3, actBytes, "schema_url", nil}
	return g.message(newShape(field{1, actMessage, "resources", newShape(
		field{1, actMessage, "resource", resourceShape}, url,
		field{2, actMessage, "scopes", newShape(field{1, actMessage, "scope", scopeShape}, url, items)},
	)}), 0)
}

type generator struct{ rng *rand.Rand }

func (g *generator) oneIn(n int) bool { return g.rng.IntN(n) == 0 }

// lists are the fields that usually have several values.
var lists = map[string]bool{
	"resources": true, "scopes": true, "metrics": true, "spans": true, "log_records": true,
	"data_points": true, "exemplars": true, "attributes": true, "metadata": true, "filtered_attributes": true,
	"events": true, "links": true, "entity_refs": true, "id_keys": true, "description_keys": true,
	"values": true, "quantile_values": true,
}

// message returns a random message. depth is the number of arrays and maps around it.
func (g *generator) message(s *shape, depth int) []byte {
	var parts [][]byte
	for number, name := range s.names {
		if name == "" {
			continue
		}
		n := 0
		switch {
		case lists[name]:
			n = g.rng.IntN(4)
		case g.oneIn(30):
			n = 2
		case !g.oneIn(3):
			n = 1
		}
		for range n {
			if part := g.field(s, number, depth); part != nil {
				parts = append(parts, part)
			}
		}
	}
	if g.oneIn(20) {
		parts = append(parts, g.stranger())
	}
	if g.oneIn(3) {
		g.rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	var b []byte
	for _, part := range parts {
		b = append(b, part...)
	}
	return b
}

// stranger returns a field that OTLP does not have.
func (g *generator) stranger() []byte {
	number := uint64(200 + g.rng.IntN(2000))
	switch g.rng.IntN(4) {
	case 0:
		return g.varint(appendVarint(nil, number<<3|wireVarint), g.rng.Uint64())
	case 1:
		return append(appendVarint(nil, number<<3|wireFixed64), "12345678"...)
	case 2:
		return append(appendVarint(nil, number<<3|wireFixed32), "1234"...)
	}
	return append(appendVarint(nil, number<<3|wireBytes), 3, 'a', 'b', 'c')
}

// varint appends a number, sometimes in more bytes than necessary.
func (g *generator) varint(dst []byte, v uint64) []byte {
	dst = appendVarint(dst, v)
	if v < 1<<21 && g.oneIn(40) {
		dst[len(dst)-1] |= 0x80
		dst = append(dst, 0x80, 0)
	}
	return dst
}

func (g *generator) tag(number int, wire uint64) []byte {
	return g.varint(nil, uint64(number)<<3|wire)
}

func (g *generator) bytes(number int, content []byte) []byte {
	return append(g.varint(g.tag(number, wireBytes), uint64(len(content))), content...)
}

// field returns a random field, or nil.
func (g *generator) field(s *shape, number, depth int) []byte {
	name := s.names[number]
	act := s.acts[number<<3|wireBytes]
	switch {
	case act == actRuns || act == actRun:
		return g.numbers(number, act)
	case act == actNested:
		if depth == 3 {
			return nil
		}
		return g.bytes(number, g.message(s.subs[number], depth+1))
	case act == actMessage:
		return g.bytes(number, g.message(s.subs[number], depth))
	case act == actBytes:
		return g.bytes(number, g.content(name))
	case s.acts[number<<3|wireFixed64] == actFixed64:
		return binary.LittleEndian.AppendUint64(g.tag(number, wireFixed64), g.number())
	case s.acts[number<<3|wireFixed32] == actFixed32:
		return binary.LittleEndian.AppendUint32(g.tag(number, wireFixed32), uint32(g.number()))
	}
	return g.varint(g.tag(number, wireVarint), g.number())
}

// number returns a number that is often zero, small, or a float of some kind.
func (g *generator) number() uint64 {
	switch g.rng.IntN(8) {
	case 0:
		return 0
	case 1:
		return math.Float64bits(math.Copysign(0, -1))
	case 2:
		return math.Float64bits(math.NaN()) ^ 77
	case 3:
		return g.rng.Uint64()
	case 4:
		return uint64(-1 - int64(g.rng.IntN(5)))
	case 5:
		return math.Float64bits(g.rng.Float64())
	}
	return uint64(g.rng.IntN(4))
}

// numbers returns a list of numbers, packed or not.
func (g *generator) numbers(number int, act uint8) []byte {
	n := g.rng.IntN(5)
	one, wire := g.varint, uint64(wireVarint)
	if act == actRuns {
		one, wire = binary.LittleEndian.AppendUint64, wireFixed64
	}
	var b []byte
	for range n {
		if act == actRun || !g.oneIn(2) {
			b = one(b, g.number())
		} else {
			b = one(b, 1)
		}
	}
	if !g.oneIn(4) {
		return g.bytes(number, b)
	}
	b = nil
	for range n {
		b = one(append(b, g.tag(number, wire)...), g.number())
	}
	return b
}

// content returns random content for the length-delimited field with this name.
func (g *generator) content(name string) []byte {
	switch name {
	case "attributes", "metadata", "filtered_attributes":
		if g.oneIn(3) {
			return []byte("\n\x03key\x12\x07\n\x05value")
		}
		return g.message(pairShape, 0)
	case "trace_id":
		return g.id(mapping.TraceIDBytes)
	case "span_id", "parent_span_id":
		return g.id(mapping.SpanIDBytes)
	}
	texts := []string{"", "a", "text", "\xff\x00", "a text that is longer than others are"}
	b := []byte(texts[g.rng.IntN(len(texts))])
	if g.oneIn(100) {
		b = make([]byte, 300)
	}
	return b
}

func (g *generator) id(n int) []byte {
	switch g.rng.IntN(4) {
	case 0:
		return nil
	case 1:
		return make([]byte, n)
	}
	b := make([]byte, n)
	b[0], b[n-1] = byte(g.rng.IntN(3)), 7
	return b
}
