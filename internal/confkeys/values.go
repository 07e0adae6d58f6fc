// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Between returns an error for a number outside of a range. hint is further advice,
// or "".
func Between(key string, value, least, most int, hint string) error {
	if value >= least && value <= most {
		return nil
	}
	return fmt.Errorf("%s is %d: set it to a number from %d to %d%s", key, value, least, most, advice(hint))
}

// AtLeast returns an error for a number below the least one.
func AtLeast(key string, value, least int, hint string) error {
	if value >= least {
		return nil
	}
	return fmt.Errorf("%s is %d: set it to %d or more%s", key, value, least, advice(hint))
}

// OneOf returns an error for a value that is not allowed. The message does not list
// the empty value.
func OneOf[T ~string](key string, value T, allowed ...T) error {
	var texts []string
	for _, a := range allowed {
		if value == a {
			return nil
		}
		if a != "" {
			texts = append(texts, string(a))
		}
	}
	last := len(texts) - 1
	return fmt.Errorf("%s is %q: set it to %s or %s", key, string(value), strings.Join(texts[:last], ", "), texts[last])
}

// Duration returns an error for a duration outside of a range, or without a unit.
func Duration(key string, value, least, most time.Duration, hint string) error {
	if err := WithUnit(key, value); err != nil || value >= least && value <= most {
		return err
	}
	return fmt.Errorf("%s is %s: set it to a duration from %s to %s%s", key, value, least, most, advice(hint))
}

// DurationAtLeast returns an error for a duration below the shortest one, or without a
// unit.
func DurationAtLeast(key string, value, shortest time.Duration, hint string) error {
	if err := WithUnit(key, value); err != nil || value >= shortest {
		return err
	}
	return fmt.Errorf("%s is %s: set it to %s or more%s", key, value, shortest, advice(hint))
}

// ZeroOr returns an error for a duration that is neither 0 nor at least the shortest
// one, or has no unit. meaning is what 0 means.
func ZeroOr(key string, value, shortest time.Duration, meaning, hint string) error {
	if err := WithUnit(key, value); err != nil || value == 0 || value >= shortest {
		return err
	}
	return fmt.Errorf("%s is %s: set it to 0 %s, or to %s or more%s", key, value, meaning, shortest, advice(hint))
}

// WithUnit rejects durations that were written without a unit. The Collector reads
// these as nanoseconds.
func WithUnit(key string, value time.Duration) error {
	if value > 0 && value < time.Microsecond {
		return withoutUnit(key, value)
	}
	return nil
}

func withoutUnit(key string, value time.Duration) error {
	if value < time.Microsecond {
		return fmt.Errorf("%s is %s: write it with a unit, such as %ds or %dms", key, value, value, value)
	}
	return fmt.Errorf("%s is %s: write it with a unit, such as %dms", key, value, value)
}

// Retries rejects intervals of retry_on_failure that were written without a unit.
func Retries(initial, highest, elapsed time.Duration) error {
	return errors.Join(
		WithUnit("retry_on_failure::initial_interval", initial),
		WithUnit("retry_on_failure::max_interval", highest),
		WithUnit("retry_on_failure::max_elapsed_time", elapsed),
	)
}

func advice(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}
