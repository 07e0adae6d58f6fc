// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever a test started has ended with it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
