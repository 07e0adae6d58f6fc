// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"cmp"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// Writers and readers report which fields the stream has. requireFields compares their result with the
// fields that schema.Keep returns for the wire schema of the stream.
func requireFields(t *testing.T, root *schema.Struct, wire schema.WireSchema, fields any) {
	t.Helper()
	kept, err := schema.Keep(root, wire)
	require.NoError(t, err)
	counts := map[string]*schema.Struct{}
	for s := range kept {
		counts[s.Name] = s
	}
	v := reflect.ValueOf(fields)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		s := counts[name]
		delete(counts, name)
		var want uint64
		switch {
		case s == nil: // no field of the stream has this type
		case s.Oneof:
			want = uint64(kept[s])
		default:
			want = 1<<kept[s] - 1
		}
		require.Equal(t, want, v.Field(i).Uint(), "%s in %v", name, wire)
	}
	require.Empty(t, counts, "types without a field")
}

// TestFields: writers and readers report which fields a stream has, in any schema.
func TestFields(t *testing.T) {
	testFields(t, otelstef.MetricsRoot(), otelstef.NewMetricsWriter, otelstef.NewMetricsReader)
	testFields(t, otelstef.SpansRoot(), otelstef.NewSpansWriter, otelstef.NewSpansReader)
	testFields(t, otelstef.LogsRoot(), otelstef.NewLogsWriter, otelstef.NewLogsReader)
}

func testFields[W interface {
	Fields() F
	Close() error
}, R interface {
	Fields() F
	Reset(io.Reader) error
}, F any](t *testing.T, root *schema.Struct,
	newWriter func(io.Writer, ...stef.WriterOption) (W, error), newReader func(io.Reader, ...stef.ReaderOption) (R, error)) {
	full, err := schema.Keep(root, schema.WireOf(root))
	require.NoError(t, err)
	var structs []*schema.Struct
	for s := range full {
		structs = append(structs, s)
	}
	slices.SortFunc(structs, func(a, b *schema.Struct) int { return cmp.Compare(a.Name, b.Name) })
	rnd := rand.New(rand.NewPCG(1, 2))
	var again *R
	for range 300 {
		kept := schema.Kept{}
		for _, s := range structs {
			kept[s] = full[s]
			if rnd.IntN(4) == 0 {
				kept[s] = rnd.IntN(full[s] + 1)
			}
		}
		kept[root] = max(kept[root], 1)
		wire := kept.Wire(root)
		var out bytes.Buffer
		w, err := newWriter(&out, stef.WithSchema(wire), stef.WithSchemaHeader())
		require.NoError(t, err)
		requireFields(t, root, wire, w.Fields())
		require.NoError(t, w.Close())
		r, err := newReader(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		requireFields(t, root, wire, r.Fields())
		if again == nil {
			again = &r
		}
		require.NoError(t, (*again).Reset(&out))
		requireFields(t, root, wire, (*again).Fields())
	}
}

// If the schema of a stream lacks a dictionary, the dictionary is nil, and its method Ref returns 0.
func TestDicts(t *testing.T) {
	root := otelstef.SpansRoot()
	w, err := otelstef.NewSpansWriter(new(bytes.Buffer))
	require.NoError(t, err)
	w.Record().Span().SetName("name")
	require.Zero(t, w.Dicts().SpanName.Ref("name"))
	require.NoError(t, w.Write())
	require.NotZero(t, w.Dicts().SpanName.Ref("name"))

	kept := schema.Kept{root: 1}
	for _, f := range root.Fields {
		kept[f.Type.Struct] = 1
	}
	w, err = otelstef.NewSpansWriter(new(bytes.Buffer), stef.WithSchema(kept.Wire(root)))
	require.NoError(t, err)
	require.NoError(t, w.Write())
	require.Nil(t, w.Dicts().SpanName)
	require.Zero(t, w.Dicts().SpanName.Ref("name"))
}
