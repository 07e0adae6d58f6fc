// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
)

// growingFile is a file of logs to which the test appends frames or any bytes.
type growingFile struct {
	t       testing.TB
	file    *os.File
	buffer  bytes.Buffer
	encoder *signal.Encoder[plog.Logs]
}

func growing(t testing.TB, path string, options ...stef.WriterOption) *growingFile {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() }) // a test may have closed it
	g := &growingFile{t: t, file: file}
	g.encoder, err = signal.Logs.NewEncoder(&g.buffer, nil, options...)
	require.NoError(t, err)
	return g
}

// encode returns the bytes of a frame with a batch. Before the first frame, it also returns
// the headers.
func (g *growingFile) encode(ld plog.Logs) []byte {
	g.t.Helper()
	require.NoError(g.t, g.encoder.Encode(ld))
	require.NoError(g.t, g.encoder.Writer.Flush())
	b := bytes.Clone(g.buffer.Bytes())
	g.buffer.Reset()
	return b
}

func (g *growingFile) write(b []byte) {
	g.t.Helper()
	_, err := g.file.Write(b)
	require.NoError(g.t, err)
}

func (g *growingFile) put(ld plog.Logs) {
	g.t.Helper()
	g.write(g.encode(ld))
}

func withRoot(name string) stef.WriterOption {
	return stef.WithUserData(map[string]string{rootKey: name})
}

func receivertestSpan() ptrace.Traces { return receivertest.CreateOneSpanWithID("1") }
