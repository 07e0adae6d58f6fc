// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package order sorts: it compares values of records, ranks ids by value, sorts keys that are
// packed from these ranks, and numbers the traces of a chunk of spans.
//
// Sort keys contain ranks of values, and no hashes and no ids in the order of their first use, so
// that a batch has the same order in every stream and columns repeat from frame to frame.
package order
