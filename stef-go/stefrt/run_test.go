// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// The time for a long run is proportional to its records, even if a consumer calls Run
// at every record. The test counts the work, so that it does not depend on the speed of
// the machine.
func TestRunIsLinear(t *testing.T) {
	const records, period = 50_000, 10_000
	var b bytes.Buffer
	w, err := scalars.NewPlainWriter(&b)
	require.NoError(t, err)
	for i := range records {
		if i%period == 0 {
			w.Record().SetCount(uint64(i + 1))
		}
		w.Record().SetSigned(int64(i / 3))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	r, err := scalars.NewPlainReader(&b)
	require.NoError(t, err)
	const fields = scalars.PlainFieldCount
	for i := range records {
		require.True(t, r.Next())
		next := min((i/period+1)*period, i+1+int(r.BufferedRecords())) // the record that ends the run
		require.Equal(t, next-i-1, r.Run(fields), "record %d", i)
		require.Equal(t, r.Run(fields), r.Run(fields))
		if i%2 == 0 { // calls for other fields do not replace the run
			r.Run(fields | scalars.PlainFieldSigned)
			r.Run(0)
		}
	}
	require.False(t, r.Next())
	require.NoError(t, r.Err())
	require.Zero(t, r.Run(fields))
	require.LessOrEqual(t, stefrt.Looked(&r.ReadStream), uint64(6*records))
}
