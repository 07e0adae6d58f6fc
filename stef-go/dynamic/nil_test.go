// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
)

func TestNil(t *testing.T) {
	root := otelstef.MetricsRoot()
	_, err := dynamic.NewReader(nil, root)
	require.EqualError(t, err, "stef: the source is nil")
	_, err = dynamic.NewReader(new(bytes.Buffer), root, nil)
	require.EqualError(t, err, "stef: an option is nil")
	_, err = dynamic.NewReader(new(bytes.Buffer), nil)
	require.ErrorIs(t, err, dynamic.ErrSchema)
	_, err = dynamic.ReadHeader(nil)
	require.EqualError(t, err, "stef: the source is nil")
	_, err = dynamic.NewWriter(nil, root)
	require.EqualError(t, err, "stef: the destination is nil")
	_, err = dynamic.NewWriter(io.Discard, root, nil)
	require.EqualError(t, err, "stef: an option is nil")
	_, err = dynamic.NewWriter(io.Discard, nil)
	require.ErrorIs(t, err, dynamic.ErrSchema)
}

// The error of an option that is out of range names the option and the range.
func TestOptionRanges(t *testing.T) {
	root := otelstef.MetricsRoot()
	read := func(want string, option dynamic.ReaderOption) {
		t.Helper()
		_, err := dynamic.NewReader(new(bytes.Buffer), root, option)
		require.EqualError(t, err, "stef: "+want)
	}
	read("WithMaxDepth(0): limit exceeded: the value must be from 1 to 100000", dynamic.WithMaxDepth(0))
	read("WithMaxDepth(100001): limit exceeded: the value must be from 1 to 100000", dynamic.WithMaxDepth(100_001))
	read(fmt.Sprintf("WithMaxRecordBytes(-1): limit exceeded: the value must be from 1 to %d", math.MaxInt), dynamic.WithMaxRecordBytes(-1))
	read(fmt.Sprintf("WithMaxDictBytes(0): limit exceeded: the value must be from 1 to %d", math.MaxInt), dynamic.WithMaxDictBytes(0))

	write := func(want string, option dynamic.WriterOption) {
		t.Helper()
		_, err := dynamic.NewWriter(io.Discard, root, option)
		require.EqualError(t, err, "stef: "+want)
	}
	write("WithCompression(2): unknown version: the compression must be None or Zstd", dynamic.WithCompression(2))
	write("WithZstdLevel(23): limit exceeded: the value must be from 0 to 22", dynamic.WithZstdLevel(23))
	write("WithWindowBytes(8388609): limit exceeded: the value must be from 0 to 8388608", dynamic.WithWindowBytes(8<<20+1))
	write("WithRestart(0x8) has unknown flags: limit exceeded", dynamic.WithRestart(8))
	write("WithFrameBytes(-1): limit exceeded: the value must be from 0 to 33554432", dynamic.WithFrameBytes(-1))
	write("WithDictBytes(33554433): limit exceeded: the value must be from 0 to 33554432", dynamic.WithDictBytes(32<<20+1))
}

// If the schema of a stream does not fit the root of the reader, the error says that the records may be
// of another root.
func TestOtherRoot(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, stef.WithSchemaHeader())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = dynamic.NewReader(&out, otelstef.LogsRoot())
	require.ErrorIs(t, err, dynamic.ErrSchema)
	require.ErrorContains(t, err, "has 6 fields, this schema has 4: the stream is newer than the schema, or its records are of another root")
}
