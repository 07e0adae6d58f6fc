// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadatatest compares what the extension reports of itself with what a
// test expects. All but this is generated.
package metadatatest
