// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// TestSharedValuesInTwoWriters: two writers in one goroutine write records with the same shared values, as
// the package comment of stef allows. Each writer stores its dictionary references in the values. Both
// streams must still have all records, in the full schema and in the compact form. In the compact form, a
// writer also uses the references to find the series of a record.
func TestSharedValuesInTwoWriters(t *testing.T) {
	for seed := range uint64(40) {
		for name, options := range map[string][]stef.WriterOption{
			"full": nil, "compact": {otelstef.CompactMetrics()}, "restarts": {otelstef.CompactMetrics(), stef.WithDictBytes(2000)},
		} {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) { testTwoWriters(t, rand.New(rand.NewPCG(seed, 1)), options) })
		}
	}
}

func testTwoWriters(t *testing.T, rng *rand.Rand, options []stef.WriterOption) {
	// Several values are equal, but have different addresses.
	var metrics []*otelstef.Metric
	var resources []*otelstef.Resource
	var scopes []*otelstef.Scope
	for i := range 6 {
		m, r, s := otelstef.NewMetric(), otelstef.NewResource(), otelstef.NewScope()
		m.SetName(fmt.Sprint(i / 2))
		r.SetSchemaURL(fmt.Sprint(i / 2))
		s.SetName(fmt.Sprint(i / 2))
		metrics, resources, scopes = append(metrics, m), append(resources, r), append(scopes, s)
	}
	var outs [2]bytes.Buffer
	var writers [2]*otelstef.MetricsWriter
	var want [2][]*otelstef.Metrics
	for i := range writers {
		w, err := otelstef.NewMetricsWriter(&outs[i], options...)
		require.NoError(t, err)
		writers[i] = w
	}
	for n := range 300 {
		i := rng.IntN(2)
		rec := writers[i].Record()
		switch at := rng.IntN(6); rng.IntN(3) {
		case 0:
			rec.SetMetric(metrics[at])
		case 1:
			rec.SetResource(resources[at])
		default:
			rec.SetScope(scopes[at])
		}
		rec.Point().SetTimestamp(uint64(1_000_000*n + rng.IntN(1000)))
		rec.Point().Value().SetInt64(int64(rng.IntN(1 << 30)))
		kept := otelstef.NewMetrics()
		kept.CopyFrom(rec)
		want[i] = append(want[i], kept)
		require.NoError(t, writers[i].Write())
	}
	for i, w := range writers {
		require.NoError(t, w.Close())
		r, err := otelstef.NewMetricsReader(&outs[i])
		require.NoError(t, err)
		for n, rec := range want[i] {
			require.True(t, r.Next(), "record %d: %v", n, r.Err())
			require.True(t, rec.Equal(r.Record()), "record %d", n)
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
	}
}
