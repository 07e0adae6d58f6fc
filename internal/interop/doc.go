// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop tests this repository against the reference implementation of
// STEF as a peer: files of each are read by the other, and so are streams over
// gRPC. It has no code to import. It is a module of its own, so that the reference
// implementation reaches no other module.
//
// Known faults of the reference implementation are asserted as they are, so that a
// version without them is noticed. Two modules below do the same with the receiver
// and the exporter of the Collector's contrib repository and a process of our
// distribution: make test-contrib.
package interop
