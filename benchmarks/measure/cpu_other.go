// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package measure

import "time"

// CPU returns 0: this system does not tell.
func CPU() time.Duration { return 0 }
