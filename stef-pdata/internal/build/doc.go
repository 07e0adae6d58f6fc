// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package build makes pdata of records that were checked. It allocates lists at
// their final size and counts what it builds, because a short stream can repeat a
// large value very often.
//
// spec: #otlp-mapping
package build
