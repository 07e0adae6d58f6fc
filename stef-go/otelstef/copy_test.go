// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// CopyFrom refuses to copy a value to a part of this value, or a part of a value to the whole value.
func TestCopyOfNestedIsRefused(t *testing.T) {
	const text = "stef: CopyFrom between a value and a part of itself; copy the source to a new value first, and copy from there"
	f := func(copies ...func()) {
		t.Helper()
		for _, c := range copies {
			require.PanicsWithValue(t, text, c)
		}
	}
	for _, v := range []*otelstef.AnyValue{otelstef.NewAnyValue(), otelstef.NewSpans().Span().Attributes().Append("key")} {
		list := v.SetArray()
		inner := list.Append().SetArray()
		inner.Append().SetString("text")
		f(func() { list.At(0).CopyFrom(v) }, func() { v.CopyFrom(list.At(0)) }, func() { v.CopyFrom(inner.At(0)) })
		f(func() { list.Append().CopyFrom(v) }, func() { inner.CopyFrom(list) }, func() { list.CopyFrom(inner) })

		// CopyFrom accepts a copy from another value, and between two parts if neither contains the
		// other.
		src := otelstef.NewAnyValue()
		src.CopyFrom(v)
		require.Equal(t, `[["text"],null]`, src.String())
		list.At(1).CopyFrom(src)
		list.At(0).CopyFrom(list.At(1).Array().At(0))
		require.Equal(t, `[["text"],[["text"],null]]`, v.String())
		v.CopyFrom(v)
		list.CopyFrom(list)
		require.Equal(t, `[["text"],[["text"],null]]`, v.String())
		v.CopyFrom(src.Array().At(0))
		require.Equal(t, `["text"]`, v.String())

		pairs := v.SetKVList()
		deep := pairs.Append("outer").SetKVList()
		deep.Append("inner").SetInt64(1)
		f(func() { deep.CopyFrom(pairs) }, func() { pairs.CopyFrom(deep) }, func() { deep.Value(0).CopyFrom(v) }, func() { v.CopyFrom(deep.Value(0)) })
		require.Equal(t, `{"outer":{"inner":1}}`, v.String())
	}
	body := otelstef.NewBodyValue()
	f(func() { body.SetArray().Append().CopyFrom(body) }, func() { body.CopyFrom(body.SetMap().Append("key")) })
}

// BenchmarkCopyFrom copies changing values, from text to deep maps.
func BenchmarkCopyFrom(b *testing.B) {
	run := func(name string, fill func(v *otelstef.AnyValue, i int)) {
		b.Run(name, func(b *testing.B) {
			dst := otelstef.NewSpans().Span().Attributes().Append("k")
			src := [2]*otelstef.AnyValue{}
			for i := range src {
				src[i] = otelstef.NewSpans().Span().Attributes().Append("k")
				fill(src[i], i)
			}
			for i := 0; b.Loop(); i++ {
				dst.CopyFrom(src[i&1])
			}
		})
	}
	run("number", func(v *otelstef.AnyValue, i int) { v.SetInt64(int64(i)) })
	run("text", func(v *otelstef.AnyValue, i int) { v.SetString([]string{"GET", "POST"}[i]) })
	run("list", func(v *otelstef.AnyValue, i int) {
		for j := range 10 {
			v.SetArray().Append().SetInt64(int64(i + j))
		}
	})
	run("deep", func(v *otelstef.AnyValue, i int) {
		for range 100 {
			v = v.SetKVList().Append("k")
		}
		v.SetInt64(int64(i))
	})
}
