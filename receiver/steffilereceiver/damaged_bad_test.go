// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// If a frame has a record that OTLP cannot express, and is damaged after this record, the file counts
// as damaged. It must not be deleted like a complete file.
func TestDamagedAfterBadRecord(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	appear(t, filepath.Join(dir, "y.stef"), damagedAfterBadRecord(t))
	r := start(t, testConfig(dir, func(c *Config) { c.OnFinished, c.AssumeSignal = Delete, "logs" }), to, nil)
	r.requireFinished(damaged, 1)
	requireNames(t, dir, []string{"y.stef" + damagedSuffix})
	require.EqualValues(t, 1, r.sum("otelcol_receiver_steffile_records_rejected", "reason", "conversion"))
	numbers, repeated := to.counts()
	require.Positive(t, numbers)
	require.Zero(t, repeated)
}

// If a record is too large, the file counts as damaged, even if OTLP cannot express an earlier record
// of the same frame. The large record does not count as delivered.
func TestTooLargeAfterBadRecord(t *testing.T) {
	dir := t.TempDir()
	var buf bytes.Buffer
	w, err := otelstef.NewLogsWriter(&buf, stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	record := w.Record().Record()
	record.SetTime(1)
	record.Body().SetString(text(1))
	require.NoError(t, w.Write())
	record.SetTraceID([]byte("bad"))
	require.NoError(t, w.Write())
	record.SetTraceID(nil)
	record.Body().SetString(strings.Repeat("x", 33*mib))
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	appear(t, filepath.Join(dir, "y.stef"), buf.Bytes())

	to, store := &collected{t: t}, &memory{}
	r := start(t, testConfig(dir, func(c *Config) {
		c.AssumeSignal, c.Limits.MaxRecordAllocMiB, c.Limits.MaxFrameMiB = "logs", 64, 64
	}), to, store)
	r.requireFinished(damaged, 1)
	to.requireOnce(1)
	r.stop()
	require.Len(t, store.data, 2)
	for key, value := range store.data {
		if strings.HasSuffix(key, keyFinished) {
			require.Contains(t, string(value), `"records":2,`)
		}
	}
}

// damagedAfterBadRecord returns a stream of one frame. The first call of Decode returns records,
// and the error of a record with a bad trace id. The next call returns the error of the damage.
func damagedAfterBadRecord(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewLogsWriter(&buf)
	require.NoError(t, err)
	for n := uint64(1); n <= 20; n++ {
		record := w.Record().Record()
		record.SetTime(n)
		record.Body().SetString(text(n))
		record.SetTraceID(nil)
		if n == 5 {
			record.SetTraceID([]byte("bad"))
		}
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	for i := buf.Len() - 1; i > buf.Len()/2; i-- {
		file := bytes.Clone(buf.Bytes())
		file[i] ^= 0xff
		d, err := signal.Logs.NewDecoder(bytes.NewReader(file), nil)
		if err != nil {
			continue
		}
		batch, err := d.Decode()
		var bad stefpdata.RecordErrors
		intact := true
		each(batch, func(n uint64, body string) { intact = intact && body == text(n) })
		if errors.As(err, &bad) && bad.Records() == 1 && intact && d.Reader.Err() != nil {
			return file
		}
	}
	require.Fail(t, "no byte damages the frame after the bad record")
	return nil
}
