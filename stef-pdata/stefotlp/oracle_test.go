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
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	"github.com/otelstef/stef/internal/teltest/canon"
)

// signal is both paths of a signal: the direct one, and the one through pdata, with
// which it is compared.
type signal struct {
	name      string
	published stef.WriterOption
	// encode writes a message to its own stream.
	encode func(tb testing.TB, message []byte, options ...stef.WriterOption) (stream []byte, err error)
	// unmarshal reports whether pdata accepts the message.
	unmarshal func(message []byte) error
	// encodePdata is encode through pdata, which must accept the message.
	encodePdata func(tb testing.TB, message []byte, options ...stef.WriterOption) (stream []byte, err error)
	// records requires two streams to have equal records.
	records func(tb testing.TB, want, got []byte)
	// decoded requires both paths to read the same content from a stream.
	decoded func(tb testing.TB, stream []byte)
}

var signals = []signal{
	{"metrics", otelstef.PublishedMetrics(), writeMetrics, func(b []byte) error {
		_, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(b)
		return err
	}, writeMetricsPdata, sameMetricsRecords, sameMetricsDecoded},
	{"traces", otelstef.PublishedSpans(), writeTraces, func(b []byte) error {
		_, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(b)
		return err
	}, writeTracesPdata, sameTracesRecords, sameTracesDecoded},
	{"logs", stef.WithSchema(otelstef.LogsSchema()), writeLogs, func(b []byte) error {
		_, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(b)
		return err
	}, writeLogsPdata, sameLogsRecords, sameLogsDecoded},
}

func writeMetrics(tb testing.TB, b []byte, options ...stef.WriterOption) ([]byte, error) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, options...)
	require.NoError(tb, err)
	err = stefotlp.NewMetricsEncoder(w).EncodeOTLP(b)
	require.NoError(tb, w.Close())
	return out.Bytes(), err
}

func writeMetricsPdata(tb testing.TB, b []byte, options ...stef.WriterOption) ([]byte, error) {
	md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(b)
	require.NoError(tb, err)
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, options...)
	require.NoError(tb, err)
	err = stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(stefpdata.Ordered)).Encode(md)
	require.NoError(tb, w.Close())
	return out.Bytes(), err
}

func sameMetricsRecords(tb testing.TB, want, got []byte) {
	a, err := otelstef.NewMetricsReader(bytes.NewReader(want))
	require.NoError(tb, err)
	b, err := otelstef.NewMetricsReader(bytes.NewReader(got))
	require.NoError(tb, err)
	for n := 0; ; n++ {
		more := a.Next()
		require.Equal(tb, more, b.Next(), "record %d", n)
		if !more {
			break
		}
		require.True(tb, a.Record().Equal(b.Record()), "record %d", n)
	}
	require.NoError(tb, a.Err())
	require.NoError(tb, b.Err())
}

func sameMetricsDecoded(tb testing.TB, stream []byte) {
	a, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	b, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	pdata, direct := stefpdata.NewMetricsDecoder(a, stefpdata.WithMaxItems(maxItems)), stefotlp.NewMetricsDecoder(b, stefotlp.WithMaxItems(maxItems))
	same(tb, pdata.Decode, direct.AppendOTLP, (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics, canon.DiffOrderedMetrics)
}

func writeTraces(tb testing.TB, b []byte, options ...stef.WriterOption) ([]byte, error) {
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out, options...)
	require.NoError(tb, err)
	err = stefotlp.NewTracesEncoder(w).EncodeOTLP(b)
	require.NoError(tb, w.Close())
	return out.Bytes(), err
}

func writeTracesPdata(tb testing.TB, b []byte, options ...stef.WriterOption) ([]byte, error) {
	td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(b)
	require.NoError(tb, err)
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out, options...)
	require.NoError(tb, err)
	err = stefpdata.NewTracesEncoder(w, stefpdata.WithMode(stefpdata.Ordered)).Encode(td)
	require.NoError(tb, w.Close())
	return out.Bytes(), err
}

func sameTracesRecords(tb testing.TB, want, got []byte) {
	a, err := otelstef.NewSpansReader(bytes.NewReader(want))
	require.NoError(tb, err)
	b, err := otelstef.NewSpansReader(bytes.NewReader(got))
	require.NoError(tb, err)
	for n := 0; ; n++ {
		more := a.Next()
		require.Equal(tb, more, b.Next(), "record %d", n)
		if !more {
			break
		}
		require.True(tb, a.Record().Equal(b.Record()), "record %d", n)
	}
	require.NoError(tb, a.Err())
	require.NoError(tb, b.Err())
}

func sameTracesDecoded(tb testing.TB, stream []byte) {
	a, err := otelstef.NewSpansReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	b, err := otelstef.NewSpansReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	pdata, direct := stefpdata.NewTracesDecoder(a, stefpdata.WithMaxItems(maxItems)), stefotlp.NewTracesDecoder(b, stefotlp.WithMaxItems(maxItems))
	same(tb, pdata.Decode, direct.AppendOTLP, (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces, canon.DiffOrderedTraces)
}

func writeLogs(tb testing.TB, b []byte, options ...stef.WriterOption) ([]byte, error) {
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, options...)
	require.NoError(tb, err)
	err = stefotlp.NewLogsEncoder(w).EncodeOTLP(b)
	require.NoError(tb, w.Close())
	return out.Bytes(), err
}

func writeLogsPdata(tb testing.TB, b []byte, options ...stef.WriterOption) ([]byte, error) {
	ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(b)
	require.NoError(tb, err)
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, options...)
	require.NoError(tb, err)
	err = stefpdata.NewLogsEncoder(w, stefpdata.WithMode(stefpdata.Ordered)).Encode(ld)
	require.NoError(tb, w.Close())
	return out.Bytes(), err
}

func sameLogsRecords(tb testing.TB, want, got []byte) {
	a, b := logRecords(tb, want), logRecords(tb, got)
	require.Len(tb, b, len(a))
	for i := range a {
		require.True(tb, a[i].Equal(b[i]), "record %d", i)
	}
}

func sameLogsDecoded(tb testing.TB, stream []byte) {
	a, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	b, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	pdata, direct := stefpdata.NewLogsDecoder(a, stefpdata.WithMaxItems(maxItems)), stefotlp.NewLogsDecoder(b, stefotlp.WithMaxItems(maxItems))
	same(tb, pdata.Decode, direct.AppendOTLP, (&plog.ProtoUnmarshaler{}).UnmarshalLogs, canon.DiffOrderedLogs)
}

// Limits on reading one stream, because a short stream can contain very many records.
const (
	maxItems = 1000
	maxCalls = 200
)

// same requires two decoders of the same stream to return the same results, call by
// call, and to omit the same records.
func same[T any](tb testing.TB, decode func() (T, error), appendOTLP func([]byte) ([]byte, error),
	unmarshal func([]byte) (T, error), diff func(want, got T) string) {
	for range maxCalls {
		want, wantErr := decode()
		b, err := appendOTLP(nil)
		got, unmarshalErr := unmarshal(b)
		require.NoError(tb, unmarshalErr)
		require.Empty(tb, diff(want, got))

		var wantLeft stefpdata.RecordErrors
		var left stefotlp.RecordErrors
		switch {
		case wantErr == nil:
			require.NoError(tb, err)
		case errors.As(wantErr, &wantLeft):
			require.ErrorAs(tb, err, &left)
			require.Equal(tb, numbers(wantLeft, func(e *stefpdata.RecordError) (uint64, uint64) { return e.First, e.Last }),
				numbers(left, func(e *stefotlp.RecordError) (uint64, uint64) { return e.First, e.Last }))
		default:
			require.Equal(tb, errors.Is(wantErr, io.EOF), errors.Is(err, io.EOF))
			require.Equal(tb, wantErr, err)
			return
		}
	}
}

// numbers returns the numbers of the records that errors are about.
func numbers[E any](list []E, ends func(E) (first, last uint64)) (all []uint64) {
	for _, e := range list {
		first, last := ends(e)
		for ; first <= last; first++ {
			all = append(all, first)
		}
	}
	return all
}
