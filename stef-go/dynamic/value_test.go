// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
)

func TestEqual(t *testing.T) {
	f := func(want bool, a, b any) {
		t.Helper()
		require.Equal(t, want, dynamic.Equal(a, b))
		require.Equal(t, want, dynamic.Equal(b, a))
		require.True(t, dynamic.Equal(a, dynamic.Clone(a)))
	}
	f(true, nil, nil)
	f(true, true, true)
	f(false, int64(1), uint64(1))
	f(false, "a", []byte("a"))
	f(true, []byte{}, []byte(nil))
	f(false, []byte{}, nil)
	f(true, math.NaN(), math.NaN())
	f(false, math.NaN(), math.Float64frombits(0x7ff8000000000009))
	f(false, 0.0, math.Copysign(0, -1))

	st := func(present bool, v any) *dynamic.Struct {
		return &dynamic.Struct{Fields: []any{v}, Present: []bool{present}}
	}
	f(true, st(true, "a"), st(true, "a"))
	f(false, st(true, "a"), st(true, "b"))
	f(false, st(true, "a"), st(false, "a"))
	f(true, st(false, "a"), st(false, nil))
	f(false, st(true, "a"), &dynamic.Struct{})
	f(false, st(true, "a"), nil)

	f(true, &dynamic.Oneof{Choice: 1, Value: "a"}, &dynamic.Oneof{Choice: 1, Value: "a"})
	f(false, &dynamic.Oneof{Choice: 1, Value: "a"}, &dynamic.Oneof{Choice: 2, Value: "a"})
	f(false, &dynamic.Oneof{Choice: 1, Value: "a"}, &dynamic.Oneof{Choice: 1, Value: "b"})
	f(true, &dynamic.Array{}, &dynamic.Array{Elems: []any{}})
	f(false, &dynamic.Array{Elems: []any{1.5, 2.5}}, &dynamic.Array{Elems: []any{1.5}})
	f(false, &dynamic.Array{Elems: []any{1.5, 2.5}}, &dynamic.Array{Elems: []any{1.5, 3.5}})
	f(false, &dynamic.Array{}, &dynamic.Multimap{})
	mm := func(key, value any) *dynamic.Multimap {
		return &dynamic.Multimap{Pairs: []dynamic.Pair{{Key: key, Value: value}}}
	}
	f(true, mm("k", 1.5), mm("k", 1.5))
	f(false, mm("k", 1.5), mm("l", 1.5))
	f(false, mm("k", 1.5), mm("k", 2.5))
	f(false, mm("k", 1.5), &dynamic.Multimap{})
}

// TestCloneSharesNothing changes each part of a clone.
func TestCloneSharesNothing(t *testing.T) {
	root := rootOf(t, restarts)
	rec := records(root, fields{"One": one{"C", list{1, 2}}, "M": pairs{{"a", 5}}, "S": fields{"P": "pp"}})[0]
	before := jsonOf(t, root, nil, []*dynamic.Struct{rec})
	c := dynamic.Clone(rec).(*dynamic.Struct)
	c.Fields[0].(*dynamic.Oneof).Value.(*dynamic.Array).Elems[0] = uint64(9)
	c.Fields[0].(*dynamic.Oneof).Choice = 0
	c.Fields[2].(*dynamic.Multimap).Pairs[0].Value = uint64(9)
	c.Fields[3].(*dynamic.Struct).Fields[0] = "changed"
	c.Fields[3].(*dynamic.Struct).Present[0] = false
	require.Equal(t, before, jsonOf(t, root, nil, []*dynamic.Struct{rec}))
	b := []byte("ab")
	dynamic.Clone(b).([]byte)[0] = 'x'
	require.Equal(t, "ab", string(b))
}

func TestRecordsAreRetained(t *testing.T) {
	for seed := range uint64(50) {
		r := newRandom(seed)
		root := r.root()
		recs := r.records(root, 30)
		requireRecords(t, root, recs, read(t, root, write(t, root, recs, false)))
	}
}
