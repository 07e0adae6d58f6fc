// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
	"fmt"
	"time"
)

// WithUnit rejects durations that were written without a unit. The Collector reads
// these as nanoseconds.
func WithUnit(key string, value time.Duration) error {
	if value > 0 && value < time.Microsecond {
		return fmt.Errorf("%s is %s: write it with a unit, such as %ds or %dms", key, value, value, value)
	}
	return nil
}
