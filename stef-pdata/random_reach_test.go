// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"
)

// otlpFields lists the field numbers of each OTLP message, except deprecated fields and fields for
// profiles. The value of a field is the name of the message that the field holds, or "".
var otlpFields = map[string]map[protowire.Number]string{
	"KeyValue":     {1: "", 2: "AnyValue"},
	"AnyValue":     {1: "", 2: "", 3: "", 4: "", 5: "ArrayValue", 6: "KeyValueList", 7: ""},
	"ArrayValue":   {1: "AnyValue"},
	"KeyValueList": {1: "KeyValue"},
	"Resource":     {1: "KeyValue", 2: "", 3: "EntityRef"},
	"EntityRef":    {1: "", 2: "", 3: "", 4: ""},
	"Scope":        {1: "", 2: "", 3: "KeyValue", 4: ""},

	"MetricsData":          {1: "ResourceMetrics"},
	"ResourceMetrics":      {1: "Resource", 2: "ScopeMetrics", 3: ""},
	"ScopeMetrics":         {1: "Scope", 2: "Metric", 3: ""},
	"Metric":               {1: "", 2: "", 3: "", 5: "Gauge", 7: "Sum", 9: "Histogram", 10: "ExponentialHistogram", 11: "Summary", 12: "KeyValue"},
	"Gauge":                {1: "Number"},
	"Sum":                  {1: "Number", 2: "", 3: ""},
	"Number":               {2: "", 3: "", 4: "", 5: "Exemplar", 6: "", 7: "KeyValue", 8: ""},
	"Histogram":            {1: "HistogramPoint", 2: ""},
	"HistogramPoint":       {2: "", 3: "", 4: "", 5: "", 6: "", 7: "", 8: "Exemplar", 9: "KeyValue", 10: "", 11: "", 12: ""},
	"ExponentialHistogram": {1: "ExponentialPoint", 2: ""},
	"ExponentialPoint": {1: "KeyValue", 2: "", 3: "", 4: "", 5: "", 6: "", 7: "", 8: "Buckets", 9: "Buckets", 10: "", 11: "Exemplar",
		12: "", 13: "", 14: ""},
	"Buckets":      {1: "", 2: ""},
	"Summary":      {1: "SummaryPoint"},
	"SummaryPoint": {2: "", 3: "", 4: "", 5: "", 6: "Quantile", 7: "KeyValue", 8: ""},
	"Quantile":     {1: "", 2: ""},
	"Exemplar":     {2: "", 3: "", 4: "", 5: "", 6: "", 7: "KeyValue"},

	"TracesData":    {1: "ResourceSpans"},
	"ResourceSpans": {1: "Resource", 2: "ScopeSpans", 3: ""},
	"ScopeSpans":    {1: "Scope", 2: "Span", 3: ""},
	"Span": {1: "", 2: "", 3: "", 4: "", 5: "", 6: "", 7: "", 8: "", 9: "KeyValue", 10: "", 11: "Event", 12: "", 13: "Link", 14: "",
		15: "Status", 16: ""},
	"Event":  {1: "", 2: "", 3: "KeyValue", 4: ""},
	"Link":   {1: "", 2: "", 3: "", 4: "KeyValue", 5: "", 6: ""},
	"Status": {2: "", 3: ""},

	"LogsData":     {1: "ResourceLogs"},
	"ResourceLogs": {1: "Resource", 2: "ScopeLogs", 3: ""},
	"ScopeLogs":    {1: "Scope", 2: "LogRecord", 3: ""},
	"LogRecord":    {1: "", 2: "", 3: "", 5: "AnyValue", 6: "KeyValue", 7: "", 8: "", 9: "", 10: "", 11: "", 12: ""},
}

// TestRandomReachesEveryField checks that the input of the property tests has every
// field of OTLP, so that each field is tested.
func TestRandomReachesEveryField(t *testing.T) {
	type field struct {
		message string
		number  protowire.Number
	}
	seen := map[field]int{}
	var visit func(message string, data []byte)
	visit = func(message string, data []byte) {
		for len(data) > 0 {
			number, kind, n := protowire.ConsumeTag(data)
			require.Positive(t, n)
			data = data[n:]
			inner, known := otlpFields[message][number]
			require.True(t, known, "field %d of %s is not in the table", number, message)
			seen[field{message, number}]++
			n = protowire.ConsumeFieldValue(number, kind, data)
			require.GreaterOrEqual(t, n, 0)
			if inner != "" {
				content, _ := protowire.ConsumeBytes(data)
				visit(inner, content)
			}
			data = data[n:]
		}
	}
	for seed := range uint64(60) {
		r := newRandom(seed)
		data, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(r.metrics())
		require.NoError(t, err)
		visit("MetricsData", data)
		data, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(r.traces())
		require.NoError(t, err)
		visit("TracesData", data)
		data, err = (&plog.ProtoMarshaler{}).MarshalLogs(r.logs())
		require.NoError(t, err)
		visit("LogsData", data)
	}
	for message, fields := range otlpFields {
		for number := range fields {
			require.Positive(t, seen[field{message, number}], "field %d of %s", number, message)
		}
	}
}
