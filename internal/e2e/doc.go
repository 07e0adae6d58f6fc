// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e contains the tests of whole Collectors. A test starts two processes
// of the distribution of cmd/otelcol-stef: an agent that receives OTLP and sends
// STEF, and a backend that receives STEF. A client sends to the agent, a sink
// receives from the backend, and the network between the two processes can be cut,
// stalled and slowed.
//
// TestSoak and TestChaos cause one fault after another for the time STEF_SOAK_TIME.
// They watch memory, goroutines and file descriptors of both processes. make soak
// and make chaos run them.
//
// The tests run the program that STEF_OTELCOL names. make test-collector builds it
// and runs the tests; STEF_LONG=1 runs them at full length. Without the program,
// the tests are skipped.
package e2e
