// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

// The compact form has special fields for ids of the usual lengths. If an id has another length, all ids of
// the span are in the fields of Span instead. The schema of a stream can lack some of these fields.
func TestCompactWithoutFieldsOfIDs(t *testing.T) {
	for kept := range 4 {
		wire := otelstef.SpansCompactSchema()
		for i, n := range wire {
			if n == 16 { // the number of fields of Span
				wire[i] = kept
			}
		}
		// No kept field contains Event, Link or SpanStatus any more.
		wire = slices.Delete(wire, 7, 10)
		var out bytes.Buffer
		w, err := otelstef.NewSpansWriter(&out, stef.WithSchema(wire))
		require.NoError(t, err, kept)
		span := w.Record().Span()
		for _, id := range []string{"", "spanid01", "short"} {
			span.SetTraceID([]byte("0123456789abcdef"))
			span.SetSpanID([]byte(id))
			span.SetStartTimeUnixNano(span.StartTimeUnixNano() + 5)
			span.Events().Append()
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())
		r, err := otelstef.NewSpansReader(&out)
		require.NoError(t, err)
		for i, id := range []string{"", "spanid01", "short"} {
			require.True(t, r.Next(), r.Err())
			require.Equal(t, uint64(5*i+5), r.Record().Span().StartTimeUnixNano())
			if len(id) == 8 || kept > 1 {
				require.Equal(t, id, string(r.Record().Span().SpanID()), "%d fields, span %d", kept, i)
			}
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
	}
}

// cuts lists, for each root, the types that a stream in the compact form can have with fewer fields, and the
// minimum number of these fields. A reader computes some fields from the compact form, so it returns them
// even if the stream lacks them.
var cuts = map[string]map[string]int{
	"Metrics": {"AnyValue": 0, "Exemplar": 0, "ExemplarValue": 0, "Metric": 1, "Resource": 1, "Scope": 1},
	"Spans":   {"AnyValue": 0, "Event": 2, "Link": 0, "Span": 9, "SpanStatus": 0, "Resource": 1},
}

// A stream in the compact form can lack other fields. If the state depends on such a field, the
// writer must compute the state like a reader, which does not have the field.
//
// spec: #compact
func TestCompactWithFewerFields(t *testing.T) {
	f := func(c compactForm, whole *schema.Struct) {
		for seed := range seeds(40) {
			r := rand.New(rand.NewPCG(seed, 31))
			all, err := schema.Keep(whole, schema.WireOf(whole))
			require.NoError(t, err)
			kept := maps.Clone(all)
			for s := range kept {
				if least, ok := cuts[c.Schema.Name][s.Name]; ok && r.IntN(2) == 0 {
					kept[s] = least + r.IntN(len(s.Fields)-least+1)
				}
			}
			wire := kept.Wire(whole)
			plain := schema.Kept{}
			reached, err := schema.Keep(whole, wire)
			require.NoError(t, err)
			byName := map[string]int{}
			for s, n := range reached {
				byName[s.Name] = n
			}
			full, err := schema.Keep(c.Schema, schema.WireOf(c.Schema))
			require.NoError(t, err)
			for s := range full {
				plain[s] = min(byName[s.Name], len(s.Fields))
			}
			c.option = stef.WithSchema(wire)
			recs := c.records(seed, 1+r.IntN(60))
			stream := c.write(t, r, recs, randomOptions(r)...)
			for i := range recs {
				recs[i] = steftest.Cut(c.Schema, plain, recs[i])
			}
			c.requireRead(t, bytes.NewReader(stream), recs, fmt.Sprint("seed ", seed, " wire ", wire))
		}
	}
	f(compactMetrics(t), otelstef.MetricsCompactRoot())
	f(compactSpans(t), otelstef.SpansCompactRoot())
}
