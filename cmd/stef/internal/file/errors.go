// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
)

// Error reports that a file could not be opened, read or written.
type Error struct {
	Name string
	Err  error
}

// Error names the file once, even if the system's error names it too.
func (e *Error) Error() string {
	var at *fs.PathError
	if errors.As(e.Err, &at) {
		return fmt.Sprintf("%s: %s: %v", e.Name, at.Op, at.Err)
	}
	return fmt.Sprintf("%s: %v", e.Name, e.Err)
}

// remote reports whether a name is a URL.
func remote(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && scheme != "" && !strings.ContainsAny(scheme, "/\\.")
}

var (
	errRemote  = errors.New("stef reads and writes local files only")
	errPattern = errors.New("no file matches this pattern: check it, and remove quotes around it, because only the shell expands patterns")
)

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ContentError says that the content of a file is bad.
type ContentError struct {
	Name string
	Err  error
	// Packed is the compression of the file as a whole, as in Input.Packed.
	Packed string
	// Read is the number of bytes of content that were read before the error.
	Read int64
	// WholeBlocks is the result of Input.WholeBlocks.
	WholeBlocks bool
}

// Error names the file.
func (e *ContentError) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *ContentError) Unwrap() error { return e.Err }

// Quoted returns a name as a word of a shell, for a command that a text suggests.
func Quoted(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N) && !strings.ContainsRune("-_./,:+@%=", r)
	}) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
