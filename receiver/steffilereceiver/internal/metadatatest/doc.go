// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadatatest compares the receiver's own metrics with the expected
// values of a test.
package metadatatest
