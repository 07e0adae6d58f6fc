// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"errors"
	"fmt"
)

// The errors of a reader and a writer, for errors.Is.
var (
	// ErrCorrupt means that a file is damaged.
	ErrCorrupt = errors.New("lake: corrupt file")
	// ErrSchema means that a table does not have the columns of this package.
	ErrSchema = errors.New("lake: unsupported table")
	// ErrLimit means that a file needs more memory than the limits allow.
	ErrLimit = errors.New("lake: limit exceeded")
	// ErrSignal means that an item has another signal than the table.
	ErrSignal = errors.New("lake: wrong signal")
)

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// guard runs f. Invalid files can make the libraries below panic; guard converts a panic
// to an error.
func guard(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *limitReached:
			err = p
		default:
			err = corrupt("%v", p)
		}
	}()
	return f()
}
