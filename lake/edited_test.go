// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/internal/teltest/randtel"
	"github.com/otelstef/stef/lake"
)

// edit returns a copy of a file in which a column is null. rows counts the rows that had
// a value in this column and in the column otlp.
func edit(t *testing.T, f lake.Format, s lake.Signal, content []byte, column string) (edited []byte, rows int) {
	t.Helper()
	var out bytes.Buffer
	w, err := lake.NewWriter(&out, f, s, lake.WriterOptions{})
	require.NoError(t, err)
	b, err := lake.NewBuilder(f, s, nil)
	require.NoError(t, err)
	defer b.Release()
	r, err := open(f, content, lake.Limits{})
	require.NoError(t, err)
	defer r.Close()
	for {
		batch, err := r.NextRecordBatch()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		columns := append([]arrow.Array(nil), batch.Columns()...)
		otlp := columns[batch.Schema().FieldIndices("otlp")[0]]
		at := batch.Schema().FieldIndices(column)[0]
		for i := range otlp.Len() {
			if otlp.IsValid(i) && columns[at].IsValid(i) {
				rows++
			}
		}
		columns[at] = array.MakeArrayOfNull(memory.DefaultAllocator, columns[at].DataType(), otlp.Len())
		require.NoError(t, w.WriteRecordBatch(array.NewRecordBatch(b.Schema(), columns, int64(otlp.Len()))))
	}
	require.NoError(t, w.Close())
	return out.Bytes(), rows
}

// Edited counts the rows with OTLP whose other columns were changed. It counts no other rows.
func TestEdited(t *testing.T) {
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		var batches []lake.Batch
		for seed := range uint64(40) {
			batches = append(batches, random(s, randtel.New(seed)))
		}
		count := func(content []byte) (fromOTLP, edited uint64) {
			r, err := open(f, content, lake.Limits{})
			require.NoError(t, err)
			defer r.Close()
			for err == nil {
				_, err = r.Next()
			}
			require.Equal(t, io.EOF, err)
			return r.FromOTLP(), r.Edited()
		}
		content := write(t, f, s, lake.WriterOptions{}, batches...)
		all, edited := count(content)
		require.Greater(t, all, uint64(20))
		require.Zero(t, edited)
		for _, column := range []string{"scope_name", map[lake.Signal]string{lake.Metrics: "time", lake.Traces: "name", lake.Logs: "severity_text"}[s]} {
			changed, rows := edit(t, f, s, content, column)
			require.Positive(t, rows)
			require.Less(t, rows, int(all))
			_, edited = count(changed)
			require.EqualValues(t, rows, edited, column)
		}
		// Changes of columns that are not read, and of rows without OTLP, are not counted.
		changed, _ := edit(t, f, s, content, "service_name")
		_, edited = count(changed)
		require.Zero(t, edited)
		changed, _ = edit(t, f, s, content, "otlp")
		all, edited = count(changed)
		require.Zero(t, all)
		require.Zero(t, edited)
	})
}

// If a row has OTLP, a reader returns the point in this OTLP. It uses the other columns only to
// restore -0. So an edit of these columns is counted, and has no effect.
func TestEditedNumbers(t *testing.T) {
	made := pmetric.NewMetrics()
	metrics := made.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	summary := metrics.AppendEmpty()
	summary.SetName("not UTF-8: \xff")
	p := summary.SetEmptySummary().DataPoints().AppendEmpty()
	p.SetSum(5)
	for _, v := range []float64{7, math.Copysign(0, -1)} {
		q := p.QuantileValues().AppendEmpty()
		q.SetQuantile(0.5)
		q.SetValue(v)
	}
	exponential := metrics.AppendEmpty()
	exponential.SetName(summary.Name())
	exponential.SetEmptyExponentialHistogram().DataPoints().AppendEmpty().SetZeroThreshold(3)
	exponential.ExponentialHistogram().DataPoints().AppendEmpty().SetZeroThreshold(math.Copysign(0, -1))
	want := lake.Batch{Signal: lake.Metrics, Metrics: made}
	for _, f := range []lake.Format{lake.Parquet, lake.Arrow} {
		content := write(t, f, lake.Metrics, lake.WriterOptions{}, want)
		for _, column := range []string{"sum", "zero_threshold", "quantiles"} {
			changed, _ := edit(t, f, lake.Metrics, content, column)
			r, err := open(f, changed, lake.Limits{})
			require.NoError(t, err)
			got, err := r.Next()
			require.NoError(t, err)
			require.EqualValues(t, 3, r.FromOTLP())
			require.EqualValues(t, 1, r.Edited(), column)
			r.Close()
			var points []pmetric.Metric
			for _, rm := range got.Metrics.ResourceMetrics().All() {
				points = append(points, rm.ScopeMetrics().At(0).Metrics().At(0))
			}
			require.Equal(t, 5.0, points[0].Summary().DataPoints().At(0).Sum())
			quantiles := points[0].Summary().DataPoints().At(0).QuantileValues()
			require.Equal(t, 2, quantiles.Len())
			require.Equal(t, 7.0, quantiles.At(0).Value())
			require.Equal(t, column != "quantiles", math.Signbit(quantiles.At(1).Value()))
			require.Equal(t, 3.0, points[1].ExponentialHistogram().DataPoints().At(0).ZeroThreshold())
			require.Equal(t, column != "zero_threshold", math.Signbit(points[2].ExponentialHistogram().DataPoints().At(0).ZeroThreshold()))
		}
	}
}
