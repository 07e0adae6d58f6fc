// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

var parsed = struct {
	sync.Once
	schema *schema.Schema
	err    error
}{}

// otelSchema returns the schema that the package is generated from.
func otelSchema(tb testing.TB) *schema.Schema {
	tb.Helper()
	parsed.Do(func() {
		var src []byte
		if src, parsed.err = os.ReadFile(filepath.Join(teltest.Root(tb), "stef-spec", "otel.stef")); parsed.err == nil {
			parsed.schema, parsed.err = idl.Parse("otel.stef", src)
		}
	})
	require.NoError(tb, parsed.err)
	return parsed.schema
}

// constructors lists all generated constructors. Mutators of tests need them to create values.
var constructors = []any{
	otelstef.NewMetrics, otelstef.NewSpans, otelstef.NewLogs, otelstef.NewMetric, otelstef.NewResource, otelstef.NewScope,
	otelstef.NewEnvelope, otelstef.NewEnvelopeAttributes, otelstef.NewAttributes, otelstef.NewAnyValue, otelstef.NewKeyValueList,
	otelstef.NewEntityRef, otelstef.NewPoint, otelstef.NewPointValue, otelstef.NewHistogramValue, otelstef.NewExpHistogramValue,
	otelstef.NewExpHistogramBuckets, otelstef.NewSummaryValue, otelstef.NewQuantileValue, otelstef.NewExemplar,
	otelstef.NewExemplarValue, otelstef.NewSpan, otelstef.NewEvent, otelstef.NewLink, otelstef.NewSpanStatus,
	otelstef.NewLogRecord, otelstef.NewLogBody, otelstef.NewBodyValue, otelstef.NewBodyMap, otelstef.NewBodyTemplate,
	otelstef.NewBodyParams,
}

func metricsRoot(tb testing.TB) *steftest.Root {
	root := steftest.NewRoot(otelSchema(tb).Root("Metrics"), otelstef.MetricsBaseSchema(),
		otelstef.NewMetricsWriter, otelstef.NewMetricsReader, constructors...)
	root.Known = otelstef.MetricsCompactSchema()
	return root
}

func spansRoot(tb testing.TB) *steftest.Root {
	root := steftest.NewRoot(otelSchema(tb).Root("Spans"), otelstef.SpansBaseSchema(),
		otelstef.NewSpansWriter, otelstef.NewSpansReader, constructors...)
	root.Known = otelstef.SpansCompactSchema()
	return root
}

func logsRoot(tb testing.TB) *steftest.Root {
	root := steftest.NewRoot(otelSchema(tb).Root("Logs"), otelstef.LogsBaseSchema(),
		otelstef.NewLogsWriter, otelstef.NewLogsReader, constructors...)
	root.Known = otelstef.LogsCompactSchema()
	return root
}

func eachRoot(t *testing.T, f func(t *testing.T, r *steftest.Root)) {
	t.Run("metrics", func(t *testing.T) { f(t, metricsRoot(t)) })
	t.Run("spans", func(t *testing.T) { f(t, spansRoot(t)) })
	t.Run("logs", func(t *testing.T) { f(t, logsRoot(t)) })
}
