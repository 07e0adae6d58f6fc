// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Nil arguments and options are errors of the constructors.
func TestNil(t *testing.T) {
	root := otelstef.MetricsRoot()
	_, err := dynamic.NewReader(nil, root)
	require.EqualError(t, err, "stef: the source is nil")
	_, err = dynamic.NewReader(new(bytes.Buffer), root, nil)
	require.EqualError(t, err, "stef: an option is nil")
	_, err = dynamic.NewReader(new(bytes.Buffer), nil)
	require.ErrorIs(t, err, dynamic.ErrSchema)
	_, err = dynamic.NewWriter(nil, root)
	require.EqualError(t, err, "stef: the destination is nil")
	_, err = dynamic.NewWriter(io.Discard, root, nil)
	require.EqualError(t, err, "stef: an option is nil")
	_, err = dynamic.NewWriter(io.Discard, nil)
	require.ErrorIs(t, err, dynamic.ErrSchema)
}

// The error of a stream of another root says that it may be one.
func TestOtherRoot(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, stef.WithSchemaHeader())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = dynamic.NewReader(&out, otelstef.LogsRoot())
	require.ErrorIs(t, err, dynamic.ErrSchema)
	require.ErrorContains(t, err, "has 6 fields, this schema has 4: the stream is newer than the schema, or its records are of another root")
}
