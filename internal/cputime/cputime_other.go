// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

// Package cputime measures processor time.
package cputime

import "time"

// Used returns 0: processor time is unavailable on this system.
func Used() time.Duration { return 0 }
