// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// TestRecordsForOtherGoroutines reads streams in several goroutines. Each goroutine writes its records to
// its own writer, and sends copies of them to the goroutine of another writer. The package comment of stef
// describes such copies. If a copy shared a value with its original, the race detector would report it.
func TestRecordsForOtherGoroutines(t *testing.T) {
	const streams, records = 3, 40
	copies := make(chan *otelstef.Metrics) // unbuffered, so that the writers work at the same time
	var readers sync.WaitGroup
	for range streams {
		var in, out bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&in)
		require.NoError(t, err)
		for i := range records {
			rec := w.Record()
			rec.EditResource().SetSchemaURL(string(rune('a' + i%3)))
			rec.EditResource().EntityRefs().SetLen(1)
			rec.EditScope().SetName(string(rune('a' + i%5)))
			rec.EditMetric().SetName(string(rune('a' + i%7)))
			rec.Point().SetTimestamp(uint64(i))
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())
		r, err := otelstef.NewMetricsReader(&in)
		require.NoError(t, err)
		own, err := otelstef.NewMetricsWriter(&out)
		require.NoError(t, err)
		readers.Go(func() {
			for r.Next() {
				c := otelstef.NewMetrics()
				c.CopyFrom(r.Record())
				c.Unshare()
				copies <- c
				own.Record().CopyFrom(r.Record())
				if err := own.Write(); err != nil {
					t.Error(err)
				}
			}
			if err := r.Err(); err != nil {
				t.Error(err)
			}
		})
	}
	go func() {
		readers.Wait()
		close(copies)
	}()

	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	want := map[string]int{}
	for c := range copies {
		want[jsonOf(t, c)]++
		w.Record().CopyFrom(c)
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewMetricsReader(&out)
	require.NoError(t, err)
	got := map[string]int{}
	for r.Next() {
		got[jsonOf(t, r.Record())]++
	}
	require.NoError(t, r.Err())
	require.Len(t, got, records)
	require.Equal(t, want, got)
}

func jsonOf(t *testing.T, m *otelstef.Metrics) string {
	t.Helper()
	b, err := m.MarshalJSON()
	require.NoError(t, err)
	return string(b)
}
