// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package build builds pdata from records that are already checked. It allocates
// lists at their final size and counts the bytes that it builds, because a short
// stream can repeat a large value very often.
//
// spec: #otlp-mapping
package build
