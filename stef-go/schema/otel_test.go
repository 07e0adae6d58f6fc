// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// The wire schemas of the published OpenTelemetry schema. The schema of this repository extends it.
var (
	publishedMetrics = schema.WireSchema{6, 1, 8, 7, 3, 5, 4, 5, 5, 9, 2, 3, 2, 5, 2}
	publishedSpans   = schema.WireSchema{4, 1, 3, 7, 5, 14, 4, 6, 2}
)

func parse(tb testing.TB, src string) *schema.Schema {
	tb.Helper()
	s, err := idl.Parse("test.stef", []byte(src))
	require.NoError(tb, err)
	return s
}

func otel(tb testing.TB, root string) *schema.Struct {
	tb.Helper()
	src, err := os.ReadFile("../../stef-spec/otel.stef")
	require.NoError(tb, err)
	return parse(tb, string(src)).Root(root)
}

// TestPublished cuts the schema of this repository to the published schema. The result must have the wire
// schema and the columns of the published schema.
func TestPublished(t *testing.T) {
	f := func(name string, wire schema.WireSchema, columns int, dropped map[string]int) {
		t.Helper()
		root := otel(t, name)
		kept, err := schema.Keep(root, wire)
		require.NoError(t, err)
		require.Equal(t, wire, kept.Wire(root))
		require.Len(t, schema.Columns(root, kept), columns)
		require.Equal(t, columns, schema.CountColumns(root, kept, schema.MaxColumns))
		require.Equal(t, schema.Older, schema.Compare(root, wire))
		got := map[string]int{}
		for s, n := range kept {
			if n < len(s.Fields) {
				got[s.Name] = len(s.Fields) - n
			}
		}
		require.Equal(t, dropped, got)
	}
	f("Metrics", publishedMetrics, 121, map[string]int{"Resource": 1, "Point": 1})
	f("Spans", publishedSpans, 94, map[string]int{"Resource": 1, "Span": 2})
}

// TestPublishedColumns checks the positions that the specification states for some columns.
func TestPublishedColumns(t *testing.T) {
	f := func(name string, wire schema.WireSchema, paths map[int]string) {
		t.Helper()
		root := otel(t, name)
		kept, err := schema.Keep(root, wire)
		require.NoError(t, err)
		columns := schema.Columns(root, kept)
		// The specification counts from 1.
		for number, path := range paths {
			require.Equal(t, path, columns[number-1].Path())
		}
	}
	f("Metrics", publishedMetrics, map[int]string{
		1: "Metrics", 2: "Metrics.Envelope", 5: "Metrics.Envelope.Attributes.value",
		11: "Metrics.Metric.Metadata", 23: "Metrics.Metric.HistogramBounds[]",
		25: "Metrics.Metric.Monotonic", 27: "Metrics.Resource.SchemaURL",
		28: "Metrics.Resource.Attributes", 29: "Metrics.Resource.Attributes.key",
		30: "Metrics.Resource.Attributes.value", 31: "Metrics.Resource.Attributes.value.String",
		35: "Metrics.Resource.Attributes.value.Array", 36: "Metrics.Resource.Attributes.value.KVList",
		37: "Metrics.Resource.Attributes.value.KVList.key", 38: "Metrics.Resource.Attributes.value.Bytes",
		39: "Metrics.Resource.DroppedAttributesCount", 56: "Metrics.Attributes",
		72: "Metrics.Point.Value.Float64", 95: "Metrics.Point.Value.ExpHistogram.ZeroThreshold",
		102: "Metrics.Point.Value.Summary.QuantileValues[].Value",
		105: "Metrics.Point.Exemplars[].Timestamp", 110: "Metrics.Point.Exemplars[].TraceID",
		121: "Metrics.Point.Exemplars[].FilteredAttributes.value.Bytes",
	})
	f("Spans", publishedSpans, map[int]string{
		1: "Spans", 20: "Spans.Scope", 36: "Spans.Span", 46: "Spans.Span.Attributes",
		59: "Spans.Span.Events[]", 74: "Spans.Span.Links", 94: "Spans.Span.Status.Code",
	})
}
