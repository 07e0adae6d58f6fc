// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package column

import (
	"errors"

	"github.com/otelstef/stef/stef-go/bitio"
)

// Reader is a column being read. bitio's readers are most of it.
type Reader interface {
	// Reset makes the column read data, the part of a new frame. The reader
	// keeps data until the next Reset.
	Reset(data []byte)
	// Restart puts the state of the codec to its beginning.
	Restart()
	// Done says whether all of the data was read, but for padding.
	Done() bool
	// Attach sets where to latch failures.
	Attach(fault *bitio.Fault, column int)
}

// ReadTree is the columns of a stream being read.
type ReadTree struct {
	Tree[Reader]
	fault     bitio.Fault
	sizeFault bitio.Fault // of the size table of the frame
}

// Errors of Split and Finish.
var (
	ErrSizeTable = errors.New("the size table is damaged")
	ErrSizes     = errors.New("the columns do not fit the frame")
	ErrTrailing  = errors.New("bytes are left over behind the last column")
	ErrUnread    = errors.New("data is left over in a column after the last record")
)

// Attach gives every column its number and the Fault of the tree.
func (t *ReadTree) Attach() {
	for n := range t.nodes {
		t.nodes[n].codec.Attach(&t.fault, n)
	}
}

// Fault returns where the columns latch failures.
func (t *ReadTree) Fault() *bitio.Fault { return &t.fault }

// Split hands the columns of a frame their data: payload begins with the size
// table. It returns the number of the column at which it failed.
//
// spec: #column-omission
func (t *ReadTree) Split(payload []byte) (column int, err error) {
	tableSize, n := bitio.Uvarint(payload)
	if n <= 0 || tableSize > uint64(len(payload)-n) {
		return -1, ErrSizeTable
	}
	var table bitio.BitReader
	t.sizeFault = bitio.Fault{}
	table.Attach(&t.sizeFault, 0)
	table.Reset(payload[n : n+int(tableSize)])
	data := payload[n+int(tableSize):]
	empty := 0 // columns before this one belong to an empty subtree
	for n := range t.nodes {
		var size uint64
		if n >= empty {
			size = table.ReadCompact()
			if size == 0 {
				empty = t.nodes[n].end
			}
		}
		if t.sizeFault.Code != bitio.FaultNone {
			return n, ErrSizeTable
		}
		if size > uint64(len(data)) {
			return n, ErrSizes
		}
		t.nodes[n].codec.Reset(data[:size:size])
		data = data[size:]
	}
	if !table.Done() {
		return -1, ErrSizeTable
	}
	if len(data) > 0 {
		return -1, ErrTrailing
	}
	return 0, nil
}

// Finish checks that the records of a frame used up all columns. It returns
// the number of the first column that has data left. Where a oneof column was
// short, others can have data left that it would have led to.
func (t *ReadTree) Finish() (column int, err error) {
	for n := range t.nodes {
		if !t.nodes[n].codec.Done() && !t.short() {
			return n, ErrUnread
		}
	}
	return 0, nil
}

func (t *ReadTree) short() bool {
	for n := range t.nodes {
		if c, ok := t.nodes[n].codec.(interface{ Short() bool }); ok && c.Short() {
			return true
		}
	}
	return false
}

// Restart puts the state of all codecs to its beginning.
//
// spec: #restart
func (t *ReadTree) Restart() {
	for n := range t.nodes {
		t.nodes[n].codec.Restart()
	}
}
