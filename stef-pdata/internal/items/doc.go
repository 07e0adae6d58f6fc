// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package items copies points, spans and log records of pdata into records, and
// counts the content that the schema of the stream cannot carry.
//
// spec: #otlp-mapping
package items
