// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package list has the types of the arrays in records: Of for structs, oneofs and
// multimaps, Values for numbers, booleans and text, Floats and Bytes. Getters of
// generated code return them, as in Point.Exemplars; nothing else makes them.
//
// A list is part of a record and belongs to it. Its methods tell the writer of the
// record what changed. Indexes out of range panic as those of slices do, and so does
// a negative length.
package list
