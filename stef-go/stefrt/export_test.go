// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

// Looked returns how many records Run has examined in the stream.
func Looked(s *ReadStream) uint64 { return s.looked }
