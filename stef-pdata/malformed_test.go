// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/teltest"
)

// Decoding a damaged or hostile stream ends with an error of the stream, or with io.EOF. Each
// record before this end became an item or was reported.
func TestMalformedVectorsToPdata(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(teltest.Golden(t, "malformed"), "*.stef"))
	require.NoError(t, err)
	require.Greater(t, len(paths), 90)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			stream, err := os.ReadFile(path)
			require.NoError(t, err)
			decodeAnything(t, stream)
		})
	}
}

// After one bit of a stream is flipped, decoding ends with an error of the stream, or with io.EOF.
// Each record before this end became an item or was reported. The test flips bits in most bytes at
// the start of the stream, and in fewer bytes later.
func TestFlippedBitsToPdata(t *testing.T) {
	for _, stream := range [][]byte{
		encodeMetrics(t, recordedMetrics(t)[5:7], stefpdata.Sorted),
		encodeTraces(t, recordedTraces(t)[5:7], stefpdata.Ordered),
		encodeLogs(t, recordedLogs(t)[5:7], stefpdata.Ordered),
	} {
		for at := 0; at < len(stream); at += 1 + at/300 {
			damaged := bytes.Clone(stream)
			damaged[at] ^= 1 << (at * 5 % 8)
			decodeAnything(t, damaged)
		}
	}
}

// decodeAnything decodes a stream as metrics, as traces and as logs.
func decodeAnything(t *testing.T, stream []byte) {
	t.Helper()
	if r, err := otelstef.NewMetricsReader(bytes.NewReader(stream)); err == nil {
		d := stefpdata.NewMetricsDecoder(r, stefpdata.WithMaxItems(1000))
		accounted(t, d.Decode, pmetric.Metrics.DataPointCount, r.Stats)
		r.Close()
	}
	if r, err := otelstef.NewSpansReader(bytes.NewReader(stream)); err == nil {
		d := stefpdata.NewTracesDecoder(r, stefpdata.WithMaxItems(1000))
		accounted(t, d.Decode, ptrace.Traces.SpanCount, r.Stats)
		r.Close()
	}
	if r, err := otelstef.NewLogsReader(bytes.NewReader(stream)); err == nil {
		d := stefpdata.NewLogsDecoder(r, stefpdata.WithMaxItems(1000))
		accounted(t, d.Decode, plog.Logs.LogRecordCount, r.Stats)
		r.Close()
	}
}

// accounted decodes until a stream ends or breaks. It checks that each record became an item or
// was reported.
func accounted[P any](t *testing.T, decode func() (P, error), count func(P) int, stats func() stef.ReaderStats) {
	t.Helper()
	items, rejected := 0, uint64(0)
	for {
		batch, err := decode()
		items += count(batch)
		var bad stefpdata.RecordErrors
		switch {
		case err == nil:
			require.Positive(t, count(batch), "a call without an error returns items")
		case errors.As(err, &bad):
			require.ErrorIs(t, err, stefpdata.ErrRecord)
			for _, e := range bad {
				require.NotEmpty(t, e.Field)
				require.LessOrEqual(t, e.First, e.Last)
				require.LessOrEqual(t, e.Last, stats().Records)
			}
			rejected += bad.Records()
		default:
			if !errors.Is(err, io.EOF) {
				_, again := decode()
				require.Equal(t, err, again, "each further call returns the same error")
			}
			require.Equal(t, stats().Records, uint64(items)+rejected)
			return
		}
	}
}
