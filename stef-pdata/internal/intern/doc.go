// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package intern caches the content that batches repeat: resources, scopes, metrics,
// the attribute sets of points, the keys of attributes and the names of spans. Each
// pool assigns the same id to equal content and converts it to a record value once.
//
// A pool first predicts: it compares the new content with the content that followed the
// previous content last time. It hashes and looks up only if the prediction is wrong.
// The epoch of a dictionary changes when the dictionary restarts: references from
// an earlier epoch are invalid.
// Pools are bounded. An encoder empties a full pool between batches, so ids stay
// valid for at least one batch.
package intern
