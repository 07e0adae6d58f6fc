// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/idl"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden compares the errors and warnings for each schema of testdata with the golden file of the
// schema, which has the errors first. A schema without a golden file must have no errors or warnings.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.stef")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".stef")
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			s, warnings, err := idl.ParseWithWarnings(name+".stef", src)
			var got string
			if err != nil {
				var list idl.Diagnostics
				require.ErrorAs(t, err, &list)
				require.NotEmpty(t, list)
				require.Nil(t, s)
				got = list.Render(src)
			}
			got += warnings.Render(src)
			requireGolden(t, filepath.Join("testdata", name+".stderr.txt"), got)
		})
	}
}

func requireGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if got == "" {
			require.NoError(t, ignoreMissing(os.Remove(path)))
			return
		}
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, ignoreMissing(err))
	require.Equal(t, string(want), got)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
