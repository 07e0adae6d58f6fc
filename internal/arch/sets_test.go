// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"testing"

	"github.com/otelstef/stef/internal/teltest"
)

// TestSets passes where the large real sets are, which is how a script finds
// out: with teltest.RequireEnv set it fails where they are not.
func TestSets(t *testing.T) {
	teltest.Data(t, "README.md")
	teltest.Golden(t, "README.md")
}
