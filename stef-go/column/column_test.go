// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package column_test

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/column"
)

// written is a column of a WriteTree whose data is a text.
type written struct {
	text      string
	restarted int
	expected  int
}

func (w *written) Len() int                   { return len(w.text) }
func (w *written) AppendTo(dst []byte) []byte { return append(dst, w.text...) }
func (w *written) Reset()                     { w.text = "" }
func (w *written) Restart()                   { w.restarted++ }
func (w *written) Expect(n int)               { w.expected = n }
func (w *written) Release()                   { w.text = "" }

// read is a column of a ReadTree that stores its data.
type read struct {
	data      string
	set       bool
	done      bool
	short     bool
	restarted int
	bitio.Source
}

func (r *read) Reset(data []byte) { r.data, r.set = string(data), true }
func (r *read) Restart()          { r.restarted++ }
func (r *read) Done() bool        { return r.done }
func (r *read) Short() bool       { return r.short }

type builder[C any] interface {
	Add(name string, codec C) int
	Open(name string, codec C) int
	Close()
	Len() int
}

// build builds a tree from a text such as "a(b c(d) [])". The children of a column are in brackets after
// it. build returns the columns in order.
func build[C any](t builder[C], shape string, make func() C) []C {
	var columns []C
	for _, word := range strings.Fields(strings.ReplaceAll(strings.ReplaceAll(shape, "(", " ( "), ")", " ) ")) {
		switch word {
		case ")":
			t.Close()
			continue
		case "(":
			continue
		}
		c := make()
		columns = append(columns, c)
		if strings.Contains(shape, word+"(") {
			t.Open(word, c)
		} else {
			t.Add(word, c)
		}
	}
	return columns
}

const shape = "root(a(b c(d)) e(f) g)"

// writeTree returns a tree with the structure that the constant shape describes. Its columns hold
// texts, in order.
func writeTree(texts ...string) (*column.WriteTree, []*written) {
	tree := new(column.WriteTree)
	var all []*written
	build(tree, shape, func() column.Writer {
		w := new(written)
		all = append(all, w)
		return w
	})
	for i, text := range texts {
		all[i].text = text
	}
	return tree, all
}

func readTree() (*column.ReadTree, []*read) {
	tree := new(column.ReadTree)
	var all []*read
	build(tree, shape, func() column.Reader {
		r := new(read)
		all = append(all, r)
		return r
	})
	tree.Attach()
	return tree, all
}

func TestTree(t *testing.T) {
	tree, all := writeTree()
	require.Equal(t, 8, tree.Len())
	f := func(n int, path string) {
		t.Helper()
		require.Equal(t, path, tree.Path(n))
		require.Same(t, all[n], tree.Codec(n))
	}
	f(0, "root")
	f(1, "root.a")
	f(2, "root.a.b")
	f(3, "root.a.c")
	f(4, "root.a.c.d")
	f(5, "root.e")
	f(6, "root.e.f")
	f(7, "root.g")
	require.Empty(t, tree.Path(-1))
	require.Empty(t, tree.Path(8))

	var arrays column.ReadTree
	build(&arrays, "root(list([](x)))", func() column.Reader { return new(read) })
	require.Equal(t, "root.list[].x", arrays.Path(3))
}

// payload returns the size table and the data of a tree.
func payload(t testing.TB, tree *column.WriteTree) []byte {
	t.Helper()
	out, size := tree.AppendSizes([]byte{})
	head := len(out)
	require.NoError(t, tree.Each(func(w column.Writer, n int) error {
		require.Equal(t, w.Len(), n)
		require.Positive(t, n)
		out = w.AppendTo(out)
		return nil
	}))
	require.Equal(t, size, len(out)-head)
	return out
}

func TestSizeTable(t *testing.T) {
	f := func(sizes, data string, wrote ...string) {
		t.Helper()
		tree, _ := writeTree(wrote...)
		bits := strings.ReplaceAll(sizes, " ", "")
		bits += strings.Repeat("0", -len(bits)&7)
		want := []byte{byte(len(bits) / 8)}
		for ; bits != ""; bits = bits[8:] {
			var b byte
			for _, c := range bits[:8] {
				b = b<<1 | byte(c-'0')
			}
			want = append(want, b)
		}
		want = append(want, data...)
		require.Equal(t, want, payload(t, tree))

		back, columns := readTree()
		_, err := back.Split(want)
		require.NoError(t, err)
		for i, c := range columns {
			require.True(t, c.set, "columns without data are reset, too")
			text := ""
			if i < len(wrote) {
				text = wrote[i]
			}
			require.Equal(t, text, c.data, back.Path(i))
		}
	}
	// If the root column is empty, the size table has only the entry of the root.
	f("1", "")
	// a and e are empty, so the columns below them have no sizes.
	f("0101 1 1 1", "R", "R")
	f("0101 1 1 0110", "RGG", "R", "", "", "", "", "", "", "GG")
	// The size table has an entry for each child of a column with data, even if the child is empty.
	f("0101 0101 1 1 1 1", "RA", "R", "A")
	f("0101 0101 0101 0101 0101 0101 0101 0101", "RABCDEFG", "R", "A", "B", "C", "D", "E", "F", "G")
	f("0101 0101 1 0111 1 1 1", "RAccc", "R", "A", "", "ccc")
	f("0101 1 00100100 1 1", "Reeee", "R", "", "", "", "", "eeee")
}

func TestAppendPreservesPrefix(t *testing.T) {
	tree, _ := writeTree("R")
	out, size := tree.AppendSizes([]byte("before"))
	require.Equal(t, "before\x01\x5e", string(out))
	require.Equal(t, 1, size)
}

func TestEachStopsAtAnError(t *testing.T) {
	tree, _ := writeTree("R", "A", "B")
	stop := errors.New("stop")
	visits := 0
	tree.AppendSizes(nil)
	require.ErrorIs(t, tree.Each(func(column.Writer, int) error {
		visits++
		return stop
	}), stop)
	require.Equal(t, 1, visits)
}

func TestWriteTreeForAll(t *testing.T) {
	tree, all := writeTree("R", "AA", "", "CCC")
	require.Equal(t, 6, tree.Size())
	require.Equal(t, []int{1, 2, 0, 3, 0, 0, 0, 0}, tree.Sizes(make([]int, 2)))
	tree.Expect([]int{7, 8, 9})
	tree.Restart()
	tree.Reset()
	require.Zero(t, tree.Size())
	for i, w := range all {
		require.Equal(t, 1, w.restarted)
		require.Equal(t, []int{7, 8, 9, 0, 0, 0, 0, 0}[i], w.expected)
	}
	tree.Expect(make([]int, 100))
}

func TestSplitRefuses(t *testing.T) {
	f := func(data string, column int, want error) {
		t.Helper()
		tree, _ := readTree()
		b, err := hex.DecodeString(strings.ReplaceAll(data, " ", ""))
		require.NoError(t, err)
		n, err := tree.Split(b)
		require.Equal(t, want, err)
		require.Equal(t, column, n)
		require.Equal(t, bitio.FaultNone, tree.Fault().Code, "a wrong size table is no fault of a column")
	}
	ok := func(data string) {
		t.Helper()
		f(data, 0, nil)
	}
	ok("01 80")
	ok("01 5e 52") // 0101 1 1 1 and padding

	// The size of the table is cut off or too large.
	f("", -1, column.ErrSizeTable)
	f("80", -1, column.ErrSizeTable)
	f("02 80", -1, column.ErrSizeTable)
	f("ff ff ff ff ff ff ff ff ff 01 80", -1, column.ErrSizeTable)
	f("ff ff ff ff ff ff ff ff ff 02 80", -1, column.ErrSizeTable)

	// The table ends too early. The reference implementation reads the missing bits as zeros.
	f("00", 0, column.ErrSizeTable)
	f("01 55 52 41", 2, column.ErrSizeTable)

	// The padding of the table is wrong: it has bits that are not zero, or whole bytes.
	f("01 81", -1, column.ErrSizeTable)
	f("01 c0", -1, column.ErrSizeTable)
	f("02 80 00", -1, column.ErrSizeTable)

	// The table has an invalid code.
	f("02 00 00", 0, column.ErrSizeTable)

	// The sizes are larger or smaller than the data.
	f("01 5e", 0, column.ErrSizes)
	f("01 55 52", 1, column.ErrSizes)
	f("08 01 ff ff ff ff ff ff 80 52", 0, column.ErrSizes)
	f("01 5e 52 52", -1, column.ErrTrailing)
	f("01 80 00", -1, column.ErrTrailing)
}

func TestSplitRefusesEveryCut(t *testing.T) {
	tree, _ := writeTree("R", "AA", "", "CCC", "D", "", "", strings.Repeat("g", 40))
	whole := payload(t, tree)
	for n := range whole {
		back, _ := readTree()
		_, err := back.Split(whole[:n])
		require.Error(t, err, "%d of %d bytes", n, len(whole))
	}
	back, _ := readTree()
	_, err := back.Split(append(whole, 0))
	require.Equal(t, column.ErrTrailing, err)
}

func TestSplitAgainstRandomTrees(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		var texts []string
		for range 8 {
			text := ""
			if rnd.IntN(3) > 0 {
				text = strings.Repeat(string(rune('a'+rnd.IntN(26))), rnd.IntN(70)*rnd.IntN(70))
			}
			texts = append(texts, text)
		}
		// A column below a column without data has no data.
		for child, parent := range []int{0, 0, 1, 1, 3, 0, 5, 0} {
			if texts[parent] == "" {
				texts[child] = ""
			}
		}
		tree, _ := writeTree(texts...)
		back, columns := readTree()
		_, err := back.Split(payload(t, tree))
		require.NoError(t, err)
		for i, c := range columns {
			require.Equal(t, texts[i], c.data)
		}
	}
}

func TestFinish(t *testing.T) {
	f := func(column int, want error, set func(columns []*read)) {
		t.Helper()
		tree, columns := readTree()
		for _, c := range columns {
			c.done = true
		}
		set(columns)
		n, err := tree.Finish()
		require.Equal(t, want, err)
		require.Equal(t, column, n)
	}
	f(0, nil, func([]*read) {})
	f(3, column.ErrUnread, func(c []*read) { c[3].done = false })
	f(2, column.ErrUnread, func(c []*read) { c[5].done, c[2].done = false, false })
	// If bits are missing at the end of a oneof column, unread data in other columns is no error.
	f(0, nil, func(c []*read) { c[1].short, c[4].done = true, false })
}

func TestReadTreeForAll(t *testing.T) {
	tree, columns := readTree()
	tree.Restart()
	for i, c := range columns {
		require.Equal(t, 1, c.restarted)
		*tree.Fault() = bitio.Fault{}
		c.Fail(bitio.FaultRef)
		require.Equal(t, bitio.Fault{Code: bitio.FaultRef, Column: i}, *tree.Fault())
	}
}

// FuzzSplit splits any bytes into columns. If they are valid, writing the columns again must produce the
// same data, and a size table that is not longer.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("\x01\x80"))
	f.Add([]byte("\x01\x5eR"))
	f.Add([]byte("\x04\x55\x55\x55\x55RABCDEFG"))
	f.Add([]byte("\x07\x01\xff\xff\xff\xff\xff\xff\x80"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, columns := readTree()
		if _, err := tree.Split(data); err != nil {
			return
		}
		var texts []string
		for _, c := range columns {
			texts = append(texts, c.data)
		}
		out, written := writeTree(texts...)
		size := 0
		for _, w := range written {
			size += len(w.text)
		}
		again := payload(t, out)
		require.LessOrEqual(t, len(again), len(data), "the table may have sizes in longer classes than needed")
		require.Equal(t, string(data[len(data)-size:]), string(again[len(again)-size:]))
	})
}

type bitColumn struct{ bitio.BitReader }

func (*bitColumn) Restart() {}

// If a frame has no data for a column, the column is empty. This holds even if it had data in the
// previous frame, or was read beyond its end.
func TestColumnsAreEmptiedBetweenFrames(t *testing.T) {
	var tree column.ReadTree
	var a, b bitColumn
	tree.Open("R", new(bitColumn))
	tree.Add("A", &a)
	tree.Add("B", &b)
	tree.Close()
	tree.Attach()
	frame := func(sizes ...uint64) []byte {
		var table bitio.BitWriter
		data := []byte{}
		for _, size := range sizes {
			table.WriteCompact(size)
			for range size {
				data = append(data, 0)
			}
		}
		return append(table.AppendTo(bitio.AppendUvarint(nil, uint64(table.Len()))), data...)
	}
	split := func(sizes ...uint64) {
		t.Helper()
		_, err := tree.Split(frame(sizes...))
		require.NoError(t, err)
	}
	split(1, 1, 1)
	require.Equal(t, 8, a.Left())
	split(1, 0, 1)
	require.Zero(t, a.Left())
	require.Equal(t, 8, b.Left())
	a.Grant(5)
	a.Read(3)
	require.True(t, a.Short())
	split(1, 0, 0)
	require.Zero(t, a.Left())
	require.False(t, a.Short())
	require.Zero(t, b.Left())
	_, err := tree.Split([]byte{1})
	require.Error(t, err)
	split(0)
	require.Zero(t, a.Left())
	require.Zero(t, b.Left())
}
