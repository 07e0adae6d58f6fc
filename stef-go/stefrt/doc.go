// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefrt is the runtime of the code that stefc generates: the marks of
// what changed in a record, arrays, struct dictionaries, and the engines that
// turn records into frames and back. Only generated code should import it;
// what users need of it (the methods of arrays, of writers and readers) they
// reach through generated types.
//
// How generated code and this package divide the work:
//
//   - Record tempo is generated: a writer's Write calls the encoder of the root,
//     straight-line code on concrete types, and then WriteStream.EndRecord,
//     which counts and looks at two limits. A reader's Next is the mirror.
//   - Frame tempo is here, once, for all schemas: encoders and decoders hand
//     their columns to an EncoderBuilder or DecoderBuilder when the stream
//     begins, and the engines walk that list at every frame.
//
// # Marks
//
// A record remembers what changed since it was last written. Each composite
// value has a Node with one bit per field (or pair), and a setter that changes
// a value sets the bit and those of all values around it. The invariant that
// keeps this cheap: a value whose node has a bit set is itself marked in the
// value around it, so marking stops at the first bit that is set already.
//
// The contents of a record, but for what is marked, are always what a decoder
// of the stream holds at that place. Arrays, oneofs and optional fields keep
// what they last sent besides, because shrinking and growing, or changing the
// choice there and back, between two writes must not lose sight of it.
//
// # Shared values
//
// The value of a dictionary struct can be shared: set by pointer, never
// changed again. Setting the pointer that was written last is no change at
// all, and a value that the dictionary knows is written without looking at its
// contents. Package otelstef shows the use.
package stefrt
