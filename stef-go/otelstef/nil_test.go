// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// If the destination, the source or an option is nil, the constructor returns an error. If a program sets a
// nil shared value in a record, the setter panics.
func TestNil(t *testing.T) {
	_, err := otelstef.NewMetricsWriter(nil)
	require.EqualError(t, err, "stef: the destination is nil")
	_, err = otelstef.NewMetricsReader(nil)
	require.EqualError(t, err, "stef: the source is nil")
	_, err = otelstef.NewMetricsWriter(new(bytes.Buffer), nil)
	require.EqualError(t, err, "stef: an option is nil")
	_, err = otelstef.NewMetricsReader(new(bytes.Buffer), nil)
	require.EqualError(t, err, "stef: an option is nil")

	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	require.EqualError(t, w.Reset(nil), "stef: the destination is nil")
	require.PanicsWithValue(t, "stef: a shared Resource cannot be nil; use NewResource for an empty one",
		func() { w.Record().SetResource(nil) })
	require.NoError(t, w.Write(), "the writer goes on")
	require.NoError(t, w.Close())

	r, err := otelstef.NewMetricsReader(&out, stef.WithLimits(stef.Limits{}))
	require.NoError(t, err)
	require.EqualError(t, r.Reset(nil), "stef: the source is nil")
	require.True(t, r.Next(), "the reader goes on")
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

// A record that was not created with its New function is a zero value. CopyFrom panics for it.
func TestZeroValueIsNotCopied(t *testing.T) {
	const text = "stef: the zero value of %[1]s cannot be copied; create it with New%[1]s"
	require.PanicsWithValue(t, fmt.Sprintf(text, "Metrics"), func() { otelstef.NewMetrics().CopyFrom(new(otelstef.Metrics)) })
	require.PanicsWithValue(t, fmt.Sprintf(text, "Spans"), func() { otelstef.NewSpans().CopyFrom(new(otelstef.Spans)) })
	require.PanicsWithValue(t, fmt.Sprintf(text, "Logs"), func() { otelstef.NewLogs().CopyFrom(new(otelstef.Logs)) })
}

// If a value does not exist, its getter may return nil. The getters of this nil return zero values. So
// Value().Histogram().BucketCounts() works even for a point with an integer.
func TestNilGetters(t *testing.T) {
	p := otelstef.NewPoint()
	p.Value().SetInt64(7)
	require.Zero(t, p.Value().Histogram().BucketCounts().Len())
	require.Zero(t, p.Value().ExpHistogram().PositiveBuckets().BucketCounts().Len())
	require.Zero(t, p.Value().Summary().QuantileValues().Len())

	getters := 0
	var check func(v reflect.Value)
	check = func(v reflect.Value) {
		for method, f := range v.Methods() {
			switch {
			case method.Name == "String" || method.Name == "Modified" || f.Type().NumIn() > 0 || f.Type().NumOut() != 1,
				slices.ContainsFunc([]string{"Set", "Add", "Unset", "Reset"}, func(s string) bool { return strings.HasPrefix(method.Name, s) }):
				continue
			}
			got := f.Call(nil)[0]
			require.True(t, got.IsZero(), "%s of %v", method.Name, v.Type())
			getters++
			if strings.Contains(v.Type().String(), "HistogramValue") && got.Kind() == reflect.Pointer && got.Type().Elem().PkgPath() == v.Type().Elem().PkgPath() {
				check(got)
			}
		}
	}
	check(reflect.ValueOf((*otelstef.HistogramValue)(nil)))
	check(reflect.ValueOf((*otelstef.ExpHistogramValue)(nil)))
	check(reflect.ValueOf((*otelstef.SummaryValue)(nil)))
	require.Equal(t, 8+12+2*2+3, getters)
}
