// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	spec "github.com/otelstef/stef/stef-spec"
)

// TestAssumedSchemas compares the assumed schemas of the specification with
// those of the generated code, and reads vectors without a wire schema using a
// schema that has more fields.
func TestAssumedSchemas(t *testing.T) {
	grown := spec.OTelSchema
	for _, name := range []string{"Logs root", "LogRecord", "Resource dict(Resource)", "Span", "Point", "Scope dict(Scope)"} {
		head := "struct " + name + " {"
		i := strings.Index(grown, head)
		require.Positive(t, i, head)
		end := i + strings.Index(grown[i:], "\n}")
		grown = grown[:end] + "\n  Later string" + grown[end:]
	}
	parsed, err := idl.Parse("grown.stef", []byte(grown))
	require.NoError(t, err)
	old, err := idl.Parse("otel.stef", []byte(spec.OTelSchema))
	require.NoError(t, err)

	found := blocks("stef-assumed")
	require.Len(t, found, 1)
	roots := map[string]schema.WireSchema{}
	for line := range strings.Lines(found[0].text()) {
		words := strings.Fields(line)
		roots[words[0]], err = numbers(words[1:])
		require.NoError(t, err)
	}
	require.Len(t, roots, len(vectorRoots))
	for name, root := range vectorRoots {
		require.Equal(t, root.base, roots[name], name)
	}
	unrecorded := 0
	for _, v := range slices.Concat(metricsVectors(), spansVectors(), logsVectors()) {
		stream, err := os.ReadFile(filepath.Join(vectorsDir, v.name+".stef"))
		require.NoError(t, err)
		read := func(root *schema.Struct) (string, schema.WireSchema) {
			kept, err := schema.Keep(root, roots[root.Name])
			require.NoError(t, err)
			r, err := dynamic.NewReader(bytes.NewReader(stream), root, dynamic.WithAssumedSchema(roots[root.Name]))
			require.NoError(t, err, v.name)
			var lines []byte
			for r.Next() {
				lines, err = dynamic.AppendJSON(lines, root, kept, r.Record())
				require.NoError(t, err)
			}
			require.NoError(t, r.Err(), v.name)
			return string(lines), r.Header().Wire
		}
		want, wire := read(old.Root(v.root.name))
		got, _ := read(parsed.Root(v.root.name))
		require.Equal(t, want, got, v.name)
		if wire == nil {
			unrecorded++
		}
	}
	require.GreaterOrEqual(t, unrecorded, 6)
}

// recordSize is the size of a record as the specification measures it.
//
// spec: #record-size
func recordSize(v any) int {
	const composite, primitive = 192, 32
	switch v := v.(type) {
	case nil:
		return 0
	case *dynamic.Struct:
		n := composite
		for i, field := range v.Fields {
			if v.Present[i] {
				n += recordSize(field)
			}
		}
		return n
	case *dynamic.Oneof:
		return composite + recordSize(v.Value)
	case *dynamic.Array:
		n := composite
		for _, elem := range v.Elems {
			n += recordSize(elem)
		}
		return n
	case *dynamic.Multimap:
		n := composite
		for _, p := range v.Pairs {
			n += recordSize(p.Key) + recordSize(p.Value)
		}
		return n
	case string:
		return primitive + len(v)
	case []byte:
		return primitive + len(v)
	}
	return primitive
}

// TestRecordSize reads records of the maximum size that a reader accepts by
// default, with both readers.
func TestRecordSize(t *testing.T) {
	const most = 1 << 25
	metrics := func(name string, each int, fill func(rec *otelstef.Metrics, n int)) {
		large(t, metricsRoot, otelstef.NewMetricsWriter, otelstef.MetricsSchema(), name, most, each, fill)
	}
	spans := func(name string, each int, fill func(rec *otelstef.Spans, n int)) {
		large(t, spansRoot, otelstef.NewSpansWriter, otelstef.SpansSchema(), name, most, each, fill)
	}
	logs := func(name string, each int, fill func(rec *otelstef.Logs, n int)) {
		large(t, logsRoot, otelstef.NewLogsWriter, otelstef.LogsSchema(), name, most, each, fill)
	}
	value := func(rec *otelstef.Metrics) *otelstef.AnyValue {
		rec.Attributes().SetLen(1)
		return rec.Attributes().Value(0)
	}
	metrics("array of None", 192, func(rec *otelstef.Metrics, n int) { value(rec).SetArray().SetLen(n) })
	metrics("array of numbers", 224, func(rec *otelstef.Metrics, n int) {
		a := value(rec).SetArray()
		a.SetLen(n)
		for i := range n {
			a.At(i).SetInt64(int64(i))
		}
	})
	metrics("array of arrays", 384, func(rec *otelstef.Metrics, n int) {
		a := value(rec).SetArray()
		a.SetLen(n)
		for i := range n {
			a.At(i).SetArray()
		}
	})
	metrics("lists of pairs", 192+192+1000*224, func(rec *otelstef.Metrics, n int) {
		a := value(rec).SetArray()
		a.SetLen(n)
		for i := range n {
			a.At(i).SetKVList().SetLen(1000)
		}
	})
	metrics("floats", 32, func(rec *otelstef.Metrics, n int) {
		rec.EditMetric().HistogramBounds().SetValues(make([]float64, n))
	})
	metrics("integers", 32, func(rec *otelstef.Metrics, n int) {
		rec.Point().Value().SetHistogram().BucketCounts().SetValues(make([]uint64, n))
	})
	metrics("texts", 32, func(rec *otelstef.Metrics, n int) {
		rec.EditResource().EntityRefs().Append().IDKeys().SetValues(make([]string, n))
	})
	metrics("one text", 1, func(rec *otelstef.Metrics, n int) { value(rec).SetString(strings.Repeat("x", n)) })
	metrics("exemplars", 192+32+192+32+32+192, func(rec *otelstef.Metrics, n int) { rec.Point().Exemplars().SetLen(n) })
	metrics("entities", 192+64+384, func(rec *otelstef.Metrics, n int) { rec.EditResource().EntityRefs().SetLen(n) })
	spans("events", 192+32+32+192+32, func(rec *otelstef.Spans, n int) { rec.Span().Events().SetLen(n) })
	spans("links", 192+32+32+32+32+192+32, func(rec *otelstef.Spans, n int) { rec.Span().Links().SetLen(n) })
	logs("body of None", 192, func(rec *otelstef.Logs, n int) { rec.Record().Body().SetValue().SetArray().SetLen(n) })
	logs("body of maps", 192+192+1000*224, func(rec *otelstef.Logs, n int) {
		a := rec.Record().Body().SetValue().SetArray()
		a.SetLen(n)
		for i := range n {
			a.At(i).SetMap().SetLen(1000)
		}
	})
}

// large writes and reads one record whose size is slightly below the limit most. The record
// consists of parts: fill sets n parts, and each is the size of one part.
func large[R any, W recordWriter[R]](t *testing.T, root *vectorRoot, newWriter func(io.Writer, ...stef.WriterOption) (W, error),
	wire schema.WireSchema, name string, most, each int, fill func(rec R, n int)) {
	t.Run(name, func(t *testing.T) {
		var stream bytes.Buffer
		w, err := newWriter(&stream, stef.WithSchema(wire))
		require.NoError(t, err)
		fill(w.Record(), (most-8<<10)/each)
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
		readOne(t, root, stream.Bytes(), most)
	})
}

// readOne reads a stream of one record. The size of the record must not exceed the limit most,
// and must be at least 99 % of it.
func readOne(t *testing.T, root *vectorRoot, stream []byte, most int) {
	t.Helper()
	parsed, err := idl.Parse("otel.stef", []byte(spec.OTelSchema))
	require.NoError(t, err)
	r, err := dynamic.NewReader(bytes.NewReader(stream), parsed.Root(root.name))
	require.NoError(t, err)
	require.True(t, r.Next(), "%v", r.Err())
	size := recordSize(r.Record())
	require.LessOrEqual(t, size, most)
	require.Greater(t, size, most-most/100)
	require.False(t, r.Next())
	require.NoError(t, r.Err())
	require.NoError(t, root.read(stream, func(any) {}))
}

// TestNesting compares the specification's table of nesting levels with the limit of the
// generated reader, and reads the maximum number of levels that readers accept.
func TestNesting(t *testing.T) {
	read := func(value any, limits ...stef.ReaderOption) error {
		var stream bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&stream)
		require.NoError(t, err)
		setAttributes(w.Record().Attributes(), "k", value)
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
		r, err := otelstef.NewMetricsReader(bytes.NewReader(stream.Bytes()), limits...)
		require.NoError(t, err)
		for r.Next() {
		}
		return r.Err()
	}
	f := func(shown string, levels int, value any) {
		t.Helper()
		require.Contains(t, spec.Specification, fmt.Sprintf("| `%s` | %d |", shown, levels))
		require.NoError(t, read(value, stef.WithLimits(stef.Limits{Depth: max(levels, 1)})), shown)
		if levels > 0 {
			require.ErrorIs(t, read(value, stef.WithLimits(stef.Limits{Depth: levels - 1})), stef.ErrLimit, shown)
		}
	}
	f(`"a"`, 0, "a")
	f(`[]`, 2, []any{})
	f(`["a"]`, 2, []any{"a"})
	f(`[["a"]]`, 4, []any{[]any{"a"}})
	f(`{"k":["a"]}`, 4, pairs{"k", []any{"a"}})

	var deep any = "a"
	for range 256 {
		deep = []any{deep}
	}
	require.NoError(t, read(deep))
	require.NoError(t, read(deep, stef.WithLimits(stef.Limits{Depth: 512})))
	require.ErrorIs(t, read(deep, stef.WithLimits(stef.Limits{Depth: 511})), stef.ErrLimit)
}
