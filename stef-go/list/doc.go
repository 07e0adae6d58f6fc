// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package list has the types of the arrays in records: Of for structs, oneofs and
// multimaps, Values for integers, enums, booleans and text, Floats and Bytes. Lists come
// only from getters of generated code, such as Point.Exemplars: programs cannot create
// lists of their own.
//
// A list is part of a record. Its methods record the changes for the writer of the
// record. As with slices, an index out of range panics, and a negative length
// panics, too.
package list
