// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package measure

import "time"

// CPU returns 0: processor time is unavailable on this system.
func CPU() time.Duration { return 0 }
