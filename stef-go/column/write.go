// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package column

import "github.com/otelstef/stef/stef-go/bitio"

// Writer is a column being written. The writers of bitio implement most of these methods.
type Writer interface {
	// Len returns the size of the column in bytes if the frame ended now.
	Len() int
	// AppendTo appends the column, padded to a byte, to dst.
	AppendTo(dst []byte) []byte
	// Reset empties the column for the next frame.
	Reset()
	// Restart resets the state of the codec.
	Restart()
	// Expect sets the likely size of the column in a frame, in bytes.
	Expect(n int)
	// Release empties the column and releases its memory.
	Release()
}

// WriteTree is the columns of a stream being written.
type WriteTree struct {
	Tree[Writer]
	sizes bitio.BitWriter
	full  []fullColumn // columns with data in the frame, set by AppendSizes
	data  int          // bytes of the columns in full
}

type fullColumn struct {
	Writer
	size int
}

// AppendSizes appends the size of the size table, and then the size table, to dst. It
// returns the result and the number of bytes of the columns. Columns below a column of
// size 0 have no entry in the table.
//
// spec: #column-omission
func (t *WriteTree) AppendSizes(dst []byte) (out []byte, data int) {
	t.sizes.Reset()
	t.full = t.full[:0]
	for n := 0; n < len(t.nodes); {
		node := &t.nodes[n]
		size := node.codec.Len()
		if size == 0 { // most columns of small frames
			t.sizes.Write(1, 1) // the same as WriteCompact(0), which the compiler does not inline
			n = int(node.end)
			continue
		}
		t.sizes.WriteCompact(uint64(size))
		t.full = append(t.full, fullColumn{node.codec, size})
		data += size
		n++
	}
	t.data = data
	dst = bitio.AppendUvarint(dst, uint64(t.sizes.Len()))
	return t.sizes.AppendTo(dst), data
}

// Each calls visit, in order, for every column that had data at the last call of AppendSizes.
func (t *WriteTree) Each(visit func(w Writer, size int) error) error {
	for _, c := range t.full {
		if err := visit(c.Writer, c.size); err != nil {
			return err
		}
	}
	return nil
}

// EndFrame empties the columns that had data at AppendSizes. All other columns are already
// empty; in small frames these are most of the columns.
func (t *WriteTree) EndFrame() {
	for _, c := range t.full {
		c.Reset()
	}
}

// FrameData returns the size of all columns at the last AppendSizes, in bytes.
func (t *WriteTree) FrameData() int { return t.data }

// Sizes returns the size of each column in bytes. It reuses the memory of dst.
func (t *WriteTree) Sizes(dst []int) []int {
	dst = dst[:0]
	for n := range t.nodes {
		dst = append(dst, t.nodes[n].codec.Len())
	}
	return dst
}

// Expect sets the likely sizes of the columns.
func (t *WriteTree) Expect(sizes []int) {
	for n := range min(len(sizes), len(t.nodes)) {
		t.nodes[n].codec.Expect(sizes[n])
	}
}

// Size returns the number of bytes of all columns if the frame ended now.
func (t *WriteTree) Size() int {
	total := 0
	for n := range t.nodes {
		total += t.nodes[n].codec.Len()
	}
	return total
}

// Reset empties all columns for the next frame.
func (t *WriteTree) Reset() {
	for n := range t.nodes {
		t.nodes[n].codec.Reset()
	}
}

// Release empties all columns and releases their memory.
func (t *WriteTree) Release() {
	for n := range t.nodes {
		t.nodes[n].codec.Release()
	}
}

// Restart resets the state of all codecs.
//
// spec: #restart
func (t *WriteTree) Restart() {
	for n := range t.nodes {
		t.nodes[n].codec.Restart()
	}
}
