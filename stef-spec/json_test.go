// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
	spec "github.com/otelstef/stef/stef-spec"
)

// jsonShapes describes how the types of a schema look in canonical JSON. It takes the names of JSON keys
// and choices from the output of package dynamic.
type jsonShapes struct {
	t    *testing.T
	seen map[string]bool
	text strings.Builder
}

// add writes the shape of a struct, oneof or multimap, and then the shapes of its parts.
func (s *jsonShapes) add(t *schema.Type) {
	switch {
	case t.Kind == schema.KindArray:
		s.add(t.Elem)
		return
	case !t.Kind.Composite() || s.seen[t.Name]:
		return
	}
	s.seen[t.Name] = true
	var parts []*schema.Type
	shape := ""
	switch t.Kind {
	case schema.KindMultimap:
		parts = []*schema.Type{&t.Multimap.Key, &t.Multimap.Value}
		shape = fmt.Sprintf(`[{"key":%s,"value":%s},...]`, s.of(parts[0], false), s.of(parts[1], false))
	case schema.KindOneof:
		shape = `{"type":"none"}`
		for i, f := range t.Struct.Fields {
			parts = append(parts, &f.Type)
			name := s.choice(t, i+1)
			shape += fmt.Sprintf(` | {"type":"%s","%s":%s}`, name, name, s.of(&f.Type, false))
		}
	case schema.KindStruct:
		for i, name := range s.names(t.Struct) {
			f := t.Struct.Fields[i]
			parts = append(parts, &f.Type)
			shape += fmt.Sprintf(`,"%s":%s`, name, s.of(&f.Type, f.Optional))
		}
		shape = "{" + shape[1:] + "}"
	}
	fmt.Fprintf(&s.text, "%s: %s\n", t.Name, shape)
	for _, part := range parts {
		s.add(part)
	}
}

// of returns the shape of a value of type t: for a struct, oneof or multimap, the name of the type.
func (s *jsonShapes) of(t *schema.Type, optional bool) string {
	if optional {
		return s.of(t, false) + "|null"
	}
	switch t.Kind {
	case schema.KindBool:
		return "B"
	case schema.KindInt64:
		return "I"
	case schema.KindUint64, schema.KindEnum:
		return "U"
	case schema.KindFloat64:
		return "F"
	case schema.KindString:
		return "S"
	case schema.KindBytes:
		return "H"
	case schema.KindArray:
		return "[" + s.of(t.Elem, false) + ",...]"
	}
	return t.Name
}

// names returns the names of fields as they are printed.
func (s *jsonShapes) names(st *schema.Struct) []string {
	line, err := dynamic.AppendJSON(nil, st, nil, dynamic.NewStruct(st))
	require.NoError(s.t, err)
	var names []string
	dec := json.NewDecoder(bytes.NewReader(line))
	_, err = dec.Token()
	require.NoError(s.t, err)
	for dec.More() {
		name, err := dec.Token()
		require.NoError(s.t, err)
		names = append(names, name.(string))
		var value json.RawMessage
		require.NoError(s.t, dec.Decode(&value))
	}
	require.Len(s.t, names, len(st.Fields))
	return names
}

// choice returns the name of a choice as it is printed.
func (s *jsonShapes) choice(t *schema.Type, choice int) string {
	holder := &schema.Struct{Name: "Holder", Fields: []*schema.Field{{Name: "F", Type: *t}}}
	rec := dynamic.NewStruct(holder)
	rec.Fields[0] = &dynamic.Oneof{Choice: choice, Value: dynamic.NewValue(&t.Struct.Fields[choice-1].Type)}
	line, err := dynamic.AppendJSON(nil, holder, nil, rec)
	require.NoError(s.t, err)
	var printed struct{ F map[string]any }
	require.NoError(s.t, json.Unmarshal(line, &printed))
	name := printed.F["type"].(string)
	require.Contains(s.t, printed.F, name)
	return name
}

// TestCanonicalJSON compares the shapes in the specification with printed
// output.
func TestCanonicalJSON(t *testing.T) {
	otel, err := idl.Parse("otel.stef", []byte(spec.OTelSchema))
	require.NoError(t, err)
	s := &jsonShapes{t: t, seen: map[string]bool{}}
	for _, root := range otel.Roots() {
		s.add(&schema.Type{Kind: schema.KindStruct, Name: root.Name, Struct: root})
	}
	found := blocks("stef-json")
	require.Len(t, found, 1)
	require.Equal(t, s.text.String(), found[0].text())
}

// floatLines returns the lines of the table of floats, each as bits and text.
func floatLines() [][2]string {
	var lines [][2]string
	for _, b := range blocks("stef-floats") {
		for line := range strings.Lines(b.text()) {
			bits, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			lines = append(lines, [2]string{bits, text})
		}
	}
	return lines
}

func floatBits() []uint64 {
	var list []uint64
	for _, line := range floatLines() {
		bits, err := strconv.ParseUint(line[0], 16, 64)
		if err != nil {
			panic(err)
		}
		list = append(list, bits)
	}
	return list
}

// TestFloatTexts compares the table of floats with printed output.
func TestFloatTexts(t *testing.T) {
	root := &schema.Struct{Name: "Root", Fields: []*schema.Field{{Name: "F", Type: schema.Type{Kind: schema.KindFloat64}}}}
	lines := floatLines()
	require.Len(t, lines, 16)
	for i, line := range lines {
		rec := dynamic.NewStruct(root)
		rec.Fields[0] = math.Float64frombits(floatBits()[i])
		got, err := dynamic.AppendJSON(nil, root, nil, rec)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(`{"f":{"v":"%s","bits":"%s"}}`, line[1], line[0]), string(got))
	}
}
