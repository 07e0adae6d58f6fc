// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop tests this repository against the reference implementation of STEF as
// a peer: files of each are read by the other, and so are streams over gRPC. It has no
// code to import. It is a separate module, so that no other module depends on the
// reference implementation.
//
// The tests expect the known faults of the reference implementation, so they fail when
// a version fixes one. Two modules below do the same with the receiver and the exporter
// of the Collector's contrib repository and a process of our distribution: make
// test-contrib.
package interop
