// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/encoding"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/internal/teltest/canon"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// logsFile returns a stream with a frame for each recorded batch.
func logsFile(t testing.TB) (file []byte, batches []plog.Logs) {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewLogsWriter(&buf, stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	e := stefpdata.NewLogsEncoder(w)
	batches = recordedLogs(t)
	for _, ld := range batches {
		require.NoError(t, e.Encode(ld))
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return buf.Bytes(), batches
}

func TestStreamDecoder(t *testing.T) {
	file, batches := logsFile(t)
	e := newEncoding(t, "{}")
	d, err := e.NewLogsDecoder(bytes.NewReader(file))
	require.NoError(t, err)
	records := int64(0)
	for _, want := range batches {
		require.Equal(t, records, d.Offset())
		got, err := d.DecodeLogs()
		require.NoError(t, err)
		require.Empty(t, canon.Diff(canon.Logs(want), canon.Logs(got)))
		records += int64(want.LogRecordCount())
	}
	for range 2 {
		_, err = d.DecodeLogs()
		require.Equal(t, io.EOF, err)
	}
	require.Equal(t, records, d.Offset())
}

// TestStreamDecoderResumes: a new decoder with any offset returns the records after the
// offset, in batches of at most the requested size.
func TestStreamDecoderResumes(t *testing.T) {
	file, batches := logsFile(t)
	all := plog.NewLogs()
	for _, ld := range batches {
		ld.ResourceLogs().MoveAndAppendTo(all.ResourceLogs())
	}
	total := int64(all.LogRecordCount())
	e := newEncoding(t, "{}")
	got, offset := plog.NewLogs(), int64(0)
	for offset < total {
		d, err := e.NewLogsDecoder(bytes.NewReader(file), encoding.WithOffset(offset), encoding.WithFlushItems(97))
		require.NoError(t, err)
		for range 3 {
			ld, err := d.DecodeLogs()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			require.LessOrEqual(t, ld.LogRecordCount(), 97)
			ld.ResourceLogs().MoveAndAppendTo(got.ResourceLogs())
		}
		require.Equal(t, int64(got.LogRecordCount()), d.Offset())
		offset = d.Offset()
	}
	require.Empty(t, canon.Diff(canon.Logs(all), canon.Logs(got)))

	_, err := e.NewLogsDecoder(bytes.NewReader(file), encoding.WithOffset(total+1))
	require.ErrorContains(t, err, "before the offset")
	_, err = e.NewLogsDecoder(bytes.NewReader(file), encoding.WithOffset(-1))
	require.ErrorContains(t, err, "0 or more")
}

// TestStreamDecoderOfCutFile: a decoder returns all whole frames of a cut file, and
// then an error.
func TestStreamDecoderOfCutFile(t *testing.T) {
	file, batches := logsFile(t)
	e := newEncoding(t, "{}")
	d, err := e.NewLogsDecoder(bytes.NewReader(file[:len(file)-1]))
	require.NoError(t, err)
	for range len(batches) - 1 {
		_, err = d.DecodeLogs()
		require.NoError(t, err)
	}
	for range 2 {
		_, err = d.DecodeLogs()
		require.ErrorIs(t, err, stef.ErrCorrupt)
		require.True(t, consumererror.IsPermanent(err))
	}
}

// TestStreamDecoderOffsetBeforeLargeRecord: a record that is too large ends the stream. The offset of the
// decoder, and the number of records in the error, do not count this record, even if a record before it
// in the same frame was omitted.
func TestStreamDecoderOffsetBeforeLargeRecord(t *testing.T) {
	for _, omitted := range []bool{false, true} {
		t.Run(fmt.Sprint("omitted=", omitted), func(t *testing.T) {
			d, err := newEncoding(t, "{}").NewLogsDecoder(largeRecord(t, omitted))
			require.NoError(t, err)
			ld, err := d.DecodeLogs()
			require.NoError(t, err)
			require.Equal(t, omitted, ld.LogRecordCount() == 1)
			require.EqualValues(t, 2, d.Offset())
			_, err = d.DecodeLogs()
			require.ErrorIs(t, err, stef.ErrLimit)
			require.ErrorContains(t, err, "after record 2")
			require.NotContains(t, err.Error(), "raise the limit", "no limit of the extension concerns this")
			require.EqualValues(t, 2, d.Offset())
		})
	}
}

// largeRecord returns a stream of three records in a frame. The third record is too large. If
// omitted is true, the second record is not valid OTLP.
func largeRecord(t *testing.T, omitted bool) io.Reader {
	t.Helper()
	text := strings.Repeat("x", 60<<10)
	var file bytes.Buffer
	w, err := otelstef.NewLogsWriter(&file)
	require.NoError(t, err)
	record := w.Record().Record()
	for i := range 3 {
		record.SetFlags(0)
		switch {
		case i == 1 && omitted:
			record.SetFlags(1 << 40)
		case i == 2: // 900 pairs that share a text
			record.Attributes().SetLen(900)
			for k := range 900 {
				record.Attributes().SetString(k, strings.Repeat("k", k+1), text)
			}
		}
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	return &file
}

// TestStreamDecoderOfFailingSource: if the source fails, the error is not permanent, because the
// rest of the stream can be read later.
func TestStreamDecoderOfFailingSource(t *testing.T) {
	file, batches := logsFile(t)
	failure := errors.New("connection reset")
	f := func(bytesBefore int) (decoded int64) {
		e := newEncoding(t, "{}")
		d, err := e.NewLogsDecoder(io.MultiReader(bytes.NewReader(file[:bytesBefore]), iotest.ErrReader(failure)))
		for err == nil {
			_, err = d.DecodeLogs()
			decoded = d.Offset()
		}
		require.ErrorIs(t, err, failure)
		require.False(t, consumererror.IsPermanent(err), err)
		require.NotContains(t, err.Error(), "recovered")
		return decoded
	}
	require.Zero(t, f(0))
	require.Zero(t, f(6))
	got := f(len(file) - 1)
	want := int64(0)
	for _, ld := range batches[:len(batches)-1] {
		want += int64(ld.LogRecordCount())
	}
	require.Equal(t, want, got)
}

// TestStreamDecoderFailsBeforeOffset: an error before the offset is classified like any other error
// of the stream.
func TestStreamDecoderFailsBeforeOffset(t *testing.T) {
	file, _ := logsFile(t)
	cut := file[:len(file)-1]
	offset := encoding.WithOffset(1 << 40)
	e := newEncoding(t, "{}")
	_, err := e.NewLogsDecoder(bytes.NewReader(cut), offset)
	require.ErrorIs(t, err, stef.ErrCorrupt)
	require.True(t, consumererror.IsPermanent(err), err)
	require.ErrorContains(t, err, "check what wrote or truncated it")

	failure := errors.New("connection reset")
	_, err = e.NewLogsDecoder(io.MultiReader(bytes.NewReader(cut), iotest.ErrReader(failure)), offset)
	require.ErrorIs(t, err, failure)
	require.False(t, consumererror.IsPermanent(err), err)
	require.ErrorContains(t, err, "the source failed")
}

func TestMetricsStreamDecoder(t *testing.T) {
	e := newEncoding(t, "{}")
	md := recordedMetrics(t)[0]
	message, err := e.MarshalMetrics(md)
	require.NoError(t, err)
	d, err := e.NewMetricsDecoder(bytes.NewReader(message), encoding.WithFlushItems(0))
	require.NoError(t, err)
	got, err := d.DecodeMetrics()
	require.NoError(t, err)
	require.Empty(t, canon.Diff(canon.Metrics(md), canon.Metrics(got)))
	_, err = d.DecodeMetrics()
	require.Equal(t, io.EOF, err)

}

// TestStreamDecoderFlushBytes: batches have at most the requested size in bytes of OTLP.
func TestStreamDecoderFlushBytes(t *testing.T) {
	all := plog.NewLogs()
	for _, ld := range recordedLogs(t) {
		ld.ResourceLogs().MoveAndAppendTo(all.ResourceLogs())
	}
	e := newEncoding(t, "{}")
	file, err := e.MarshalLogs(all) // one frame
	require.NoError(t, err)
	batches := func(options ...encoding.DecoderOption) (n int) {
		d, err := e.NewLogsDecoder(bytes.NewReader(file), options...)
		require.NoError(t, err)
		got := plog.NewLogs()
		for ; ; n++ {
			ld, err := d.DecodeLogs()
			if err == io.EOF {
				require.Empty(t, canon.Diff(items.Logs(all), items.Logs(got)))
				return n
			}
			require.NoError(t, err)
			ld.ResourceLogs().MoveAndAppendTo(got.ResourceLogs())
		}
	}
	unbounded := encoding.WithFlushItems(0)
	require.Equal(t, 1, batches(unbounded, encoding.WithFlushBytes(0)))
	const limit = 64 << 10
	n := batches(unbounded, encoding.WithFlushBytes(limit))
	require.Greater(t, n, (&plog.ProtoMarshaler{}).LogsSize(all)/limit)
	require.Less(t, n, all.LogRecordCount()/10)
}

// TestStreamMistakes: an error says what the input is and what to do.
func TestStreamMistakes(t *testing.T) {
	e := newEncoding(t, "{}")
	traces, err := e.MarshalTraces(recordedTraces(t)[0])
	require.NoError(t, err)
	logs, _ := logsFile(t)
	require.Greater(t, len(logs), maxBeginning)
	for name, c := range map[string]struct {
		input []byte
		kind  error
		text  string
	}{
		"empty":      {nil, ErrFormat, "the message is empty"},
		"OTLP JSON":  {[]byte(`{"resourceMetrics":[]}`), ErrFormat, "the message begins with 7b 22 72 65; set the encoding that its sender uses"},
		"traces":     {traces, ErrSignal, "traces, not metrics; use one topic or path for each signal"},
		"cut traces": {traces[:len(traces)/2], ErrSignal, "traces, not metrics"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := e.NewMetricsDecoder(bytes.NewReader(c.input))
			if err == nil {
				_, err = d.DecodeMetrics()
			}
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			require.True(t, consumererror.IsPermanent(err))
		})
	}
	d, err := e.NewMetricsDecoder(bytes.NewReader(logs))
	require.NoError(t, err) // the headers of this stream fit any signal
	_, err = d.DecodeMetrics()
	require.ErrorIs(t, err, stef.ErrCorrupt)
	require.ErrorContains(t, err, "reading a stream of metrics after record 0: ")
	require.ErrorContains(t, err, "check what wrote or truncated it")
}
