// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// ErrClosed is the error of calling a closed Writer.
var ErrClosed = errors.New("rotate: writer is closed")

var errRemoved = errors.New("the file was removed or renamed")

// Error reports a fault of the file system or of the stream in a file.
type Error struct {
	// Op is what failed: "create", "write", "sync", "finish", "list",
	// "recover" or "retain".
	Op string
	// Path is the file or the folder.
	Path string
	// Lost is the number of records that did not reach the file. If the file was removed, Lost is
	// the number of all its records, including those that earlier calls had written. If the file
	// was renamed instead, the file may still have records that Lost counts.
	Lost uint64
	// Err is the cause, usually of package os or syscall.
	Err error
}

// Error describes the error.
func (e *Error) Error() string {
	lost := ""
	switch {
	case e.Op == "create":
		lost = " (nothing of this Write was written)"
	case e.Lost > 0:
		lost = fmt.Sprintf(" (%d records lost)", e.Lost)
	}
	err := e.Err
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the text already has the path
	}
	return fmt.Sprintf("rotate: %s %s: %v%s", e.Op, e.Path, err, lost)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Kind is a class of errors, as Stats counts them.
type Kind uint8

// The classes of errors.
const (
	KindOther      Kind = iota
	KindFull            // no space, or over a quota
	KindPermission      // no permission, or a read-only file system
	KindRemoved         // the file or its folder was removed
	kinds
)

// String returns the name of the class for metrics, such as "disk_full".
func (k Kind) String() string {
	switch k {
	case KindFull:
		return "disk_full"
	case KindPermission:
		return "permission"
	case KindRemoved:
		return "removed"
	}
	return "other"
}

// Kind returns the class of the error.
func (e *Error) Kind() Kind {
	var errno syscall.Errno
	var path *fs.PathError
	switch {
	case errors.As(e.Err, &errno) && fullDisk(errno):
		return KindFull
	case errors.Is(e.Err, fs.ErrPermission) || errors.As(e.Err, &errno) && readOnly(errno):
		return KindPermission
	case errors.As(e.Err, &path) && path.Op == "mkdir": // nothing was removed
		return KindOther
	case errors.Is(e.Err, errRemoved) || errors.Is(e.Err, fs.ErrNotExist):
		return KindRemoved
	}
	return KindOther
}
