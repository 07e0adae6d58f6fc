// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// A nil destination, source or option is an error of the constructor, and a nil
// shared value panics where it is set.
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
