// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
)

// FuzzUnmarshal reads any bytes as a message of each signal: no panic, every
// error is permanent, and what decodes marshals again.
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
