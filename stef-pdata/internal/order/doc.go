// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package order sorts: it compares values of records, ranks ids by value, sorts
// keys packed from such ranks, and numbers the traces of a chunk of spans.
//
// The order depends on values only, never on ids or hashes, so that a batch has
// the same order in every stream and columns repeat from frame to frame.
package order
