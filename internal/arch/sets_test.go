// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"testing"

	"github.com/otelstef/stef/internal/teltest"
)

// TestSets passes if the large real sets are found. A script can check for them
// with teltest.RequireEnv set: then the test fails if they are missing.
func TestSets(t *testing.T) {
	teltest.Data(t, "README.md")
	teltest.Golden(t, "README.md")
}
