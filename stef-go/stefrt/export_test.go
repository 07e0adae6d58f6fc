// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

// Examined returns how many records Run has examined in the stream.
func Examined(s *ReadStream) uint64 { return s.examined }
