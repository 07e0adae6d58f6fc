// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadatatest compares the receiver's own metrics with what a test
// expects of them.
package metadatatest
