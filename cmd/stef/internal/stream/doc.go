// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stream opens STEF streams whose root is unknown, because a stream does not name
// its root. The possible roots are the roots of OpenTelemetry, or the roots of a user's
// schema that Load reads.
//
//	root, src, err := stream.Roots().Recognise(src)
//	r, err := root.Records(src)
//
// A Root describes a kind of record. A Tap keeps the bytes of the frame that is
// being read. Keep copies the headers and the intact frames of a damaged stream.
package stream
