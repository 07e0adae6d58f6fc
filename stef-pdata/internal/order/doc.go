// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package order sorts: it compares values of records, ranks ids by value, sorts keys that are
// packed from these ranks, and numbers the traces of a chunk of spans.
//
// Sort keys contain ranks of values. They contain no hashes, and no ids, which depend on the order
// of first use. So a batch has the same order in every stream, and columns repeat from frame to
// frame.
package order
