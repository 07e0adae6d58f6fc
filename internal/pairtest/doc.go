// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package pairtest tests the exporter and the receiver together, over real
// connections, with each other and with peers that misbehave. It has tests and
// nothing else: neither component may import the other.
package pairtest
