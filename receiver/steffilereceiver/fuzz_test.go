// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// FuzzFile follows a file with arbitrary bytes that is written in two parts. The receiver never fails,
// and delivers no more records than a reader finds in the whole file.
func FuzzFile(f *testing.F) {
	for _, options := range [][]stef.WriterOption{nil, {stef.WithCompression(stef.Zstd)}, {otelstef.CompactLogs()}} {
		g := growing(f, filepath.Join(f.TempDir(), "x"), options...)
		var b []byte
		for n := uint64(1); n < 40; n += 10 {
			b = append(b, g.encode(numbered(n, n+9))...)
		}
		f.Add(b, uint16(len(b)/2))
		f.Add(b[:len(b)-3], uint16(20))
		f.Add(append(b[:60:60], b[70:]...), uint16(61))
	}
	f.Add([]byte("STEF\x02\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00"), uint16(12))
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		dir := t.TempDir()
		config := testConfig(dir, func(c *Config) {
			c.AssumeSignal = "logs"
			c.Limits = LimitsConfig{MaxFrameMiB: 1, MaxRecordAllocMiB: 1, MaxDictMiB: 1, MaxOpenFiles: 2}
		})
		path := filepath.Join(dir, "x.stef.active")
		items := 0
		settings := receivertest.NewNopSettings(metadata.Type)
		settings.ID = component.NewID(metadata.Type)
		r, err := newFollower(signal.Logs, settings, config, sink[plog.Logs]{
			consume: func(_ context.Context, ld plog.Logs) error { items += ld.LogRecordCount(); return nil },
			rest:    func(error) (plog.Logs, bool) { return plog.Logs{}, false },
			start:   (*receiverhelper.ObsReport).StartLogsOp,
			end:     (*receiverhelper.ObsReport).EndLogsOp,
		})
		require.NoError(t, err)
		require.NoError(t, r.prepare(context.Background(), testHost{}))
		cut := min(int(at), len(b))
		for _, part := range [][]byte{b[:cut], b} {
			require.NoError(t, os.WriteFile(path, part, 0o600))
			r.runPass()
			require.LessOrEqual(t, len(r.open), 1)
		}
		for key := range r.open {
			r.close(key)
		}
		require.LessOrEqual(t, items, readable(b, config.limits()))
	})
}

// readable returns the number of records that a reader finds in a file with the content b.
func readable(b []byte, limits stef.Limits) (n int) {
	dec, err := signal.Logs.NewDecoder(bytes.NewReader(b), nil, stef.WithLimits(limits))
	if err != nil {
		return 0
	}
	defer dec.Reader.Close()
	for dec.Reader.Next() {
		n++
	}
	return n
}
