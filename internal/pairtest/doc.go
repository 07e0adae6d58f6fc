// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package pairtest tests the exporter and the receiver together over real
// connections, and each of them with peers that misbehave. It contains only tests,
// because neither component may import the other.
package pairtest
