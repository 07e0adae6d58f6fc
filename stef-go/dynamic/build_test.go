// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// Tests describe records by plain Go values. The type is fields for a struct, one for a oneof, pairs for a
// multimap and list for an array. A number can be an int. In a value of type fields, nil makes a field
// absent, and a field that is not named keeps its value.
type (
	fields map[string]any
	one    struct {
		choice string
		value  any
	}
	pairs [][2]any
	list  []any
)

// rootOf parses a schema without its package line and returns its only root.
func rootOf(tb testing.TB, text string) *schema.Struct {
	tb.Helper()
	s, err := idl.Parse("test.stef", []byte("package test\n"+text))
	require.NoError(tb, err)
	require.Len(tb, s.Roots(), 1)
	return s.Roots()[0]
}

func wholeType(root *schema.Struct) *schema.Type {
	return &schema.Type{Kind: schema.KindStruct, Name: root.Name, Struct: root}
}

// build returns a copy of base, which is a value of type t. It applies the changes in plain to the copy.
func build(t *schema.Type, base, plain any) any {
	switch plain := plain.(type) {
	case fields:
		v := dynamic.Clone(base).(*dynamic.Struct)
		for i, f := range t.Struct.Fields {
			change, ok := plain[f.Name]
			if !ok {
				continue
			}
			if v.Present[i] = !f.Optional || change != nil; !v.Present[i] {
				continue
			}
			if v.Fields[i] == nil {
				v.Fields[i] = dynamic.NewValue(&f.Type)
			}
			v.Fields[i] = build(&f.Type, v.Fields[i], change)
		}
		return v
	case one:
		for i, f := range t.Struct.Fields {
			if f.Name == plain.choice {
				return &dynamic.Oneof{Choice: i + 1, Value: build(&f.Type, dynamic.NewValue(&f.Type), plain.value)}
			}
		}
		return &dynamic.Oneof{}
	case pairs:
		v := &dynamic.Multimap{}
		for _, p := range plain {
			v.Pairs = append(v.Pairs, dynamic.Pair{
				Key:   build(&t.Multimap.Key, dynamic.NewValue(&t.Multimap.Key), p[0]),
				Value: build(&t.Multimap.Value, dynamic.NewValue(&t.Multimap.Value), p[1]),
			})
		}
		return v
	case list:
		v := &dynamic.Array{}
		for _, e := range plain {
			v.Elems = append(v.Elems, build(t.Elem, dynamic.NewValue(t.Elem), e))
		}
		return v
	case int:
		switch t.Kind {
		case schema.KindInt64:
			return int64(plain)
		case schema.KindFloat64:
			return float64(plain)
		}
		return uint64(plain)
	case string:
		if t.Kind == schema.KindBytes {
			return []byte(plain)
		}
	}
	return plain
}

// records applies changes to a record one after another, and returns a copy of the record after each
// change.
func records(root *schema.Struct, changes ...fields) []*dynamic.Struct {
	t := wholeType(root)
	var recs []*dynamic.Struct
	rec := dynamic.NewStruct(root)
	for _, change := range changes {
		rec = build(t, rec, change).(*dynamic.Struct)
		recs = append(recs, rec)
	}
	return recs
}

// write returns a stream of the records. If flushEach is true, it flushes after each record.
func write(tb testing.TB, root *schema.Struct, recs []*dynamic.Struct, flushEach bool, opts ...dynamic.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root, opts...)
	require.NoError(tb, err)
	for _, rec := range recs {
		require.NoError(tb, w.Write(rec))
		if flushEach {
			require.NoError(tb, w.Flush())
		}
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

func read(tb testing.TB, root *schema.Struct, stream []byte, opts ...dynamic.ReaderOption) []*dynamic.Struct {
	tb.Helper()
	r, err := dynamic.NewReader(bytes.NewReader(stream), root, opts...)
	require.NoError(tb, err)
	var recs []*dynamic.Struct
	for r.Next() {
		recs = append(recs, r.Record())
	}
	require.NoError(tb, r.Err())
	return recs
}

// jsonOf returns the records as JSON, one record per line.
func jsonOf(tb testing.TB, root *schema.Struct, kept schema.Kept, recs []*dynamic.Struct) string {
	tb.Helper()
	var out []byte
	for _, rec := range recs {
		var err error
		out, err = dynamic.AppendJSON(out, root, kept, rec)
		require.NoError(tb, err)
		out = append(out, '\n')
	}
	return string(out)
}

// requireRecords compares records by their JSON, which makes failures readable, and
// by value.
func requireRecords(tb testing.TB, root *schema.Struct, want, have []*dynamic.Struct) {
	tb.Helper()
	require.Equal(tb, jsonOf(tb, root, nil, want), jsonOf(tb, root, nil, have))
	for i := range want {
		require.True(tb, dynamic.Equal(want[i], have[i]), "record %d", i)
	}
}

// unhex returns the bytes of a text in hexadecimal. It ignores spaces, line ends and "|".
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "", "|", "").Replace(s))
	require.NoError(tb, err)
	return b
}

func dump(b []byte) string { return fmt.Sprintf("% x", b) }
