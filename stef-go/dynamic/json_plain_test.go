// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

const plainSchema = `package sample
enum Kind { Gauge = 0 Sum = 7 }
enum State { Unspecified = 0 On = 1 }
oneof Any { String string Bool bool Int64 int64 Float64 float64 Array []Any KVList Map Bytes bytes }
multimap Map { key string value Any }
multimap Flags { key bool value string }
struct Inner { SchemaURL string Count uint64 }
struct Top root {
  Kind Kind State State Bool bool Int int64 Uint uint64 Float float64 Text string Raw bytes TraceID bytes
  Maybe uint64 optional Inner Inner InnerMaybe Inner optional Any Any Map Map Flags Flags List []uint64
}
`

func plainRoot(t *testing.T) *schema.Struct {
	t.Helper()
	s, err := idl.Parse("sample.stef", []byte(plainSchema))
	require.NoError(t, err)
	return s.Root("Top")
}

func TestPlainJSON(t *testing.T) {
	root := plainRoot(t)
	f := func(want string, fields ...any) {
		t.Helper()
		rec := dynamic.NewStruct(root)
		for i := 0; i < len(fields); i += 2 {
			found := false
			for j, field := range root.Fields {
				if field.Name == fields[i] {
					rec.Fields[j], rec.Present[j], found = fields[i+1], true, true
				}
			}
			require.True(t, found, "%v", fields[i])
		}
		got := dynamic.AppendPlainJSON([]byte("before "), root, rec)
		require.Equal(t, "before "+want, string(got))
		require.True(t, json.Valid([]byte(want)), want)
	}
	oneof := func(choice int, v any) *dynamic.Oneof { return &dynamic.Oneof{Choice: choice, Value: v} }
	pairs := func(kv ...any) *dynamic.Multimap {
		m := &dynamic.Multimap{}
		for i := 0; i < len(kv); i += 2 {
			m.Pairs = append(m.Pairs, dynamic.Pair{Key: kv[i], Value: kv[i+1]})
		}
		return m
	}
	inner := func(url string, count uint64) *dynamic.Struct {
		return &dynamic.Struct{Fields: []any{url, count}, Present: []bool{true, true}}
	}

	// A kind of 0 is printed, because 0 has the name Gauge. A state of 0 is omitted,
	// because 0 is Unspecified.
	f(`{"kind":"Gauge"}`)
	f(`{"kind":"Sum","state":"On"}`, "Kind", uint64(7), "State", uint64(1))
	f(`{"kind":9}`, "Kind", uint64(9))
	f(`{"kind":"Gauge","bool":true,"int":-9223372036854775808,"uint":18446744073709551615}`,
		"Bool", true, "Int", int64(math.MinInt64), "Uint", uint64(math.MaxUint64))

	f(`{"kind":"Gauge","float":1.0}`, "Float", 1.0)
	f(`{"kind":"Gauge","float":-0.0}`, "Float", math.Copysign(0, -1))
	f(`{"kind":"Gauge","float":1e+300}`, "Float", 1e300)
	f(`{"kind":"Gauge","float":"NaN"}`, "Float", math.NaN())
	f(`{"kind":"Gauge","float":"-Inf"}`, "Float", math.Inf(-1))

	f(`{"kind":"Gauge","text":"a\"b\\c\nd\te\u0000\u001fü/"}`, "Text", "a\"b\\c\nd\te\x00\x1fü/")
	f(`{"kind":"Gauge","text":{"invalid_utf8_hex":"61ff"}}`, "Text", "a\xff")
	f(`{"kind":"Gauge","raw":"00ff"}`, "Raw", []byte{0, 255})

	// An id that is already hexadecimal text is printed as it is, not encoded again.
	f(`{"kind":"Gauge","trace_id":"0102030405060708090a0b0c0d0e0f10"}`, "TraceID", []byte("0102030405060708090a0b0c0d0e0f10"))
	f(`{"kind":"Gauge","trace_id":"0102030405060708"}`, "TraceID", []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f(`{"kind":"Gauge","trace_id":"30313233343536373839616263646566"}`, "TraceID", []byte("0123456789abcdef"))
	f(`{"kind":"Gauge","raw":"30313233343536373839616263646566"}`, "Raw", []byte("0123456789abcdef"))

	f(`{"kind":"Gauge","maybe":0}`, "Maybe", uint64(0))
	f(`{"kind":"Gauge"}`, "Inner", inner("", 0))
	f(`{"kind":"Gauge","inner":{"count":3}}`, "Inner", inner("", 3))
	f(`{"kind":"Gauge","inner_maybe":{}}`, "InnerMaybe", inner("", 0))
	f(`{"kind":"Gauge","inner_maybe":{"schema_url":"x"}}`, "InnerMaybe", inner("x", 0))

	f(`{"kind":"Gauge","any":"x"}`, "Any", oneof(1, "x"))
	f(`{"kind":"Gauge","any":false}`, "Any", oneof(2, false))
	f(`{"kind":"Gauge","any":0}`, "Any", oneof(3, int64(0)))
	f(`{"kind":"Gauge","any":0.0}`, "Any", oneof(4, 0.0))
	f(`{"kind":"Gauge","any":["x",null]}`, "Any", oneof(5, &dynamic.Array{Elems: []any{oneof(1, "x"), oneof(0, nil)}}))
	f(`{"kind":"Gauge","any":{"k":1}}`, "Any", oneof(6, pairs("k", oneof(3, int64(1)))))
	f(`{"kind":"Gauge","any":{"bytes":"01"}}`, "Any", oneof(7, []byte{1}))

	f(`{"kind":"Gauge","map":{"a":1,"":2}}`, "Map", pairs("a", oneof(3, int64(1)), "", oneof(3, int64(2))))
	f(`{"kind":"Gauge","map":[["a",1],["a",2]]}`, "Map", pairs("a", oneof(3, int64(1)), "a", oneof(3, int64(2))))
	f(`{"kind":"Gauge","map":[[{"invalid_utf8_hex":"ff"},1]]}`, "Map", pairs("\xff", oneof(3, int64(1))))
	f(`{"kind":"Gauge","flags":[[false,"x"],[false,"y"]]}`, "Flags", pairs(false, "x", false, "y"))
	f(`{"kind":"Gauge","list":[1,0,2]}`, "List", &dynamic.Array{Elems: []any{uint64(1), uint64(0), uint64(2)}})
}

// AppendZerosJSON omits only absent fields, at any depth. It prints fields whose value is 0 or empty.
func TestZerosJSON(t *testing.T) {
	s, err := idl.Parse("shop.stef", []byte(`package shop
struct Order root { Paid bool Total float64 Note string optional Lines []Line By Person Payment Payment State State Labels Labels }
struct Line { Count int64 Gift bool optional }
struct Person dict(Person) { Name string ID bytes }
oneof Payment { Card Line Cash int64 }
enum State { Unspecified = 0 }
multimap Labels { key string value Line }
`))
	require.NoError(t, err)
	root := s.Root("Order")
	rec := dynamic.NewStruct(root)
	require.Equal(t, `{"paid":false,"total":0.0,"lines":[],"by":{"name":"","id":""},"payment":null,"state":"Unspecified","labels":{}}`,
		string(dynamic.AppendZerosJSON(nil, root, rec)))
	require.Equal(t, `{}`, string(dynamic.AppendPlainJSON(nil, root, rec)))
	line := func() *dynamic.Struct { return dynamic.NewStruct(root.Fields[3].Type.Elem.Struct) }
	rec.Present[2] = true
	rec.Fields[3] = &dynamic.Array{Elems: []any{line()}}
	rec.Fields[5] = &dynamic.Oneof{Choice: 1, Value: line()}
	rec.Fields[7] = &dynamic.Multimap{Pairs: []dynamic.Pair{{Key: "", Value: line()}}}
	require.Equal(t, `{"paid":false,"total":0.0,"note":"","lines":[{"count":0}],"by":{"name":"","id":""},"payment":{"count":0},"state":"Unspecified","labels":{"":{"count":0}}}`,
		string(dynamic.AppendZerosJSON(nil, root, rec)))
}

// TestPlainJSONEnumWithoutZero: if the enum has no name for 0, the value 0 is omitted.
func TestPlainJSONEnumWithoutZero(t *testing.T) {
	s, err := idl.Parse("marks.stef", []byte("package a\nstruct R root { M Mark O Mark optional }\nenum Mark { Low = 1 }\n"))
	require.NoError(t, err)
	rec := dynamic.NewStruct(s.Root("R"))
	require.Equal(t, `{}`, string(dynamic.AppendPlainJSON(nil, s.Root("R"), rec)))
	rec.Present[1] = true
	require.Equal(t, `{"o":0}`, string(dynamic.AppendPlainJSON(nil, s.Root("R"), rec)))
}
