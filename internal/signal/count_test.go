// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

func gauge(n int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("requests")
	dps := m.SetEmptyGauge().DataPoints()
	for i := range n {
		dps.AppendEmpty().SetIntValue(int64(i))
	}
	return md
}

func TestCountItems(t *testing.T) {
	md := gauge(3)
	ms := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	ms.AppendEmpty().SetEmptySum().DataPoints().AppendEmpty()
	ms.AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
	ms.AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	ms.AppendEmpty().SetEmptySummary().DataPoints().AppendEmpty()
	ms.AppendEmpty().SetName("without points")
	body, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	require.NoError(t, err)
	require.Equal(t, 7, countPoints(body))
	require.Equal(t, 14, countPoints(bytes.Repeat(body, 2)))
	for end := range body {
		require.LessOrEqual(t, countPoints(body[:end]), 7)
	}

	old := []byte{0xc2, 0x3e, 2, 0x12, 0} // a scope with an item in field 1000
	require.Equal(t, 2, countSpans(append([]byte{0x0a, 10}, append(old, old...)...)))
	require.Equal(t, 1, countSpans(append([]byte{0x0a, 9, 0x12, 2, 0x12, 0}, old...)), "not read if there are other scopes")

	td := ptrace.NewTraces()
	for range 3 {
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		spans.AppendEmpty().SetName("a")
		spans.AppendEmpty().Events().AppendEmpty()
	}
	body, err = ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	require.NoError(t, err)
	require.Equal(t, 6, countSpans(body))

	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("x")
	body, err = plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
	require.NoError(t, err)
	require.Equal(t, 1, countLogRecords(body))
	require.Zero(t, countLogRecords(nil))
}

// The number of points that the count finds is not less than the number after decoding.
func FuzzCountPoints(f *testing.F) {
	body, err := pmetricotlp.NewExportRequestFromMetrics(gauge(3)).MarshalProto()
	require.NoError(f, err)
	f.Add(body)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		n := countPoints(body)
		request := pmetricotlp.NewExportRequest()
		if request.UnmarshalProto(body) != nil {
			return
		}
		// If a metric has data of two types, decoding keeps only the later data.
		require.GreaterOrEqual(t, n, request.Metrics().DataPointCount())
	})
}
