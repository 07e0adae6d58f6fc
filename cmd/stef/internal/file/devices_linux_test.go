// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/file"
)

// Devices and pipes are written directly and are not replaced.
func TestDevices(t *testing.T) {
	out, err := new(file.Temps).Create("/dev/full", nil, false)
	require.NoError(t, err)
	_, err = io.WriteString(out, "new")
	var failed *file.Error
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, syscall.ENOSPC)
	out.Discard()

	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o666))
	got := make(chan []byte)
	go func() {
		b, _ := os.ReadFile(pipe)
		got <- b
	}()
	out = create(t, new(file.Temps), pipe, "new")
	require.NoError(t, out.Commit())
	require.Equal(t, "new", string(<-got))
	info, err := os.Stat(pipe)
	require.NoError(t, err)
	require.Equal(t, fs.ModeNamedPipe, info.Mode().Type())
}
