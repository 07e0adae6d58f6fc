// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	stef "github.com/otelstef/stef/stef-go"
)

// Any bytes are converted or refused, and an output stream can be read.
func FuzzRun(f *testing.F) {
	for _, signal := range signals {
		data := recording(f, signal, 2)
		f.Add(data, true)
		f.Add(data[4:len(data)/3], false)
		packed, _, err := run(data, convert.Options{})
		require.NoError(f, err)
		f.Add(packed, true)
		packed, _, err = run(data, convert.Options{Compression: stef.Zstd})
		require.NoError(f, err)
		f.Add(packed, false)
		text, _, err := run(data[:len(data)/2], convert.Options{To: convert.OTLPJSON})
		if err == nil {
			f.Add(text, true)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, skip bool) {
		for _, to := range []convert.Format{convert.STEF, convert.OTLP, convert.OTLPJSON} {
			out, res, err := run(data, convert.Options{To: to, Skip: skip})
			if err != nil {
				var bad *file.ContentError
				require.True(t, errors.As(err, &bad) || errors.Is(err, convert.ErrUnsupported), "%v", err)
				continue
			}
			if to != convert.STEF {
				continue
			}
			_, again, err := run(out, convert.Options{To: to, Root: res.Root})
			require.NoError(t, err)
			require.Equal(t, res.Items, again.Items)
		}
	})
}
