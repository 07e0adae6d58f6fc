// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine that a test started must have ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
