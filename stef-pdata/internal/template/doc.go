// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package template splits text bodies of log records into templates and
// parameters, decides where that makes streams smaller, and joins them again.
//
// spec: #otlp-logs
package template
