// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
)

func someAttributes() *otelstef.Attributes {
	m := otelstef.NewAttributes()
	m.AppendString("text", `a "b"`)
	m.AppendBool("yes", true)
	m.AppendInt64("n", -5)
	m.AppendFloat64("f", 1.5)
	m.AppendBytes("raw", []byte{1, 2, 255})
	m.AppendArray("list").Append().SetString("x")
	m.AppendKVList("map").AppendInt64("inner", 7)
	m.Append("nothing")
	return m
}

// TestValueText: String returns a value as text for humans, like AsString of pdata.
func TestValueText(t *testing.T) {
	m := someAttributes()
	f := func(key, want string) {
		t.Helper()
		require.Equal(t, want, m.Get(key).String())
		require.Equal(t, want, fmt.Sprint(m.Get(key)))
	}
	f("text", `a "b"`)
	f("yes", "true")
	f("n", "-5")
	f("f", "1.5")
	f("raw", "AQL/")
	f("list", `["x"]`)
	f("map", `{"inner":7}`)
	f("nothing", "")
	const text = `{"text":"a \"b\"","yes":true,"n":-5,"f":1.5,"raw":"AQL/","list":["x"],"map":{"inner":7},"nothing":null}`
	require.Equal(t, text, m.String())
	marshaled, err := json.Marshal(m)
	require.NoError(t, err)
	require.Equal(t, text, string(marshaled))

	m.Get("list").SetFloat64(math.Inf(-1))
	m.Get("map").SetArray().Append().SetFloat64(math.NaN())
	f("list", "-Inf")
	f("map", `["NaN"]`)
	m.Get("raw").SetString("a\xff")
	marshaled, err = json.Marshal(m)
	require.NoError(t, err)
	require.Equal(t, `{"text":"a \"b\"","yes":true,"n":-5,"f":1.5,"raw":"a\ufffd","list":"-Inf","map":["NaN"],"nothing":null}`, string(marshaled))
	require.Empty(t, m.Get("n").Str(), "the accessor of text returns text only")
	require.Equal(t, `a "b"`, m.Get("text").Str())

	v := otelstef.NewPointValue()
	v.SetInt64(3)
	require.Equal(t, "3", v.String())
	v.SetHistogram().SetSum(2)
	v.Histogram().BucketCounts().SetValues([]uint64{1, 2})
	require.Equal(t, `{"Count":0,"Sum":2,"BucketCounts":[1,2]}`, v.String())
	metric := otelstef.NewMetric()
	metric.SetType(otelstef.MetricTypeSum)
	require.Contains(t, metric.String(), `"Type":"Sum"`)
}

func TestAttributesByKey(t *testing.T) {
	m := someAttributes()
	m.AppendString("text", "again")
	require.Equal(t, `a "b"`, m.Get("text").Str(), "the first one")
	absent := m.Get("absent")
	require.Nil(t, absent)
	require.Equal(t, [4]any{otelstef.AnyValueTypeNone, "", int64(0), ""}, [4]any{absent.Type(), absent.Str(), absent.Int64(), absent.String()})
	require.Nil(t, absent.Array())
	var keys []string
	for k, v := range m.All() {
		require.Same(t, m.Value(len(keys)), v)
		keys = append(keys, k)
	}
	require.Equal(t, []string{"text", "yes", "n", "f", "raw", "list", "map", "nothing", "text"}, keys)
	for range m.All() {
		break
	}
	m.Delete(1, 7)
	require.Equal(t, `[["text","a \"b\""],["nothing",null],["text","again"]]`, m.String())
	m.Delete(0, 0)
	require.Equal(t, 3, m.Len())
	require.Panics(t, func() { m.Delete(2, 4) })
	m.Delete(0, 3)
	require.Zero(t, m.Len())

	e := otelstef.NewEnvelopeAttributes()
	e.Append("k", []byte("v"))
	v, ok := e.Get("k")
	require.True(t, ok)
	require.Equal(t, []byte("v"), v)
	_, ok = e.Get("other")
	require.False(t, ok)
}

// A program can change attributes several times between two calls of Write. The reader returns the final
// attributes.
func TestAttributeChanges(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out)
	require.NoError(t, err)
	var want []string
	attrs := w.Record().Span().Attributes()
	for i := range 200 {
		switch {
		case i%7 == 3 && attrs.Len() > 3:
			attrs.Delete(1, 3)
		case i%50 == 49:
			attrs.Reset()
		case i%3 == 0:
			attrs.AppendArray(fmt.Sprint("list", i)).Append().SetInt64(int64(i))
		default:
			attrs.AppendString(fmt.Sprint("key", i%11), fmt.Sprint(i%5))
		}
		require.NoError(t, w.Write())
		want = append(want, attrs.String())
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewSpansReader(&out)
	require.NoError(t, err)
	for _, text := range want {
		require.True(t, r.Next())
		require.Equal(t, text, r.Record().Span().Attributes().String())
	}
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

// TestAttributesWithRepeatedKeys: JSON parsers keep only one value of a repeated key. So attributes with
// repeated keys are printed as an array of pairs, as "stef cat" prints them.
func TestAttributesWithRepeatedKeys(t *testing.T) {
	f := func(want, text string, keys ...string) {
		t.Helper()
		m := otelstef.NewAttributes()
		for i, key := range keys {
			m.AppendInt64(key, int64(i+1))
		}
		got, err := json.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		require.Equal(t, text, m.String())
	}
	f(`{}`, `{}`)
	f(`{"a":1,"b":2}`, `{"a":1,"b":2}`, "a", "b")
	f(`[["a",1],["b",2],["a",3]]`, `[["a",1],["b",2],["a",3]]`, "a", "b", "a")
	// MarshalJSON replaces invalid UTF-8, so these keys become equal. String escapes invalid UTF-8,
	// so they stay different.
	f(`[["\ufffd",1],["\ufffd",2]]`, `{"\xfe":1,"\xff":2}`, "\xfe", "\xff")
	f(`{"\ufffd":1,"\ufffd\ufffd":2}`, `{"\xfe":1,"\xff\xff":2}`, "\xfe", "\xff\xff")
}

// TestRecordsRefuseJSON: records have a method UnmarshalJSON that always fails. Without this method,
// json.Unmarshal would set no field and return nil.
func TestRecordsRefuseJSON(t *testing.T) {
	const want = "stef: JSON cannot be read into %s: the output of MarshalJSON is for human readers and logs"
	require.EqualError(t, json.Unmarshal([]byte(`{"Point":{}}`), otelstef.NewMetrics()), fmt.Sprintf(want, "Metrics"))
	require.EqualError(t, json.Unmarshal([]byte(`{}`), otelstef.NewAttributes()), fmt.Sprintf(want, "Attributes"))
	require.EqualError(t, json.Unmarshal([]byte(`1`), otelstef.NewAnyValue()), fmt.Sprintf(want, "AnyValue"))
}

// TestSetTypeUnknown calls SetType with a choice that the oneof does not have.
func TestSetTypeUnknown(t *testing.T) {
	v := otelstef.NewAnyValue()
	v.SetInt64(5)
	v.SetType(99)
	require.Equal(t, [2]any{otelstef.AnyValueTypeNone, ""}, [2]any{v.Type(), v.String()})
	require.True(t, v.Equal(otelstef.NewAnyValue()))
	v.SetType(otelstef.AnyValueTypeBytes) // the last choice
	require.Equal(t, otelstef.AnyValueTypeBytes, v.Type())
}

// TestDeleteKeepsPointers: after Delete, a pointer to pair or element i points to the new
// pair or element i.
func TestDeleteKeepsPointers(t *testing.T) {
	a := otelstef.NewAttributes()
	values := otelstef.NewAnyValue().SetArray()
	values.SetLen(3)
	for i, key := range []string{"a", "b", "c"} {
		a.AppendInt64(key, int64(i))
		values.At(i).SetInt64(int64(i))
	}
	pair, element := a.Value(1), values.At(1)
	a.Delete(0, 1)
	values.Delete(0, 1)
	require.Equal(t, [2]int64{2, 2}, [2]int64{pair.Int64(), element.Int64()})
	require.Same(t, pair, a.Value(1))
	require.Same(t, element, values.At(1))
}
