// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"

	"github.com/otelstef/stef/internal/teltest/canon"
)

// A stream whose schema has no templates carries bodies as text without loss.
func TestLogsWithoutTemplates(t *testing.T) {
	root := otelstef.LogsRoot()
	kept, err := schema.Keep(root, otelstef.LogsSchema())
	require.NoError(t, err)
	for s := range kept {
		if s.Name == "LogBody" {
			kept[s] = 2
		}
	}
	ld := logsOf("a 1", "a 2", "a 3", "a 4", "a 5")
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, stef.WithSchema(kept.Wire(root)), stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	require.NoError(t, NewLogsEncoder(w).Encode(ld))
	require.NoError(t, w.Close())
	require.Zero(t, templated(t, out.Bytes()))
	r, err := otelstef.NewLogsReader(&out)
	require.NoError(t, err)
	got, err := NewLogsDecoder(r).Decode()
	require.NoError(t, err)
	require.Empty(t, canon.DiffOrderedLogs(ld, got))
}
