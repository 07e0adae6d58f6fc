// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadatatest compares the extension's own metrics with the expected values of
// a test. All other files of the package are generated.
package metadatatest
