// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// If a frame is damaged after a record that OTLP cannot express, the stream ends immediately. The
// receiver must not wait for more data first, because the client waits for an answer.
func TestErrorAfterBadRecord(t *testing.T) {
	for name, frame := range map[string]struct {
		chunks chunkList
		code   codes.Code
		acked  uint64
	}{
		"damage":           {damagedAfterBadRecord(t), codes.InvalidArgument, 5},
		"too large record": {tooLargeAfterBadRecord(t), codes.ResourceExhausted, 2},
	} {
		t.Run(name, func(t *testing.T) {
			to, _, _, logs := everything()
			r := startRig(t, testConfig(func(c *Config) { c.Limits.MaxRecordAllocMiB, c.Limits.MaxFrameMiB = 64, 64 }), to)
			p := rawOpen(t, r, otelstef.LogsRootName)
			for _, chunk := range frame.chunks {
				p.data(chunk, true)
			}
			acked, end := p.endAcked()
			require.Equal(t, frame.code, end.Code(), end.Message())
			require.GreaterOrEqual(t, acked, frame.acked, end.Message())
			require.EqualValues(t, acked-1, logs.LogRecordCount())
			require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_records_rejected", "reason", badForOTLP))
		})
	}
}

// badLogs returns the chunks of n log records in one frame. The record with number bad has a trace
// id that OTLP cannot express. The last record has a body of the given size.
func badLogs(t *testing.T, n, bad, size int, options ...stef.WriterOption) (out chunkList) {
	t.Helper()
	w, err := otelstef.NewLogsWriter(&out, options...)
	require.NoError(t, err)
	for i := 1; i <= n; i++ {
		record := w.Record().Record()
		record.SetTime(uint64(i))
		record.SetTraceID(nil)
		if i == bad {
			record.SetTraceID([]byte("bad"))
		}
		body := strings.Repeat("text ", 10)
		if i == n {
			body = strings.Repeat("x", size)
		}
		record.Body().SetString(body)
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Flush())
	return out
}

func tooLargeAfterBadRecord(t *testing.T) chunkList {
	return badLogs(t, 3, 2, 33*mib, stef.WithCompression(stef.Zstd), stef.WithFrameBytes(60*mib))
}

// damagedAfterBadRecord returns chunks of one frame. The first call of Decode returns records,
// and the error of a record with a bad trace id. The next call returns the error of the
// damage.
func damagedAfterBadRecord(t *testing.T) chunkList {
	t.Helper()
	good := badLogs(t, 20, 5, 60)
	last := len(good) - 1
	for i := len(good[last]) - 1; i > 0; i-- {
		chunks := slices.Clone(good)
		chunks[last] = bytes.Clone(good[last])
		chunks[last][i] ^= 0xff
		d, err := signal.Logs.NewDecoder(bytes.NewReader(slices.Concat(chunks...)), nil)
		if err != nil {
			continue
		}
		_, err = d.Decode()
		var bad stefpdata.RecordErrors
		if errors.As(err, &bad) && bad.Records() == 1 && bad[0].First == 5 && d.Reader.Err() != nil {
			return chunks
		}
	}
	require.Fail(t, "no byte damages the frame after the bad record")
	return nil
}
