// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

func TestJSON(t *testing.T) {
	f := func(text string, change fields, want string) {
		t.Helper()
		root := rootOf(t, "struct Rec root { "+text)
		out, err := dynamic.AppendJSON([]byte("> "), root, nil, records(root, change)[0])
		require.NoError(t, err)
		require.Equal(t, "> "+want, string(out))
		require.True(t, json.Valid(out[2:]))
	}
	f("A bool  B bool }", fields{"A": true}, `{"a":true,"b":false}`)
	f("A int64  B uint64  C E } enum E { X = 1 }", fields{"A": -5, "B": uint64(math.MaxUint64), "C": 9},
		`{"a":"-5","b":"18446744073709551615","c":"9"}`)
	f("A float64 }", fields{"A": 0.5}, `{"a":{"v":"0.5","bits":"3fe0000000000000"}}`)
	f("A float64 }", fields{"A": math.Copysign(0, -1)}, `{"a":{"v":"-0","bits":"8000000000000000"}}`)
	f("A float64 }", fields{"A": math.Inf(1)}, `{"a":{"v":"+Inf","bits":"7ff0000000000000"}}`)
	f("A float64 }", fields{"A": math.Float64frombits(0x7ff8000000000001)}, `{"a":{"v":"NaN","bits":"7ff8000000000001"}}`)
	f("A string }", fields{"A": "a\"\\/<ü\x00\n\x1f\x7f"}, `{"a":"a\"\\/<ü\u0000\u000a\u001f`+"\x7f"+`"}`)
	f("A string }", fields{"A": "a\xff"}, `{"a":{"invalid_utf8_hex":"61ff"}}`)
	f("A bytes }", fields{"A": "\x00\xab"}, `{"a":"00ab"}`)
	f("A uint64 optional  B Sub optional } struct Sub { X bool }", fields{}, `{"a":null,"b":null}`)
	f("A uint64 optional  B Sub optional } struct Sub { X bool }", fields{"A": 1, "B": fields{}}, `{"a":"1","b":{"x":false}}`)
	f("A Empty } struct Empty {}", fields{}, `{"a":{}}`)
	f("A []bool  B []bool }", fields{"A": list{true, false}}, `{"a":[true,false],"b":[]}`)
	f("A MM  B MM } multimap MM { key string value bool }", fields{"A": pairs{{"k", true}, {"k", false}}},
		`{"a":[{"key":"k","value":true},{"key":"k","value":false}],"b":[]}`)
	f("A Choice  B Choice } oneof Choice { ExpHistogram bool  KVList bool }", fields{"A": one{"KVList", true}},
		`{"a":{"type":"kvlist","kvlist":true},"b":{"type":"none"}}`)
	f("SchemaURL bool IDKeys bool StartTimeUnixNano bool Int64 bool TraceID bool A bool XY bool }", fields{},
		`{"schema_url":false,"id_keys":false,"start_time_unix_nano":false,"int64":false,"trace_id":false,"a":false,"xy":false}`)
}

func TestJSONOfKept(t *testing.T) {
	root := rootOf(t, `struct Rec root { S Sub  O Choice  P Choice  X bool }
		struct Sub { A bool  B bool optional } oneof Choice { I bool  J bool }`)
	kept, err := schema.Keep(root, schema.WireSchema{3, 1, 1})
	require.NoError(t, err)
	recs := records(root, fields{"O": one{"I", true}, "P": one{"J", true}, "X": true})
	require.Equal(t, `{"s":{"a":false},"o":{"type":"i","i":true},"p":{"type":"none"}}`+"\n", jsonOf(t, root, kept, recs))
}

func TestJSONOfWrongValues(t *testing.T) {
	root := rootOf(t, "struct Rec root { S Sub  M MM } struct Sub {} multimap MM { key bool value bool }")
	f := func(i int, v any) {
		t.Helper()
		rec := dynamic.NewStruct(root)
		rec.Fields[i] = v
		_, err := dynamic.AppendJSON(nil, root, nil, rec)
		require.ErrorIs(t, err, dynamic.ErrSchema)
	}
	f(0, nil)
	f(0, 5)
	f(0, &dynamic.Oneof{})
	f(0, &dynamic.Struct{Fields: []any{1}})
	f(0, &dynamic.Multimap{})
	f(0, &dynamic.Array{})
	f(1, &dynamic.Struct{})
	f(1, &dynamic.Multimap{Pairs: []dynamic.Pair{{}}})
}
