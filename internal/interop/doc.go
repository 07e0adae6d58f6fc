// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop tests this repository against the reference implementation of STEF as
// a peer: each implementation reads the files and the gRPC streams of the other implementation.
// It has only tests. It is a separate module, so that no other module depends on the reference
// implementation.
//
// The tests expect the known faults of the reference implementation, so they fail when
// a version fixes such a fault. The modules in contribreceiver and contribexporter test our
// distribution, as a process, with the receiver and the exporter of the Collector's contrib
// repository as peers. make test-contrib runs them.
package interop
