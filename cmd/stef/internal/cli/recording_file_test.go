// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/otlpfile"
)

// The first sync of a file also syncs its folder, because the folder contains the name of the file.
func TestSyncFolder(t *testing.T) {
	dir := t.TempDir()
	tape, err := newRecordingFile(filepath.Join(dir, "logs.otlp"), otlpfile.Logs, false)
	require.NoError(t, err)
	var synced []string
	tape.syncFolder = func(dir string) { synced = append(synced, dir) }
	for range 2 {
		tape.dirty = true
		require.NoError(t, tape.sync())
		require.Equal(t, []string{dir}, synced)
	}
	require.NoError(t, tape.close())
}
