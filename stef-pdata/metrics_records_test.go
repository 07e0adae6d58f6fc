// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/teltest"
)

// The test vectors of metrics are streams in the published schema. Each record is reported, or it is
// the same after conversion to pdata and back. Before the comparison, asOTLP removes content that
// OTLP cannot express. In streams of real telemetry no record is reported.
func TestRecordsOfTheReferenceToMetrics(t *testing.T) {
	f := func(pattern string, least int, complete bool) {
		paths, err := filepath.Glob(filepath.Join(teltest.Golden(t, "edge"), "..", pattern))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(paths), least)
		for _, path := range paths {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".stef"), func(t *testing.T) {
				stream, err := os.ReadFile(path)
				require.NoError(t, err)
				r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
				if errors.Is(err, stef.ErrLimit) {
					return // the vector with user data that is too long
				}
				require.NoError(t, err)
				mds, rejected := drainRecords(t, r)
				if complete {
					require.Empty(t, rejected)
				}
				requireSameRecords(t, stream, encodeMetrics(t, mds, stefpdata.Ordered, otelstef.PublishedMetrics()), rejected)
			})
		}
	}
	f("data/*-otelmetrics.*.stef", 8, true)
	f("edge/m_*.stef", 50, false)
}

// drainRecords decodes all content of r, and returns which records were reported.
func drainRecords(t *testing.T, r *otelstef.MetricsReader) (mds []pmetric.Metrics, rejected map[uint64]bool) {
	d := stefpdata.NewMetricsDecoder(r)
	rejected = map[uint64]bool{}
	for {
		md, err := d.Decode()
		mds = append(mds, md)
		var bad stefpdata.RecordErrors
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, stef.ErrLimit): // the vector with 1024 attributes
			return mds, rejected
		case errors.As(err, &bad):
			for _, e := range bad {
				for record := e.First; record <= e.Last; record++ {
					rejected[record] = true
				}
			}
		default:
			require.NoError(t, err)
		}
	}
}

// requireSameRecords checks that the stream got has the records of the stream want in the same
// order, except the records whose numbers are in without. Envelopes of records are not telemetry
// and are not compared.
func requireSameRecords(t *testing.T, want, got []byte, without map[uint64]bool) {
	t.Helper()
	a, err := otelstef.NewMetricsReader(bytes.NewReader(want))
	require.NoError(t, err)
	b, err := otelstef.NewMetricsReader(bytes.NewReader(got))
	require.NoError(t, err)
	wanted := otelstef.NewMetrics()
	for n := uint64(1); a.Next(); n++ {
		if without[n] {
			continue
		}
		require.True(t, b.Next(), "record %d", n)
		wanted.CopyFrom(a.Record())
		asOTLP(wanted)
		rec := b.Record()
		// require.True is not used here: it evaluates its arguments each time, and
		// there are many records.
		if !wanted.Resource().Equal(rec.Resource()) || !wanted.Scope().Equal(rec.Scope()) || !wanted.Metric().Equal(rec.Metric()) ||
			!wanted.Attributes().Equal(rec.Attributes()) || !wanted.Point().Equal(rec.Point()) {
			require.FailNow(t, "the records differ", "record %d", n)
		}
	}
	if a.Err() != nil {
		require.ErrorIs(t, a.Err(), stef.ErrLimit)
	}
	require.False(t, b.Next())
	require.NoError(t, b.Err())
}

// asOTLP removes from a record the content that OTLP cannot express. A conversion to
// pdata and back does the same.
func asOTLP(rec *otelstef.Metrics) {
	metric := rec.EditMetric()
	kind := metric.Type()
	// The unsorted converter of the reference implementation does not clear the fields that a metric
	// does not have, so they keep the values of the previous metric.
	if kind != otelstef.MetricTypeHistogram {
		metric.HistogramBounds().SetLen(0)
	}
	if kind != otelstef.MetricTypeSum {
		metric.SetMonotonic(false)
	}
	if kind == otelstef.MetricTypeGauge || kind == otelstef.MetricTypeSummary {
		metric.SetAggregationTemporality(0)
	}
	point := rec.Point()
	// An exponential histogram can have the flag "no recorded value". The encoder for the published
	// schema writes the value of the histogram, and the flag is lost.
	if kind == otelstef.MetricTypeExpHistogram && point.Value().Type() == otelstef.PointValueTypeNone {
		point.Value().SetExpHistogram()
	}
	// Our encoder writes unset ids as zeros in the published schema, like the reference
	// implementation, because readers of that schema need all bytes.
	for i := range point.Exemplars().Len() {
		exemplar := point.Exemplars().At(i)
		if len(exemplar.TraceID()) == 0 {
			exemplar.SetTraceID(make([]byte, 16))
		}
		if len(exemplar.SpanID()) == 0 {
			exemplar.SetSpanID(make([]byte, 8))
		}
	}
	if kind == otelstef.MetricTypeSummary {
		point.Exemplars().SetLen(0) // exemplars of the previous point
	}
}
