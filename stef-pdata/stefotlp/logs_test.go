// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest/canon"
)

func encodeLogs(tb testing.TB, parts [][]byte, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, options...)
	require.NoError(tb, err)
	e := stefotlp.NewLogsEncoder(w)
	for _, part := range parts {
		require.NoError(tb, e.EncodeOTLP(part))
		require.NoError(tb, w.Flush())
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

func decodeLogs(tb testing.TB, stream []byte, options ...stefotlp.DecoderOption) [][]byte {
	tb.Helper()
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	return messages(tb, stefotlp.NewLogsDecoder(r, options...).AppendOTLP)
}

func unmarshalLogs(tb testing.TB, parts [][]byte) (lds []plog.Logs) {
	tb.Helper()
	for _, part := range parts {
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(part)
		require.NoError(tb, err)
		lds = append(lds, ld)
	}
	return lds
}

// viaLogs writes the stream that the pdata path writes.
func viaLogs(tb testing.TB, parts [][]byte, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, options...)
	require.NoError(tb, err)
	e := stefpdata.NewLogsEncoder(w, stefpdata.WithMode(stefpdata.Ordered))
	for _, ld := range unmarshalLogs(tb, parts) {
		require.NoError(tb, e.Encode(ld))
		require.NoError(tb, w.Flush())
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// fromLogs reads a stream by the pdata path.
func fromLogs(tb testing.TB, stream []byte) (lds []plog.Logs) {
	tb.Helper()
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	d := stefpdata.NewLogsDecoder(r)
	for {
		ld, err := d.Decode()
		if errors.Is(err, io.EOF) {
			return lds
		}
		require.NoError(tb, err)
		lds = append(lds, ld)
	}
}

func oneLogs(lds []plog.Logs) plog.Logs { return canon.Options{}.MergeLogs(lds...) }

// logRecords are the records of a stream, with observed times and text bodies in
// their plain form, since the two paths may choose other forms.
func logRecords(tb testing.TB, stream []byte) (records []*otelstef.Logs) {
	tb.Helper()
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	for r.Next() {
		rec := otelstef.NewLogs()
		rec.CopyFrom(r.Record())
		if lr := rec.Record(); lr.HasObservedDelta() {
			lr.SetObservedTime(lr.Time() + uint64(lr.ObservedDelta()))
			lr.UnsetObservedDelta()
		}
		records = append(records, rec)
	}
	require.NoError(tb, r.Err())
	return records
}

// requireLogs checks both directions against the pdata path.
func requireLogs(tb testing.TB, parts [][]byte, options ...stef.WriterOption) {
	tb.Helper()
	stream := encodeLogs(tb, parts, options...)
	via := viaLogs(tb, parts)
	want, got := logRecords(tb, via), logRecords(tb, stream)
	require.Len(tb, got, len(want))
	for i := range want {
		require.True(tb, want[i].Equal(got[i]), "record %d", i)
	}
	for _, s := range [][]byte{stream, viaLogs(tb, parts, stef.WithCompression(stef.Zstd))} {
		require.Empty(tb, canon.DiffOrderedLogs(oneLogs(fromLogs(tb, s)), oneLogs(unmarshalLogs(tb, decodeLogs(tb, s)))))
	}
}

func TestLogsAsPdataDoes(t *testing.T) {
	f := func(name string, parts [][]byte) {
		t.Run(name, func(t *testing.T) {
			requireLogs(t, parts, stef.WithCompression(stef.Zstd))

			got := decodeLogs(t, encodeLogs(t, joined(parts), stef.WithFrameBytes(1<<16)), stefotlp.WithMaxItems(100))
			require.Empty(t, canon.DiffOrderedLogs(oneLogs(unmarshalLogs(t, parts)), oneLogs(unmarshalLogs(t, got))))
		})
	}
	f("fixture", fixture(t, fixtures.Logs()))
	t.Run("real", func(t *testing.T) {
		for _, name := range []string{"kafka", "webnodes", "cloudtrail", "astronomy", "k8sapps"} {
			f(name, real(t, "logs", name+"-otellogs"))
		}
	})
}
