// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package annotate_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/annotate"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// FuzzStream annotates any bytes. The annotated lines must contain each bit that was read exactly once.
func FuzzStream(f *testing.F) {
	f.Add(stream(f))
	f.Add(stream(f, dynamic.WithRestart(dynamic.RestartAll)))
	f.Add(stream(f, dynamic.WithCompression(dynamic.Zstd)))
	root := rootOf(f, readings)
	f.Fuzz(func(t *testing.T, b []byte) {
		var out bytes.Buffer
		err := annotate.Stream(&out, bytes.NewReader(b), root,
			annotate.WithReaderOptions(dynamic.WithMaxRecordBytes(1<<20), dynamic.WithMaxDictBytes(1<<20)))
		if err != nil {
			requireTyped(t, err)
		}
		got := restored(t, out.String())
		require.True(t, bytes.HasPrefix(b, got))
		if err == nil {
			require.Len(t, got, len(b))
		}
	})
}
