// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/stef-go/dynamic"
)

func TestSortKeys(t *testing.T) {
	pairs := func(p ...dynamic.Pair) *dynamic.Multimap { return &dynamic.Multimap{Pairs: p} }
	pair := func(k, v any) dynamic.Pair { return dynamic.Pair{Key: k, Value: v} }
	build := func(b, a1, a2, outer dynamic.Pair, more ...dynamic.Pair) *dynamic.Struct {
		inner := &dynamic.Oneof{Choice: 1, Value: &dynamic.Array{Elems: []any{pairs(b, a1, a2)}}}
		return &dynamic.Struct{Present: []bool{true, true, false}, Fields: []any{
			pairs(append([]dynamic.Pair{outer}, more...)...), &dynamic.Struct{Fields: []any{inner, pairs(pair(true, "x"), pair(false, "y"))}}, nil,
		}}
	}
	before := build(pair("b", "1"), pair("a", "3"), pair("a", "2"), pair("z", int64(1)), pair("y", int64(2)))
	// Equal keys, and keys that are not text, keep their order.
	want := build(pair("a", "3"), pair("a", "2"), pair("b", "1"), pair("y", int64(2)), pair("z", int64(1)))
	require.Equal(t, want, stream.SortKeys(before))
	require.Equal(t, build(pair("b", "1"), pair("a", "3"), pair("a", "2"), pair("z", int64(1)), pair("y", int64(2))), before, "the record of a reader stays as it is")
}
