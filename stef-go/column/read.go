// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package column

import (
	"errors"

	"github.com/otelstef/stef/stef-go/bitio"
)

// Reader is a column being read. The readers of bitio implement most of these methods.
type Reader interface {
	// Reset assigns data, the part of the column in a new frame. The column keeps data
	// until the next Reset.
	Reset(data []byte)
	// Restart resets the state of the codec.
	Restart()
	// Done reports whether all of the data except padding was read.
	Done() bool
	// Attach sets the number of the column and the Fault that records its first failure.
	Attach(fault *bitio.Fault, column int)
}

// ReadTree is the columns of a stream being read.
type ReadTree struct {
	Tree[Reader]
	fault     bitio.Fault
	sizeFault bitio.Fault // fault in the size table of the frame

	// full lists the columns that may have data. It is short in small frames, because most
	// columns are empty. During Split, stale is the list of the previous frame, and full the
	// list of the new frame.
	full, stale []int32
	frames      uint32  // never 0 while a frame is read
	lacking     []int32 // columns that may read granted bits beyond their end
}

// Errors of Split and Finish.
var (
	ErrSizeTable = errors.New("the size table is damaged")
	ErrSizes     = errors.New("the columns do not fit the frame")
	ErrTrailing  = errors.New("bytes follow the last column")
	ErrUnread    = errors.New("a column has data after the last record")
)

// Attach assigns each column its number and the Fault of the tree.
func (t *ReadTree) Attach() {
	if n := len(t.nodes); cap(t.lacking) < n {
		if cap(t.nodes) > n {
			t.nodes = append(make([]node[Reader], 0, n), t.nodes...) // release spare capacity: idle streams must need little memory
		}
		room := make([]int32, 3*n)
		t.full, t.stale, t.lacking = room[:0:n], room[n:n:2*n], room[2*n:2*n]
	}
	t.lacking = t.lacking[:0]
	for n := range t.nodes {
		t.nodes[n].codec.Attach(&t.fault, n)
		if _, ok := t.nodes[n].codec.(shorter); ok {
			t.lacking = append(t.lacking, int32(n))
		}
	}
	t.allFull()
}

// nextFrame counts a frame. When the counter overflows, it resets the counters of all
// columns, so that no column seems to have data of the new frame.
func (t *ReadTree) nextFrame() {
	if t.frames++; t.frames == 0 {
		for n := range t.nodes {
			t.nodes[n].frame = 0
		}
		t.frames = 1
	}
}

// allFull sets full to all columns. Use it when any of them may have data, for example after a
// failure.
func (t *ReadTree) allFull() {
	t.full = t.full[:0]
	for n := range t.nodes {
		t.full = append(t.full, int32(n))
	}
}

// Fault returns the Fault that records the first failure of the columns.
func (t *ReadTree) Fault() *bitio.Fault { return &t.fault }

// Split assigns the data of a frame to the columns; payload begins with the size
// table. On failure it returns the number of the column with the error.
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
	t.nextFrame()
	t.full, t.stale = t.stale[:0], t.full
	if n, err := t.split(&table, data); err != nil {
		t.allFull()
		return n, err
	}
	for _, n := range t.stale {
		if node := &t.nodes[n]; node.frame != t.frames {
			node.codec.Reset(nil)
		}
	}
	if t.fault.Short {
		t.fault.Short = false
		for _, n := range t.lacking { // a column without data may have read granted bits
			if node := &t.nodes[n]; node.frame != t.frames && node.codec.(shorter).Short() {
				node.codec.Reset(nil)
			}
		}
	}
	return 0, nil
}

// split assigns data to the columns that have an entry in the size table.
func (t *ReadTree) split(table *bitio.BitReader, data []byte) (column int, err error) {
	for n := 0; n < len(t.nodes); {
		node := &t.nodes[n]
		size := table.ReadCompact()
		if t.sizeFault.Code != bitio.FaultNone {
			return n, ErrSizeTable
		}
		if size == 0 {
			n = int(node.end)
			continue
		}
		if size > uint64(len(data)) {
			return n, ErrSizes
		}
		node.codec.Reset(data[:size:size])
		node.frame = t.frames
		t.full = append(t.full, int32(n))
		data = data[size:]
		n++
	}
	if !table.Done() {
		return -1, ErrSizeTable
	}
	if len(data) > 0 {
		return -1, ErrTrailing
	}
	return 0, nil
}

// Finish checks that the records of a frame consumed all columns. It returns ErrUnread
// and the number of the first column with unread data. If a oneof column was short,
// unread data is allowed: the missing choices could have consumed it.
func (t *ReadTree) Finish() (column int, err error) {
	for _, n := range t.full {
		if !t.nodes[n].codec.Done() && !t.short() {
			return int(n), ErrUnread
		}
	}
	return 0, nil
}

// Release drops the references of the columns to the data of the last frame.
func (t *ReadTree) Release() {
	for _, n := range t.full {
		t.nodes[n].codec.Reset(nil)
	}
}

// shorter is a column that can report missing bits at its end, see bitio.BitReader.Short.
type shorter interface{ Short() bool }

func (t *ReadTree) short() bool {
	for _, n := range t.lacking {
		if t.nodes[n].codec.(shorter).Short() {
			return true
		}
	}
	return false
}

// Restart resets the state of all codecs.
//
// spec: #restart
func (t *ReadTree) Restart() {
	for n := range t.nodes {
		t.nodes[n].codec.Restart()
	}
}
