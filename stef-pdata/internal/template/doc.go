// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package template splits text bodies of log records into templates and
// parameters, decides where that makes streams smaller, and joins them again.
//
// Texts with the same template have one shape (textShape). The parameters of a
// reference template (refTemplate) may refer to other fields of the log record. Each
// resource and scope has a policy (splitPolicy): it decides by samples whether its
// bodies are split.
//
// spec: #otlp-logs
package template
