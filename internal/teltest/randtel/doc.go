// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package randtel generates random telemetry for property tests.
package randtel
