// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// wireWith returns a wire schema of root in which one struct or oneof has n fields.
func wireWith(t *testing.T, root *schema.Struct, name string, n int) stef.WriterOption {
	t.Helper()
	kept, err := schema.Keep(root, schema.WireOf(root))
	require.NoError(t, err)
	found := false
	for s := range kept {
		if s.Name == name {
			kept[s], found = n, true
		}
	}
	require.True(t, found, "no struct %s", name)
	return stef.WithSchema(kept.Wire(root))
}

func TestOfMetrics(t *testing.T) {
	f := func(want Set, options ...stef.WriterOption) {
		t.Helper()
		w, err := otelstef.NewMetricsWriter(new(bytes.Buffer), options...)
		require.NoError(t, err)
		require.Equal(t, want, OfMetrics(w.Fields()))
	}
	root := otelstef.MetricsRoot()
	f(Set{EntityRefs: true, Flags: true})
	f(Set{}, otelstef.PublishedMetrics())
	f(Set{EntityRefs: true}, wireWith(t, root, "Point", 4))
	f(Set{Flags: true}, wireWith(t, root, "Resource", 3))
	f(Set{Flags: true}, wireWith(t, root, "Resource", 0))
	f(Set{}, wireWith(t, root, "Metrics", 1))
}

func TestOfSpans(t *testing.T) {
	f := func(want Set, options ...stef.WriterOption) {
		t.Helper()
		w, err := otelstef.NewSpansWriter(new(bytes.Buffer), options...)
		require.NoError(t, err)
		require.Equal(t, want, OfSpans(w.Fields()))
	}
	root := otelstef.SpansRoot()
	f(Set{EntityRefs: true, RawIDs: true, DroppedEvents: true, DroppedLinks: true})
	f(Set{}, otelstef.PublishedSpans())
	f(Set{EntityRefs: true}, wireWith(t, root, "Span", 14))
	f(Set{EntityRefs: true, RawIDs: true, DroppedEvents: true}, wireWith(t, root, "Span", 15))
	f(Set{}, wireWith(t, root, "Spans", 1))
}

func TestOfLogs(t *testing.T) {
	f := func(want Set, options ...stef.WriterOption) {
		t.Helper()
		w, err := otelstef.NewLogsWriter(new(bytes.Buffer), options...)
		require.NoError(t, err)
		require.Equal(t, want, OfLogs(w.Fields()))
	}
	root := otelstef.LogsRoot()
	f(Set{EntityRefs: true, ObservedDelta: true, Templates: true})
	f(Set{EntityRefs: true, Templates: true, References: true, ValueReferences: true, Formats: true}, otelstef.CompactLogs())
	f(Set{EntityRefs: true, Templates: true, References: true, ValueReferences: true}, wireWith(t, otelstef.LogsCompactRoot(), "CompactLog", 3))
	f(Set{EntityRefs: true, Templates: true, References: true}, wireWith(t, otelstef.LogsCompactRoot(), "CompactLog", 2))
	f(Set{EntityRefs: true, Templates: true, ObservedDelta: true}, wireWith(t, root, "LogRecord", 10))
	f(Set{EntityRefs: true, ObservedDelta: true}, wireWith(t, root, "LogRecord", 9))
	f(Set{EntityRefs: true}, wireWith(t, root, "LogRecord", 2))
	f(Set{EntityRefs: true, ObservedDelta: true}, wireWith(t, root, "LogBody", 2))
	f(Set{EntityRefs: true, ObservedDelta: true}, wireWith(t, root, "BodyTemplate", 1))
}
