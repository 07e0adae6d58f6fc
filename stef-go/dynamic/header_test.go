// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

func TestHeaders(t *testing.T) {
	root := rootOf(t, "struct Rec root { A uint64  B uint64  S Sub } struct Sub { X uint64 }")
	long := strings.Repeat("6b ", 257)
	f := func(stream string, want error) {
		t.Helper()
		_, err := dynamic.NewReader(bytes.NewReader(unhex(t, stream)), root)
		require.ErrorIs(t, err, want)
		if want != nil {
			requireTyped(t, err)
		}
	}
	const fixed = "53 54 45 46 02 00 00 |"
	f(fixed+"00 02 00 00", nil)

	f("53 54 45 47 02 00 00 | 00 02 00 00", dynamic.ErrCorrupt)
	f("53 54 45 46 01 00 | 00 02 00 00", dynamic.ErrCorrupt)
	f("53 54 45 46 82 00 00 00 | 00 02 00 00", nil) // a longer form of 2
	f("53 54 45 46 03 10 fc ff | 00 02 00 00", nil) // reserved bits and bytes
	f("53 54 45 46 02 01 00 | 00 02 00 00", dynamic.ErrVersion)
	f("53 54 45 46 02 00 02 | 00 02 00 00", dynamic.ErrVersion)
	f("53 54 45 46 02 00 03 | 00 02 00 00", dynamic.ErrVersion)
	f("53 54 45 46 81 80 40 00 00", dynamic.ErrLimit)
	f("53 54 45 46 ff ff ff ff ff ff ff ff ff 02", dynamic.ErrCorrupt)

	f(fixed+"05 02 00 00", nil) // flags without effect in this frame
	f(fixed+"08 02 00 00", dynamic.ErrCorrupt)
	f(fixed+"00 00", dynamic.ErrCorrupt)
	f(fixed+"00 81 80 40", dynamic.ErrLimit) // more than 1 MiB
	f(fixed+"00 05 00 00 01 02 03", nil)     // bytes after the user data
	f(fixed+"00 01 00", dynamic.ErrCorrupt)

	f(fixed+"00 05 03 02 03 01 00", nil)
	f(fixed+"00 04 02 01 02 00", nil)                   // without S
	f(fixed+"00 04 02 01 04 00", dynamic.ErrSchema)     // more fields than Rec has
	f(fixed+"00 04 02 01 41 00", dynamic.ErrSchema)     // more fields than a struct can have
	f(fixed+"00 04 02 01 03 00", dynamic.ErrSchema)     // S is missing
	f(fixed+"00 05 03 02 02 01 00", dynamic.ErrSchema)  // no field uses the entry of S
	f(fixed+"00 04 02 01 00 00", dynamic.ErrSchema)     // no fields
	f(fixed+"00 03 01 00 00", dynamic.ErrSchema)        // no entries
	f(fixed+"00 05 03 01 02 00 00", dynamic.ErrCorrupt) // bytes after the entries
	f(fixed+"00 04 02 02 03 00", dynamic.ErrCorrupt)    // an entry is cut off
	f(fixed+"00 05 03 81 08 00 00", dynamic.ErrLimit)

	f(fixed+"00 06 00 01 01 6b 01 76", nil)
	f(fixed+"00 06 00 02 01 6b 01 76", dynamic.ErrCorrupt)
	f(fixed+"00 06 00 01 01 6b 02 76", dynamic.ErrCorrupt)
	f(fixed+"00 03 00 81 08", dynamic.ErrLimit)
	f(fixed+"00 86 02 00 01 81 02"+long+"00", dynamic.ErrLimit)
	f(fixed+"00 86 02 00 01 00 81 02"+long, dynamic.ErrLimit)
}

// TestUserData: if a key occurs several times, readers use its last value. A Writer writes the pairs in
// the order of their keys.
func TestUserData(t *testing.T) {
	root := rootOf(t, "struct Rec root { A uint64 }")
	r, err := dynamic.NewReader(bytes.NewReader(unhex(t,
		"53 54 45 46 02 00 00 | 00 0c 00 03 01 6b 01 76 00 00 01 6b 01 77")), root)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"k": "w", "": ""}, r.Header().UserData)

	stream := write(t, root, nil, false, dynamic.WithUserData(map[string]string{"b": "2", "a": "1", "": "0"}))
	require.Equal(t, dump(unhex(t, "53 54 45 46 02 00 00 | 00 0d 00 03 00 01 30 01 61 01 31 01 62 01 32")), dump(stream))
}

func TestUserDataLimits(t *testing.T) {
	root := rootOf(t, "struct Rec root { A uint64 }")
	f := func(data map[string]string, want error) {
		t.Helper()
		var out bytes.Buffer
		_, err := dynamic.NewWriter(&out, root, dynamic.WithUserData(data))
		require.ErrorIs(t, err, want)
		if err != nil {
			require.Empty(t, out.Bytes())
			return
		}
		require.Empty(t, read(t, root, out.Bytes()))
	}
	many := map[string]string{}
	for i := range 1024 {
		many[fmt.Sprint(i)] = strings.Repeat("v", 256)
	}
	f(many, nil)
	many["one more"] = ""
	f(many, dynamic.ErrLimit)
	f(map[string]string{strings.Repeat("k", 257): ""}, dynamic.ErrLimit)
	f(map[string]string{"": strings.Repeat("v", 257)}, dynamic.ErrLimit)
}

// TestUnusableSchemas: NewReader and NewWriter refuse schemas that programs build themselves and that the
// schema language does not allow.
func TestUnusableSchemas(t *testing.T) {
	str := func(dict string) schema.Type { return schema.Type{Kind: schema.KindString, Dict: dict} }
	field := func(t schema.Type) *schema.Field { return &schema.Field{Name: "F", Type: t} }
	root := func(fields ...*schema.Field) *schema.Struct {
		return &schema.Struct{Name: "Rec", Root: true, Fields: fields}
	}
	structType := func(s *schema.Struct) schema.Type { return schema.Type{Kind: schema.KindStruct, Struct: s} }
	f := func(root *schema.Struct, want error) {
		t.Helper()
		_, err := dynamic.NewReader(bytes.NewReader(unhex(t, plainHead)), root)
		require.ErrorIs(t, err, want)
		_, err = dynamic.NewWriter(&bytes.Buffer{}, root)
		require.ErrorIs(t, err, want)
	}
	bytesType := schema.Type{Kind: schema.KindBytes, Dict: "D"}
	f(root(field(str(""))), nil)
	f(nil, dynamic.ErrSchema)
	f(root(), dynamic.ErrSchema)
	f(&schema.Struct{Name: "Rec", Oneof: true, Fields: []*schema.Field{field(str(""))}}, dynamic.ErrSchema)
	f(root(field(schema.Type{})), dynamic.ErrSchema)
	f(root(field(schema.Type{Kind: schema.KindStruct})), dynamic.ErrSchema)
	f(root(field(schema.Type{Kind: schema.KindMultimap})), dynamic.ErrSchema)
	f(root(field(schema.Type{Kind: schema.KindArray})), dynamic.ErrSchema)
	f(root(field(str("D")), field(bytesType)), dynamic.ErrSchema)
	f(root(field(str("D")), field(str("D"))), nil)
	f(root(field(schema.Type{Kind: schema.KindMultimap, Multimap: &schema.Multimap{Key: str(""), Value: schema.Type{}}})),
		dynamic.ErrSchema)

	self := root()
	self.Fields = append(self.Fields, field(structType(self)))
	f(self, dynamic.ErrSchema)
	self.Fields[0].Optional = true
	f(self, nil)

	f(root(
		field(structType(&schema.Struct{Name: "A", Dict: "D"})),
		field(structType(&schema.Struct{Name: "B", Dict: "D"})),
	), dynamic.ErrSchema)

	var fields []*schema.Field
	for range 64 {
		fields = append(fields, field(str("")))
	}
	f(root(fields...), nil)
	f(root(append(fields, field(str("")))...), dynamic.ErrSchema)

	choices := append([]*schema.Field{}, fields...)
	for len(choices) < 255 {
		choices = append(choices, field(str("")))
	}
	oneof := func(fields []*schema.Field) *schema.Field {
		return field(schema.Type{Kind: schema.KindOneof, Struct: &schema.Struct{Name: "O", Oneof: true, Fields: fields}})
	}
	f(root(oneof(choices)), nil)
	f(root(oneof(append(choices, field(str(""))))), dynamic.ErrSchema)

	// Each of 20 structs has two fields, whose type is the previous struct. So the number of
	// columns doubles with each struct.
	next := &schema.Struct{Name: "Last", Fields: []*schema.Field{field(str(""))}}
	for i := range 20 {
		next = &schema.Struct{Name: fmt.Sprint("S", i), Fields: []*schema.Field{field(structType(next)), field(structType(next))}}
	}
	f(next, dynamic.ErrLimit)
}
