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
	"github.com/otelstef/stef/internal/teltest/canon"
)

// Our sorted streams contain the same points as the sorted streams of the reference implementation.
// Each point has the same attributes in the same order.
func TestSortedRecordsAreTheReferences(t *testing.T) {
	f := func(vector, set string) {
		stream, err := os.ReadFile(teltest.Golden(t, "data", vector))
		require.NoError(t, err)
		ours := encodeMetrics(t, realMetrics(t, set), stefpdata.Sorted, otelstef.PublishedMetrics())
		require.Empty(t, canon.Diff(canon.Metrics(decodeMetrics(t, stream)...), canon.Metrics(decodeMetrics(t, ours)...)))
	}
	f("hipstershop-otelmetrics.parts.sorted.zstd.stef", hipstershop)
	f("hostandcollector-otelmetrics.parts.sorted.zstd.stef", hostandcollector)
}

// Decoding unsorted streams of the reference implementation returns the points that it encoded,
// in the same order.
func TestUnsortedRecordsOfTheReference(t *testing.T) {
	f := func(vector, set string) {
		stream, err := os.ReadFile(teltest.Golden(t, "data", vector))
		require.NoError(t, err)
		requireSame(t, stefpdata.Ordered, realMetrics(t, set), decodeMetrics(t, stream))
	}
	f("hipstershop-otelmetrics.parts.unsorted.none.stef", hipstershop)
	f("hostandcollector-otelmetrics.one.unsorted.zstd.stef", hostandcollector)
}

// The test vectors "edge" cover everything that a record can hold. Each of their records becomes a
// point or is reported. Encoding these points and decoding them again returns the same points.
func TestVectorsToMetrics(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(teltest.Golden(t, "edge"), "m_*.stef"))
	require.NoError(t, err)
	require.Greater(t, len(paths), 50)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".stef"), func(t *testing.T) {
			stream, err := os.ReadFile(path)
			require.NoError(t, err)
			r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
			if errors.Is(err, stef.ErrLimit) {
				return // the vector with user data that is too long
			}
			require.NoError(t, err)
			mds := drain(t, r)
			for _, mode := range modes {
				again := decodeMetrics(t, encodeMetrics(t, mds, mode))
				requireSame(t, mode, mds, again)
			}
		})
	}
}

// drain decodes all content of r, and checks that every record became a point or was reported.
func drain(t *testing.T, r *otelstef.MetricsReader) (mds []pmetric.Metrics) {
	d := stefpdata.NewMetricsDecoder(r)
	points, rejected := 0, uint64(0)
	for {
		md, err := d.Decode()
		points += md.DataPointCount()
		mds = append(mds, md)
		var bad stefpdata.RecordErrors
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			require.Equal(t, r.Stats().Records, uint64(points)+rejected)
			return mds
		case errors.Is(err, stef.ErrLimit):
			return mds // the vector with 1024 attributes, one more than readers accept
		case errors.As(err, &bad):
			rejected += bad.Records()
			require.ErrorIs(t, err, stefpdata.ErrRecord)
			for _, e := range bad {
				require.NotEmpty(t, e.Field)
			}
		default:
			require.NoError(t, err)
		}
	}
}
