// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest_test

import (
	"testing"

	"github.com/otelstef/stef/stef-go/steftest"
)

// A test of generated code checks a property with many seeds. A fuzz target whose input is the seed can
// check more seeds.
func ExampleRoundTrip() {
	_ = func(t *testing.T) {
		root := metricsRoot(t) // see NewRoot
		for seed := range uint64(100) {
			steftest.RoundTrip(t, root, seed)
			steftest.Evolve(t, root, seed)
			steftest.Mutate(t, root, seed)
			steftest.SelfContained(t, root, seed)
		}
	}
}
