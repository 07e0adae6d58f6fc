// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"testing"

	"github.com/otelstef/stef/internal/teltest"
)

// TestSets passes if the large real sets are found. If a script sets teltest.RequireEnv,
// the test fails if the sets are missing.
func TestSets(t *testing.T) {
	teltest.Data(t, "README.md")
	teltest.Golden(t, "README.md")
}
