// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
)

// If too many files are open, the receiver closes some. It does not read a closed file again before the
// file grows, is overwritten, or has not changed for settle_time.
func TestClosedFilesAreNotReadAgain(t *testing.T) {
	const files, most = 5, 2
	dir, to := t.TempDir(), &collected{t: t}
	config := testConfig(dir, func(c *Config) {
		c.AssumeSignal, c.SettleTime, c.Limits.MaxOpenFiles, c.OnFinished = "logs", time.Hour, most, Delete
	})
	part, err := NewFactory().CreateLogs(context.Background(), receivertest.NewNopSettings(metadata.Type), config, to)
	require.NoError(t, err)
	f := part.(*follower[plog.Logs])
	require.NoError(t, f.prepare(context.Background(), testHost{}))
	var written []*growingFile
	for i := range files {
		file := growing(t, filepath.Join(dir, fmt.Sprint("x", i, ".stef")))
		file.put(numbered(uint64(10*i+1), uint64(10*i+10)))
		written = append(written, file)
	}
	f.runPass()
	to.requireOnce(10 * files)
	before := maps.Clone(f.open)
	require.Len(t, before, most)
	f.runPass()
	require.Equal(t, before, f.open, "a file was opened again")

	written[0].put(numbered(51, 60))
	f.runPass()
	to.requireOnce(60)
	require.Contains(t, f.open, filepath.Join(dir, "x0.stef"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "x1.stef"), compactFile(t, [2]uint64{61, 80}), 0o600))
	f.runPass()
	to.requireOnce(80)

	config.SettleTime = 0
	f.runPass()
	to.requireOnce(80)
	requireFiles(t, dir, 0)
	require.Empty(t, f.open)
}

// A file whose modification time is in the future counts as finished after settle_time, too.
func TestModifiedInTheFuture(t *testing.T) {
	dir, to := t.TempDir(), &collected{t: t}
	path := filepath.Join(dir, "x.stef")
	file := growing(t, path)
	file.put(numbered(1, 10))
	future := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(path, future, future))
	r := start(t, testConfig(dir, func(c *Config) { c.AssumeSignal, c.OnFinished = "logs", Delete }), to, nil)
	r.requireFinished(complete, 1)
	to.requireOnce(10)
	r.idle()
	requireFiles(t, dir, 0)
}
