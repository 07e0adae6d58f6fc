// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"errors"
	"fmt"
)

// The errors of a reader and a writer, for errors.Is.
var (
	// ErrCorrupt means that a file is damaged, or that a row of an edited table is invalid.
	ErrCorrupt = errors.New("lake: corrupt file")
	// ErrSchema means that a table does not have the columns of this package.
	ErrSchema = errors.New("lake: unsupported table")
	// ErrLimit means that a file exceeds a limit, such as the memory of Limits.
	ErrLimit = errors.New("lake: limit exceeded")
	// ErrSignal means that the signal of an item is not the signal of the table.
	ErrSignal = errors.New("lake: wrong signal")
)

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// invalid returns an error about a value of a column; columns.atRow adds the row. The
// text of the error does not call the file corrupt, because most such values come from
// edits.
func invalid(column, format string, args ...any) error {
	return fmt.Errorf("column %s: %s", column, fmt.Sprintf(format, args...))
}

type rowError struct {
	row uint64 // in the file, from 0, as pyarrow and DuckDB count
	err error
}

func (e *rowError) Error() string { return fmt.Sprintf("lake: row %d, %v", e.row, e.err) }

func (e *rowError) Unwrap() error { return ErrCorrupt }

// guard runs f. Invalid files can make the libraries below panic; guard converts a panic
// to an error.
func guard(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *limitReached:
			err = p
		case *rowError:
			err = p
		default:
			err = corrupt("%v", p)
		}
	}()
	return f()
}
