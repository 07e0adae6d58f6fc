// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// FuzzParse checks that any text produces a schema or diagnostics that can be printed,
// and that parsing a printed schema returns an equal schema.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.stef")
	require.NoError(f, err)
	for _, file := range append(files, otelSchema) {
		f.Add(readFile(f, file))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, warnings, err := idl.ParseWithWarnings("fuzz.stef", src)
		warnings.Render(src)
		if err != nil {
			var list idl.Diagnostics
			require.ErrorAs(t, err, &list)
			require.NotEmpty(t, list.Render(src))
			return
		}
		printed := schema.Print(s)
		again, err := idl.Parse("printed.stef", printed)
		require.NoError(t, err, "%s", printed)
		requireSame(t, s, again)
	})
}
