// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stream opens STEF streams of OpenTelemetry records whose root is not
// known: a stream does not name it.
//
//	root, src, err := stream.Recognise(src)
//	r, err := root.Records(src)
//
// A Root has what the commands need to know of a kind of record.
package stream
