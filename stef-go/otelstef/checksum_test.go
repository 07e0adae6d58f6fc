// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// fieldPoints returns a stream of 10,000 points of 100 series in frames of 500.
func fieldPoints(t testing.TB, options ...stef.WriterOption) (stream []byte) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, options...)
	require.NoError(t, err)
	rec := w.Record()
	rec.EditMetric().SetName("http.requests")
	rec.Attributes().SetLen(2)
	for i := range 10_000 {
		series := i % 100
		rec.Attributes().SetString(0, "route", fmt.Sprintf("/shop/%d", series))
		rec.Attributes().SetString(1, "host", fmt.Sprintf("node-%d", series%7))
		rec.Point().SetTimestamp(1_700_000_000_000_000_000 + uint64(i/100)*10_000_000_000 + uint64(i*7919%1000))
		rec.Point().Value().SetInt64(int64(i * 31 % 977))
		require.NoError(t, w.Write())
		if i%500 == 499 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

var digestSeed = maphash.MakeSeed()

// digest hashes the records that a reader returns, up to an error.
func digest(t testing.TB, stream []byte) (sum uint64, records int, err error) {
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	add := func(v uint64) { sum = (sum ^ v) * 1099511628211 }
	for r.Next() {
		rec := r.Record()
		records++
		add(rec.Point().Timestamp())
		add(uint64(rec.Point().Value().Int64()))
		add(uint64(len(rec.Metric().Name())))
		for key, v := range rec.Attributes().All() {
			for _, text := range []string{key, v.Str()} {
				add(maphash.String(digestSeed, text))
			}
		}
	}
	return sum, records, r.Err()
}

// TestFlippedBitsAreNoticed flips single bits of a stream and counts how many of these faults a reader
// detects. The threat model of this repository states the results. With STEF_LONG=1 it flips every bit.
func TestFlippedBitsAreNoticed(t *testing.T) {
	every := func(step int) int {
		if os.Getenv("STEF_LONG") != "" {
			return 1
		}
		return step
	}
	f := func(name string, step int, noticed float64, options ...stef.WriterOption) {
		t.Run(name, func(t *testing.T) {
			stream := fieldPoints(t, options...)
			want, _, err := digest(t, stream)
			require.NoError(t, err)
			var flips, errs, wrong, same int
			for bit := 0; bit < 8*len(stream); bit += step {
				stream[bit/8] ^= 1 << (bit % 8)
				flips++
				switch got, _, err := digest(t, stream); {
				case err != nil:
					errs++
				case got != want:
					wrong++
				default:
					same++
				}
				stream[bit/8] ^= 1 << (bit % 8)
			}
			t.Logf("%d bytes, %d bits flipped: %d errors (%.2f %%), %d other records (%.2f %%), %d without effect",
				len(stream), flips, errs, 100*float64(errs)/float64(flips), wrong, 100*float64(wrong)/float64(flips), same)
			require.GreaterOrEqual(t, float64(errs)/float64(flips-same), noticed)
		})
	}
	f("none", every(331), 0)
	f("zstd", every(7), 0, stef.WithCompression(stef.Zstd))
	f("zstd with checksums", every(37), 0.99, stef.WithCompression(stef.Zstd), stef.WithChecksums())
}

// TestChecksumsNeedCompression: creating a writer with checksums fails without
// compression.
func TestChecksumsNeedCompression(t *testing.T) {
	for _, options := range [][]stef.WriterOption{
		{stef.WithChecksums()},
		{stef.WithCompression(stef.Zstd), stef.WithChecksums(), stef.WithCompression(stef.None)},
	} {
		_, err := otelstef.NewMetricsWriter(new(bytes.Buffer), options...)
		require.EqualError(t, err, "stef: WithChecksums needs WithCompression(stef.Zstd): frames without compression have no checksum")
	}
	_, err := otelstef.NewMetricsWriter(new(bytes.Buffer), stef.WithChecksums(), stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
}

// TestChecksums: a changed frame is detected before its records are delivered. Package
// dynamic can read the unchanged stream.
func TestChecksums(t *testing.T) {
	var out chunks
	w, err := otelstef.NewMetricsWriter(&out, stef.WithCompression(stef.Zstd), stef.WithChecksums())
	require.NoError(t, err)
	for i := range 30 {
		w.Record().Point().SetTimestamp(uint64(i) * 1_000_003)
		require.NoError(t, w.Write())
		if i%10 == 9 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	stream := bytes.Join(out, nil)
	d, err := dynamic.NewReader(bytes.NewReader(stream), otelstef.MetricsRoot(), dynamic.WithAssumedSchema(otelstef.MetricsBaseSchema()))
	require.NoError(t, err)
	n := 0
	for d.Next() {
		n++
	}
	require.NoError(t, d.Err())
	require.Equal(t, 30, n)

	stream[len(out[0])+len(out[1])+len(out[2])+len(out[3])-1] ^= 1 // the checksum of the second frame
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	for n = 0; r.Next(); {
		n++
	}
	require.Equal(t, 10, n)
	require.ErrorIs(t, r.Err(), stef.ErrCorrupt)
}
