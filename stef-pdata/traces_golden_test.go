// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/internal/teltest"
)

// The reference implementation wrote these streams from a set of real traces. Decoding a stream
// returns this set. Encoding the result in the published schema returns the records of the stream.
func TestRecordsOfTheReferenceToTraces(t *testing.T) {
	f := func(vector string, mode stefpdata.Mode) {
		stream, err := os.ReadFile(teltest.Golden(t, "data", vector))
		require.NoError(t, err)
		tds := decodeTraces(t, stream)
		requireSameTraces(t, mode, realTraces(t, hipstershopTraces), tds)
		again := encodeTraces(t, tds, stefpdata.Ordered, otelstef.PublishedSpans())
		requireSameSpans(t, stream, again, nil)
	}
	f("hipstershop-oteltraces.parts.unsorted.zstd.stef", stefpdata.Ordered)
	f("hipstershop-oteltraces.parts.sorted.zstd.stef", stefpdata.Sorted)
}

// The test vectors "edge" cover everything that a record can hold. Each of their records becomes a
// span or is reported. Encoding these spans again returns the same records.
func TestVectorsToTraces(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(teltest.Golden(t, "edge"), "s_*.stef"))
	require.NoError(t, err)
	require.Greater(t, len(paths), 8)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".stef"), func(t *testing.T) {
			stream, err := os.ReadFile(path)
			require.NoError(t, err)
			r, err := otelstef.NewSpansReader(bytes.NewReader(stream))
			require.NoError(t, err)
			tds, rejected := drainTraces(t, r)
			requireSameSpans(t, stream, encodeTraces(t, tds, stefpdata.Ordered, otelstef.PublishedSpans()), rejected)
			for _, mode := range modes {
				requireSameTraces(t, mode, tds, decodeTraces(t, encodeTraces(t, tds, mode)))
			}
		})
	}
}

// drainTraces decodes all content of r, and checks that every record became a span or
// was reported.
func drainTraces(t *testing.T, r *otelstef.SpansReader) (tds []ptrace.Traces, rejected map[uint64]bool) {
	d := stefpdata.NewTracesDecoder(r)
	spans := 0
	rejected = map[uint64]bool{}
	for {
		td, err := d.Decode()
		spans += td.SpanCount()
		tds = append(tds, td)
		var bad stefpdata.RecordErrors
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			require.Equal(t, r.Stats().Records, uint64(spans+len(rejected)))
			return tds, rejected
		case errors.As(err, &bad):
			for _, e := range bad {
				require.ErrorIs(t, e, stefpdata.ErrRecord)
				require.NotEmpty(t, e.Field)
				for record := e.First; record <= e.Last; record++ {
					rejected[record] = true
				}
			}
		default:
			require.NoError(t, err)
		}
	}
}

// requireSameSpans checks that the stream got has the records of the stream want, except the records
// whose numbers are in without. Envelopes of records are not telemetry and are not compared. Some
// streams of want have ids as raw bytes. got is in the published schema, so its ids are text.
func requireSameSpans(t *testing.T, want, got []byte, without map[uint64]bool) {
	t.Helper()
	a, err := otelstef.NewSpansReader(bytes.NewReader(want))
	require.NoError(t, err)
	b, err := otelstef.NewSpansReader(bytes.NewReader(got))
	require.NoError(t, err)
	for n := uint64(1); a.Next(); n++ {
		if without[n] {
			continue
		}
		require.True(t, b.Next(), "record %d", n)
		x, y := a.Record(), b.Record()
		require.True(t, x.Resource().Equal(y.Resource()), "resource of record %d", n)
		require.True(t, x.Scope().Equal(y.Scope()), "scope of record %d", n)
		require.True(t, withIDsAsText(x.Span()).Equal(y.Span()), "span of record %d", n)
	}
	require.NoError(t, a.Err())
	require.False(t, b.Next())
	require.NoError(t, b.Err())
}

func withIDsAsText(s *otelstef.Span) *otelstef.Span {
	to := otelstef.NewSpan()
	to.CopyFrom(s)
	text := func(id []byte, size int) []byte {
		if len(id) == size {
			return hex.AppendEncode(nil, id)
		}
		return bytes.Clone(id)
	}
	to.SetTraceID(text(s.TraceID(), 16))
	to.SetSpanID(text(s.SpanID(), 8))
	to.SetParentSpanID(text(s.ParentSpanID(), 8))
	for i := range to.Links().Len() {
		link := to.Links().At(i)
		link.SetTraceID(text(link.TraceID(), 16))
		link.SetSpanID(text(link.SpanID(), 8))
	}
	return to
}
