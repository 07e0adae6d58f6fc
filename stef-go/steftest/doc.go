// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package steftest tests generated code against its schema: the records, writers and
// readers that stefc generated from any .stef file, of this repository or another.
//
// A Root connects a root struct with its generated code. The properties receive a
// Root and a seed, which determines everything random:
//
//	orders := steftest.NewRoot(shop.OrderRoot(), shop.OrderBaseSchema(), shop.NewOrderWriter, shop.NewOrderReader,
//		shop.OrderConstructors()...)
//	steftest.AllRoots(t, orders)
//	for seed := range uint64(100) {
//		steftest.RoundTrip(t, orders, seed)
//		steftest.Evolve(t, orders, seed)
//		steftest.Mutate(t, orders, seed)
//		steftest.SelfContained(t, orders, seed)
//	}
//
// stefc generated package shop; cmd/stefc/README.md has its schema and this test.
// Generated code has a constructor for each struct, oneof and multimap, and for each root
// a function that returns the constructors of all types below it. Pass them to NewRoot. You
// can also list the constructors: Mutate and SelfContained name missing constructors. AllRoots
// names the roots of the schema that have no Root. ExampleRoundTrip is a test function.
//
// Generated records are Go types; the tests work with values of package dynamic. Value converts
// a record to such a value, and Set sets a record to such a value. Both use reflection to call
// the getters and setters of the record. A Follower reads only the fields that Modified
// reports. A Mutator changes a record between two writes as a program might, and
// tracks the expected contents of the record. Records generates the values: sequences
// of random records that reach every type and its edge cases.
//
// Package dynamic, which is independent of generated code, decides what is correct.
//
// A record that does not match the schema is an error in the test, and functions
// without an error result panic on it.
package steftest
