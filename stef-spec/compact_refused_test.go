// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// writeFields returns a stream of one record. The text record has the values of its
// fields as they are sent.
func writeFields(t *testing.T, root *schema.Struct, wire schema.WireSchema, record string) []byte {
	t.Helper()
	rec, err := parseRecord(root, dynamic.NewStruct(root), record)
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root, dynamic.WithSchema(wire), dynamic.WithSchemaHeader())
	require.NoError(t, err)
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestCompactRefused writes streams that readers must refuse by chapter 17, and similar valid
// streams. In the first record, the values of residual fields equal their residuals.
func TestCompactRefused(t *testing.T) {
	roots := compactRoots(t)
	const minus = "18446744073709551615"
	f := func(c *compactRoot, record string, refused bool) {
		t.Helper()
		stream := writeFields(t, c.compact, schema.WireOf(c.compact), record)
		_, err := readCompact(stream, c.compact, c.full)
		generated := c.read(stream, func(any) {})
		if !refused {
			require.NoError(t, err, record)
			require.NoError(t, generated, record)
			return
		}
		require.ErrorIs(t, err, errRule, record)
		require.ErrorIs(t, generated, stef.ErrCorrupt, record)
	}
	metrics, spans, logs := roots[0], roots[1], roots[2]
	point := func(fields string, refused bool) {
		t.Helper()
		f(metrics, fmt.Sprintf(`{"Compact":{%s}}`, fields), refused)
	}
	point(``, false)
	point(`"Time":1`, false)
	point(`"Time":3`, true)
	point(`"Time":2`, true) // the far time is missing
	point(`"Time":2, "Words":[5]`, false)
	point(`"Time":2, "Words":[5,5]`, true)
	point(`"Time":2, "Start":2, "Words":[5]`, true)
	point(`"Time":2, "Start":2, "Words":[5,5]`, false)
	point(`"Form":15`, false)
	point(`"Form":14`, true)
	point(`"Form":16`, true)
	point(`"Form":84`, true)
	point(`"Form":`+minus, true)
	point(`"Form":42`, true) // the words of a histogram are missing
	point(`"Form":42, "Words":[1,0], "Floats":[0,0]`, false)
	point(`"Form":42, "Words":[1], "Floats":[0,0]`, true)
	point(`"Form":42, "Words":[1,0], "Floats":[0]`, true)
	point(`"Form":42, "Words":[1,0], "Floats":[0,0,0]`, true)
	point(`"Form":42, "Words":[1,0]`, true)
	point(`"Form":56, "Words":[0,0,0,0,0,0,0], "Floats":[0,0,0]`, false)
	point(`"Form":56, "Words":[0,0,0,0,0,0], "Floats":[0,0,0]`, true)
	point(`"Form":56, "Words":[0,0,0,0,0,0,1], "Floats":[0,0,0]`, true) // the last word announces a negative count, which is missing
	point(`"Form":56, "Words":[0,0,0,0,0,0,0], "Floats":[0,0]`, true)
	point(`"Form":70, "Words":[0], "Floats":[0]`, false)
	point(`"Form":70, "Words":[0], "Floats":[0,0]`, true)
	point(`"Form":70, "Words":[0,0], "Floats":[0]`, true)
	point(`"Form":70, "Words":[0]`, true)

	// Code -1: all exemplars are sent. The residual is the complement of the code.
	f(metrics, `{"Point":{"Exemplars":[{}]}}`, false)
	f(metrics, `{"Point":{"Exemplars":[{}], "CompactExemplars":1}}`, true)                    // -2: exemplar 0 is that of the series, which has none
	f(metrics, `{"Point":{"CompactExemplars":`+minus+`}}`, false)                             // 0: none
	f(metrics, `{"Point":{"Exemplars":[{}], "CompactExemplars":18446744073709551614}}`, true) // 1: the sent exemplar replaces exemplar 0 of the series, which has none

	f(spans, `{"Compact":{"Trace":1}}`, false)
	f(spans, `{}`, true) // code 0 needs an earlier trace
	f(spans, `{"Compact":{"Trace":2}}`, true)
	f(spans, `{"Compact":{"Trace":3}}`, true)
	f(spans, `{"Compact":{"Trace":`+minus+`}}`, true)
	f(spans, `{"Compact":{"Apart":true}}`, false)
	f(spans, `{"Compact":{"Trace":1, "Parent":1}}`, false)
	f(spans, `{"Compact":{"Trace":1, "Parent":2}}`, true)
	f(spans, `{"Compact":{"Trace":1, "Parent":`+minus+`}}`, true)
	f(spans, `{"Compact":{"Trace":1, "Known":1}}`, true)
	f(spans, `{"Compact":{"Trace":1, "Parent":1, "Known":1}}`, false)
	f(spans, `{"Compact":{"Trace":1, "Parent":1, "Known":2}}`, true)
	f(spans, `{"Compact":{"Trace":1, "Known":`+minus+`}}`, true)
	f(spans, `{"Compact":{"Trace":1}, "Span":{"Events":[{}]}}`, true)
	f(spans, `{"Compact":{"Trace":1, "Times":[0]}, "Span":{"Events":[{}]}}`, false)
	f(spans, `{"Compact":{"Trace":1, "Times":[2]}, "Span":{"Events":[{}]}}`, true)
	f(spans, `{"Compact":{"Trace":1, "Times":[2,9]}, "Span":{"Events":[{}]}}`, false)
	f(spans, `{"Compact":{"Trace":1, "Times":[0,0]}, "Span":{"Events":[{}]}}`, true)
	f(spans, `{"Compact":{"Trace":1}, "Start":2}`, true)
	f(spans, `{"Compact":{"Trace":1, "Times":[7]}, "Start":2}`, false)
	f(spans, `{"Compact":{"Trace":1, "Times":[7]}, "Start":2, "Duration":1}`, true) // the code of the duration is 2
	f(spans, `{"Compact":{"Trace":1, "Times":[7,7]}, "Start":2, "Duration":1}`, false)

	f(logs, `{}`, false)
	f(logs, `{"Record":{"CompactForm":3}}`, false)
	f(logs, `{"Record":{"CompactForm":4}}`, true)
	f(logs, `{"Record":{"CompactForm":2}}`, true)
	f(logs, `{"Record":{"CompactForm":2}, "Trace":1}`, false)
	f(logs, `{"Record":{"CompactForm":1}, "Trace":1, "Known":1}`, true)
}

// TestCompactPartly reads streams that keep only some of the compact fields, and streams
// with a field that no schema has yet.
func TestCompactPartly(t *testing.T) {
	compact := otelstef.MetricsCompactRoot()
	wire := schema.WireOf(compact)
	some := append(schema.WireSchema{len(compact.Fields) - 1}, wire[1:]...)
	record := `{"Point":{"Timestamp":5, "Value":{"Int64":7}}, "Compact":{"Time":3}}`
	read := func(stream []byte) (points []string, err error) {
		r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
		if err != nil {
			return nil, err
		}
		for r.Next() {
			p := r.Record().Point()
			points = append(points, fmt.Sprint(p.Timestamp(), " ", p.Value().Int64()))
		}
		return points, r.Err()
	}
	points, err := read(writeFields(t, compact, some, record))
	require.NoError(t, err)
	require.Equal(t, []string{"5 7"}, points)
	_, err = read(writeFields(t, compact, wire, record))
	require.ErrorIs(t, err, stef.ErrCorrupt)

	later := compactSchemaWith(t, "struct CompactPoint { Later uint64 }").Root("Metrics")
	_, err = read(writeFields(t, later, schema.WireOf(later), record))
	require.ErrorIs(t, err, stef.ErrSchema)
	full := otelstef.MetricsRoot()
	_, err = dynamic.NewReader(bytes.NewReader(writeFields(t, compact, wire, record)), full)
	require.ErrorIs(t, err, dynamic.ErrSchema)
}
