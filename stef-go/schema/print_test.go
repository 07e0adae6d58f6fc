// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/schema"
)

// TestPrintHandmade prints a schema that a program built, without positions. Its comments contain line
// breaks. The printed text must still be comments.
func TestPrintHandmade(t *testing.T) {
	color := &schema.Enum{Name: "Color", Values: []schema.EnumValue{{Name: "Red", Value: 1, Doc: "Red."}}}
	choice := &schema.Struct{Name: "Choice", Oneof: true, Fields: []*schema.Field{
		{Name: "Color", Type: schema.Type{Kind: schema.KindEnum, Name: "Color", Enum: color}},
	}}
	bag := &schema.Multimap{
		Name:  "Bag",
		Key:   schema.Type{Kind: schema.KindBytes, Dict: "Keys"},
		Value: schema.Type{Kind: schema.KindOneof, Name: "Choice", Struct: choice},
		Doc:   "One\r\ntwo\rthree\n\n  four  ",
	}
	root := &schema.Struct{Name: "R", Root: true, Fields: []*schema.Field{
		{Name: "Bags", Optional: true, Type: schema.Type{Kind: schema.KindArray,
			Elem: &schema.Type{Kind: schema.KindMultimap, Name: "Bag", Multimap: bag}}},
	}}
	s := &schema.Schema{
		Package:   "a.b",
		Doc:       "Of the package.",
		Structs:   []*schema.Struct{root, choice},
		Multimaps: []*schema.Multimap{bag},
		Enums:     []*schema.Enum{color},
	}
	const want = `// Of the package.
package a.b

struct R root {
  Bags []Bag optional
}

oneof Choice {
  Color Color
}

// One
// two
// three
//
//   four
multimap Bag {
  key bytes dict(Keys)
  value Choice
}

enum Color {
  // Red.
  Red = 1
}
`
	require.Equal(t, want, string(schema.Print(s)))
	require.Equal(t, want, string(schema.Print(parse(t, want))))
}

func TestKindString(t *testing.T) {
	require.Equal(t, "multimap", schema.KindMultimap.String())
	require.Equal(t, "invalid", schema.KindInvalid.String())
	require.Equal(t, "invalid", schema.Kind(200).String())
}
