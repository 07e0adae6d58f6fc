// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package steftest tests generated code against its schema: the records,
// writers and readers that stefc made of a .stef file, of this repository or
// of anybody.
//
// A Root connects a root struct with its generated code. The properties take
// one and a seed, from which everything random follows:
//
//	metrics := steftest.NewRoot(root, nil, otelstef.NewMetricsWriter, otelstef.NewMetricsReader,
//		otelstef.NewMetrics, otelstef.NewMetric, otelstef.NewResource, otelstef.NewScope)
//	for seed := range uint64(100) {
//		steftest.RoundTrip(t, metrics, seed)
//		steftest.Evolve(t, metrics, seed)
//		steftest.Mutate(t, metrics, seed)
//		steftest.SelfContained(t, metrics, seed)
//	}
//
// The bridge between generated records, which are Go types, and everything that
// works by a schema is reflection on getters and setters: Value reads a record
// into a value of package dynamic, Set writes one, a Follower reads only what
// Modified says has changed, and a Mutator changes a record as a program might
// between two writes while it keeps account of what the record must then hold.
// Records makes the values: runs of random records that reach every type and
// the edges of each.
//
// Package dynamic, which knows nothing of generated code, is the judge.
//
// A record that is not of the schema is a mistake in the test, and functions
// without an error result panic about it.
package steftest
