// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package otelstef_test

const raceEnabled = true
