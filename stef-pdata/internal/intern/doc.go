// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package intern remembers what batches repeat: resources, scopes, metrics, the
// attribute sets of points, the keys of attributes and the names of spans. Each
// pool gives equal content the same id and converts it to a record value once.
//
// A pool first predicts: it compares the new content with what followed the
// previous one last time. Only if the prediction is wrong it hashes and looks up.
// Pools are bounded; an encoder empties a full pool between batches, so ids last
// for one batch at least.
package intern
