// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e has the tests of whole Collectors: two processes of the
// distribution of cmd/otelcol-stef, an agent that takes OTLP and sends STEF and
// a backend that takes STEF, with a client before the agent, a sink behind the
// backend, and a network between them that can be cut, stalled and slowed.
//
// The tests run the program that STEF_OTELCOL names; make test-collector builds
// it and runs them, STEF_LONG=1 at full length. Without the program they are
// skipped.
package e2e
