// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"os"
	"testing"

	"github.com/otelstef/stef/stef-go/steftest"
)

// seeds returns the number of seeds with which a property is checked.
func seeds(n uint64) uint64 {
	switch {
	case os.Getenv("STEF_LONG") != "":
		return 20 * n
	case testing.Short():
		return n/10 + 1
	}
	return n
}

func TestRoundTrip(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		for seed := range seeds(60) {
			steftest.RoundTrip(t, r, seed)
		}
	})
}

func TestEvolve(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		for seed := range seeds(60) {
			steftest.Evolve(t, r, seed)
		}
	})
}

func TestMutate(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		for seed := range seeds(120) {
			steftest.Mutate(t, r, seed)
		}
	})
}

func TestSelfContained(t *testing.T) {
	eachRoot(t, func(t *testing.T, r *steftest.Root) {
		for seed := range seeds(60) {
			steftest.SelfContained(t, r, seed)
		}
	})
}
