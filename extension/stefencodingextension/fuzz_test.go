// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/encoding"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
)

// FuzzUnmarshal unmarshals any bytes as each signal. It requires that nothing panics, that
// every error is permanent, and that each unmarshaled batch can be marshaled again.
func FuzzUnmarshal(f *testing.F) {
	writer := newEncoding(f, "{compression: none}")
	for _, td := range recordedTraces(f)[:2] {
		message, err := writer.MarshalTraces(td)
		require.NoError(f, err)
		f.Add(message)
	}
	for _, md := range recordedMetrics(f)[:2] {
		message, err := writer.MarshalMetrics(md)
		require.NoError(f, err)
		f.Add(message)
	}
	for _, ld := range recordedLogs(f)[:2] {
		message, err := writer.MarshalLogs(ld)
		require.NoError(f, err)
		f.Add(message)
	}
	e := newEncoding(f, "{limits: {max_message_mib: 1, max_frame_mib: 1, max_record_alloc_mib: 1, max_dict_mib: 1, max_decoded_mib: 8}}")
	f.Fuzz(func(t *testing.T, message []byte) {
		if td, err := e.UnmarshalTraces(message); err != nil {
			require.True(t, consumererror.IsPermanent(err))
		} else if td.SpanCount() > 0 {
			_, err := e.MarshalTraces(td)
			require.NoError(t, err)
		}
		if md, err := e.UnmarshalMetrics(message); err != nil {
			require.True(t, consumererror.IsPermanent(err))
		} else if md.DataPointCount() > 0 {
			_, err := e.MarshalMetrics(md)
			require.NoError(t, err)
		}
		if ld, err := e.UnmarshalLogs(message); err != nil {
			require.True(t, consumererror.IsPermanent(err))
		} else if ld.LogRecordCount() > 0 {
			_, err := e.MarshalLogs(ld)
			require.NoError(t, err)
		}
	})
}

// FuzzStream reads any bytes with the stream decoders. The decoders must not panic. Every error
// is permanent, and the next call returns the same error. A batch has at most the requested number
// of items. A decoder that starts at the offset after the last record returns io.EOF.
func FuzzStream(f *testing.F) {
	file, _ := logsFile(f)
	f.Add(file, uint8(7))
	writer := newEncoding(f, "{compression: none}")
	message, err := writer.MarshalMetrics(recordedMetrics(f)[0])
	require.NoError(f, err)
	f.Add(message, uint8(0))
	message, err = writer.MarshalLogs(recordedLogs(f)[0])
	require.NoError(f, err)
	f.Add(message, uint8(1))
	e := newEncoding(f, "{limits: {max_frame_mib: 1, max_record_alloc_mib: 1, max_dict_mib: 1}}")
	f.Fuzz(func(t *testing.T, stream []byte, flush uint8) {
		open := func(offset int64) (func() (int, error), func() int64, error) {
			options := []encoding.DecoderOption{encoding.WithFlushItems(int64(flush)), encoding.WithOffset(offset)}
			if flush%2 == 0 {
				d, err := e.NewMetricsDecoder(bytes.NewReader(stream), options...)
				if err != nil {
					return nil, nil, err
				}
				return func() (int, error) { md, err := d.DecodeMetrics(); return md.DataPointCount(), err }, d.Offset, nil
			}
			d, err := e.NewLogsDecoder(bytes.NewReader(stream), options...)
			if err != nil {
				return nil, nil, err
			}
			return func() (int, error) { ld, err := d.DecodeLogs(); return ld.LogRecordCount(), err }, d.Offset, nil
		}
		next, offset, err := open(0)
		if err != nil {
			require.True(t, consumererror.IsPermanent(err))
			return
		}
		for range 100 {
			n, err := next()
			if err == nil {
				require.Positive(t, n)
				require.True(t, flush == 0 || n <= int(flush), "%d items, asked for %d", n, flush)
				continue
			}
			require.Zero(t, n)
			_, again := next()
			require.Equal(t, err, again)
			if !errors.Is(err, io.EOF) {
				require.True(t, consumererror.IsPermanent(err))
				return
			}
			next, _, err = open(offset())
			require.NoError(t, err)
			_, err = next()
			require.Equal(t, io.EOF, err)
			return
		}
	})
}
