// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/parquet"
)

// source remembers the first error of the file or stream that a reader reads. The libraries
// hide this error: they report invalid data, or an error of their own.
type source struct{ failure atomic.Pointer[error] }

// note remembers err if it is an error of the source. The end of the data is not such an
// error: if it is unexpected, the file is cut.
func (s *source) note(err error) error {
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.failure.CompareAndSwap(nil, &err)
	}
	return err
}

// typed returns the error of the source if there is one, or wraps err as the function typed does.
func (s *source) typed(err error) error {
	if failure := s.failure.Load(); failure != nil && err != nil && err != io.EOF {
		return fmt.Errorf("lake: cannot read the file: %w", *failure)
	}
	return typed(err)
}

type streamSource struct {
	*source
	io.Reader
}

func (s streamSource) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	return n, s.note(err)
}

type fileSource struct {
	*source
	file parquet.ReaderAtSeeker
}

func (s fileSource) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.file.ReadAt(p, at)
	return n, s.note(err)
}

func (s fileSource) Seek(at int64, whence int) (int64, error) {
	at, err := s.file.Seek(at, whence)
	return at, s.note(err)
}
