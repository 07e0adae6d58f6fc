// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

// DivideAbove makes w divide batches whose messages are larger than n bytes.
func DivideAbove(w *Writer, n int) { w.most = n }

// WithMaxPart replaces DefaultMaxPart.
func WithMaxPart(n int) ReaderOption { return func(r *Reader) { r.maxPart = n } }

// WithBatchSize replaces DefaultBatchSize.
func WithBatchSize(n int) ReaderOption { return func(r *Reader) { r.batchSize = n } }
