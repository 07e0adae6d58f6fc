// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/lake"
)

var errDisk = errors.New("disk: read failed")

// failing is a file that fails after a number of calls.
type failing struct {
	*bytes.Reader
	calls int
}

func (f *failing) fails() bool {
	f.calls--
	return f.calls < 0
}

func (f *failing) Read(p []byte) (int, error) {
	if f.fails() {
		return 0, errDisk
	}
	return f.Reader.Read(p)
}

func (f *failing) ReadAt(p []byte, at int64) (int, error) {
	if f.fails() {
		return 0, errDisk
	}
	return f.Reader.ReadAt(p, at)
}

// TestSourceFails: an error of the file is returned as it is, wherever it happens. The table is
// not called corrupt.
func TestSourceFails(t *testing.T) {
	eachTable(t, func(t *testing.T, format lake.Format, s lake.Signal) {
		content := write(t, format, s, lake.WriterOptions{}, recorded(t, s)[:2]...)
		for calls := 0; ; calls++ {
			file := &failing{bytes.NewReader(content), calls}
			err := func() error {
				var r *lake.Reader
				var err error
				if format == lake.Parquet {
					r, err = lake.NewParquetReader(file, lake.Limits{})
				} else {
					r, err = lake.NewArrowReader(file, lake.Limits{})
				}
				for err == nil {
					_, err = r.Next()
				}
				if r != nil {
					r.Close()
				}
				return err
			}()
			if file.calls >= 0 {
				require.Equal(t, io.EOF, err)
				require.Greater(t, calls, 2, "the file was read in so few calls that nothing was tested")
				return
			}
			require.ErrorIs(t, err, errDisk, "after %d calls", calls)
			require.NotErrorIs(t, err, lake.ErrCorrupt)
		}
	})
}
