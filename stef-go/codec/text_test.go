// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
)

// plain returns values encoded as a column without a dictionary. It checks that text and bytes have the
// same encoding.
func plain(t testing.TB, values []string) []byte {
	t.Helper()
	var usage codec.Usage
	var text codec.StringEncoder
	var raw codec.BytesEncoder
	text.Init(&usage)
	raw.Init(&usage)
	size := 0
	for _, v := range values {
		text.Encode(v)
		raw.Encode([]byte(v))
		size += len(v)
	}
	text.Restart()
	raw.Restart()
	require.Equal(t, 2*size, usage.Frame)
	require.Equal(t, text.AppendTo([]byte{}), raw.AppendTo([]byte{}))
	return text.AppendTo([]byte{})
}

func requirePlain(t testing.TB, data []byte, values []string) {
	t.Helper()
	var text codec.StringDecoder
	var raw codec.BytesDecoder
	textFault, rawFault := open(&text, data), open(&raw, data)
	var buf []byte
	for _, v := range values {
		require.Equal(t, v, text.Decode())
		text.Restart()
		raw.Restart()
		buf = raw.Decode(append(buf[:0], "kept "...))
		require.Equal(t, "kept "+v, string(buf))
	}
	require.True(t, text.Done())
	require.True(t, raw.Done())
	require.Equal(t, bitio.FaultNone, textFault.Code)
	require.Equal(t, bitio.FaultNone, rawFault.Code)
}

func TestText(t *testing.T) {
	f := func(want string, values ...string) {
		t.Helper()
		require.Equal(t, unhex(t, want), plain(t, values))
		require.Equal(t, naiveText(values), plain(t, values))
		requirePlain(t, unhex(t, want), values)
	}
	f("00", "")
	f("04 78 79", "xy")
	f("04 78 79 04 78 79", "xy", "xy")
	f("02 ff 00 06 00 01 02", "\xff", "", "\x00\x01\x02")
	long := strings.Repeat("x", 64)
	f("80 01 "+strings.Repeat("78", 64), long)
}

func TestTextRefuses(t *testing.T) {
	f := func(code bitio.FaultCode, data string) {
		t.Helper()
		want := bitio.Fault{Code: code, Column: 3}
		var text codec.StringDecoder
		fault := open(&text, unhex(t, data))
		require.Empty(t, text.Decode())
		require.Equal(t, want, *fault)
		require.Empty(t, text.Decode())

		var raw codec.BytesDecoder
		fault = open(&raw, unhex(t, data))
		require.Equal(t, "kept", string(raw.Decode([]byte("kept"))))
		require.Equal(t, want, *fault)

		var limit codec.DictLimit
		var textTable codec.StringTable
		var textDict codec.StringDictDecoder
		textTable.Init(&limit)
		textDict.Init(&textTable)
		fault = open(&textDict, unhex(t, data))
		require.Empty(t, textDict.Decode())
		if code != bitio.FaultLength {
			require.Equal(t, want, *fault)
		}
		require.Zero(t, textTable.Len())

		var rawTable codec.BytesTable
		var rawDict codec.BytesDictDecoder
		rawTable.Init(&limit, new(codec.Alloc))
		rawDict.Init(&rawTable)
		fault = open(&rawDict, unhex(t, data))
		require.Equal(t, "kept", string(rawDict.Decode([]byte("kept"))))
		if code != bitio.FaultLength {
			require.Equal(t, want, *fault)
		}
		require.Zero(t, rawTable.Len())
		require.Zero(t, limit.Used)
	}
	f(bitio.FaultEnd, "")
	f(bitio.FaultEnd, "80")
	f(bitio.FaultEnd, "02")
	f(bitio.FaultEnd, "06 61 62")
	f(bitio.FaultEnd, "fe ff ff ff ff ff ff ff ff 01")
	f(bitio.FaultOverflow, "ff ff ff ff ff ff ff ff ff 02")
	f(bitio.FaultLength, "01")
	f(bitio.FaultLength, "03 61 62")
}

// TestStringsOfAFrame: decoded strings do not change when the data of their column is overwritten.
func TestStringsOfAFrame(t *testing.T) {
	var d codec.StringDecoder
	data := plain(t, []string{"first", "second"})
	fault := open(&d, data)
	first := d.Decode()
	clear(data)
	require.Equal(t, "first", first)
	d.Reset(plain(t, []string{"third"}))
	require.Equal(t, "third", d.Decode())
	require.Equal(t, "first", first)
	require.Equal(t, bitio.FaultNone, fault.Code)
}

// dictEncoders has two text columns that share a dictionary, and two bytes columns that
// share another dictionary. All columns receive the same values.
type dictEncoders struct {
	usage    codec.Usage
	textDict codec.StringDict
	rawDict  codec.BytesDict
	text     [2]codec.StringDictEncoder
	raw      [2]codec.BytesDictEncoder
}

func newDictEncoders() *dictEncoders {
	e := new(dictEncoders)
	e.textDict.Init(&e.usage)
	e.rawDict.Init(&e.usage)
	for i := range e.text {
		e.text[i].Init(&e.textDict)
		e.raw[i].Init(&e.rawDict)
	}
	return e
}

func (e *dictEncoders) encode(column int, v string) {
	e.text[column].Encode(v)
	raw := []byte(v)
	e.raw[column].Encode(raw)
	clear(raw) // the dictionary has a copy
}

func (e *dictEncoders) column(t testing.TB, column int) []byte {
	t.Helper()
	text := e.text[column].AppendTo([]byte{})
	require.Equal(t, text, e.raw[column].AppendTo([]byte{}))
	require.Equal(t, e.textDict.Len(), e.rawDict.Len())
	e.text[column].Restart()
	e.raw[column].Restart()
	e.text[column].Reset()
	e.raw[column].Reset()
	return text
}

func (e *dictEncoders) restart() {
	e.textDict.Restart()
	e.rawDict.Restart()
	e.usage.Dict = 0
}

// dictDecoders has the decoders for the columns of dictEncoders.
type dictDecoders struct {
	limit     codec.DictLimit
	alloc     codec.Alloc
	textTable codec.StringTable
	rawTable  codec.BytesTable
	text      [2]codec.StringDictDecoder
	raw       [2]codec.BytesDictDecoder
}

func newDictDecoders(limit int) *dictDecoders {
	d := &dictDecoders{limit: codec.DictLimit{Max: limit}, alloc: codec.Alloc{Left: 1 << 20, Max: 1 << 20}}
	d.textTable.Init(&d.limit)
	d.rawTable.Init(&d.limit, &d.alloc)
	for i := range d.text {
		d.text[i].Init(&d.textTable)
		d.raw[i].Init(&d.rawTable)
	}
	return d
}

func (d *dictDecoders) open(column int, data []byte) (text, raw *bitio.Fault) {
	return open(&d.text[column], data), open(&d.raw[column], data)
}

func (d *dictDecoders) requireNext(t testing.TB, column int, want string) {
	t.Helper()
	require.Equal(t, want, d.text[column].Decode())
	require.Equal(t, "kept "+want, string(d.raw[column].Decode([]byte("kept "))))
	d.text[column].Restart()
	d.raw[column].Restart()
}

func (d *dictDecoders) restart() {
	d.textTable.Restart()
	d.rawTable.Restart()
	d.limit.Used = 0
}

func TestDict(t *testing.T) {
	f := func(want string, entries int, values ...string) {
		t.Helper()
		e := newDictEncoders()
		for _, v := range values {
			e.encode(0, v)
		}
		require.Equal(t, entries, e.textDict.Len())
		data := e.column(t, 0)
		require.Equal(t, unhex(t, want), data)
		require.Equal(t, naiveDict(new([]string), values), data)

		d := newDictDecoders(1 << 20)
		text, raw := d.open(0, data)
		for _, v := range values {
			d.requireNext(t, 0, v)
		}
		require.True(t, d.text[0].Done())
		require.True(t, d.raw[0].Done())
		require.Equal(t, entries, d.textTable.Len())
		require.Equal(t, entries, d.rawTable.Len())
		require.Equal(t, e.usage.Dict, d.limit.Used, "both sides count the same")
		require.Equal(t, bitio.FaultNone, text.Code)
		require.Equal(t, bitio.FaultNone, raw.Code)
	}
	f("00", 0, "")
	f("04 61 62 02 63 01", 1, "ab", "c", "ab")
	f("04 7a 7a 02 71", 1, "zz", "q")
	f("04 61 62 04 63 64 01 02 65 02 65 00", 2, "ab", "cd", "ab", "e", "e", "")
	f("0a 68 65 6c 6c 6f 01 01", 1, "hello", "hello", "hello")
	f("04 61 61 04 62 62 04 63 63 05 03 01", 3, "aa", "bb", "cc", "cc", "bb", "aa")
}

func TestDictReferences(t *testing.T) {
	e := newDictEncoders()
	var want []byte
	for i := range 70 {
		v := fmt.Sprintf("%02d", i)
		e.encode(0, v)
		want = append(append(want, 4), v...)
	}
	for _, i := range []int{0, 1, 2, 63, 64, 69} {
		e.encode(0, fmt.Sprintf("%02d", i))
	}
	require.Equal(t, append(want, unhex(t, "01 03 05 7f 81 01 8b 01")...), e.column(t, 0))
}

// TestDictIsShared: if two columns share a dictionary, its entries have numbers in the order of the
// calls, whatever the column.
func TestDictIsShared(t *testing.T) {
	e := newDictEncoders()
	e.encode(0, "ab")
	e.encode(1, "cd")
	e.encode(0, "cd")
	e.encode(1, "ab")
	first, second := e.column(t, 0), e.column(t, 1)
	require.Equal(t, unhex(t, "04 61 62 03"), first)
	require.Equal(t, unhex(t, "04 63 64 01"), second)

	d := newDictDecoders(1 << 20)
	d.open(0, first)
	d.open(1, second)
	d.requireNext(t, 0, "ab")
	d.requireNext(t, 1, "cd")
	d.requireNext(t, 0, "cd")
	d.requireNext(t, 1, "ab")
}

func TestDictRestart(t *testing.T) {
	e := newDictEncoders()
	e.encode(0, "ab")
	e.encode(0, "cd")
	require.Equal(t, 2*2*(2+codec.EntryOverhead), e.usage.Dict)
	e.restart()
	require.Zero(t, e.textDict.Len())
	e.encode(0, "cd")
	e.encode(0, "cd")
	data := e.column(t, 0)
	require.Equal(t, unhex(t, "04 61 62 04 63 64 04 63 64 01"), data)

	d := newDictDecoders(1 << 20)
	d.open(0, data)
	d.requireNext(t, 0, "ab")
	d.requireNext(t, 0, "cd")
	d.restart()
	require.Zero(t, d.textTable.Len())
	d.requireNext(t, 0, "cd")
	d.requireNext(t, 0, "cd")
}

// TestDictKeepsSharedEntries: a writer may send a text in full although the dictionary already has it. The
// reader then adds a second entry with this text.
func TestDictKeepsSharedEntries(t *testing.T) {
	d := newDictDecoders(1 << 20)
	d.open(0, unhex(t, "04 61 62 04 61 62 04 63 64 05"))
	for _, v := range []string{"ab", "ab", "cd", "cd"} {
		d.requireNext(t, 0, v)
	}
	require.Equal(t, 3, d.textTable.Len())
}

func TestDictRefuses(t *testing.T) {
	f := func(code bitio.FaultCode, limit int, before int, data string) {
		t.Helper()
		d := newDictDecoders(limit)
		text, _ := d.open(0, unhex(t, data))
		for range before {
			d.text[0].Decode()
			require.Equal(t, bitio.FaultNone, text.Code)
		}
		require.Empty(t, d.text[0].Decode())
		require.Equal(t, bitio.Fault{Code: code, Column: 3}, *text)

		d = newDictDecoders(limit)
		_, raw := d.open(0, unhex(t, data))
		for range before {
			d.raw[0].Decode(nil)
			require.Equal(t, bitio.FaultNone, raw.Code)
		}
		require.Equal(t, "kept", string(d.raw[0].Decode([]byte("kept"))))
		require.Equal(t, bitio.Fault{Code: code, Column: 3}, *raw)
	}
	f(bitio.FaultRef, 1<<20, 0, "01")
	f(bitio.FaultRef, 1<<20, 0, "ff ff ff ff ff ff ff ff ff 01")
	f(bitio.FaultRef, 1<<20, 1, "04 61 62 03")
	f(bitio.FaultRef, 1<<20, 1, "02 61 01")

	const ab = 2 + codec.EntryOverhead
	f(bitio.FaultDictSize, ab-1, 0, "04 61 62")
	f(bitio.FaultDictSize, ab, 1, "04 61 62 04 63 64")
	f(bitio.FaultDictSize, 2*ab-1, 1, "04 61 62 04 61 62")
}

func TestDictAgainstNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 40 {
		e, d := newDictEncoders(), newDictDecoders(1<<30)
		var entries []string
		for range 3 {
			if rnd.IntN(3) == 0 {
				e.restart()
				d.restart()
				entries = nil
			}
			var values []string
			for range rnd.IntN(200) {
				// Use few lengths and letters, so that many texts are in the dictionary.
				n := rnd.IntN(5)
				b := make([]byte, n)
				for i := range b {
					b[i] = "aiq"[rnd.IntN(3)]
				}
				values = append(values, string(b))
				e.encode(0, string(b))
			}
			data := e.column(t, 0)
			require.Equal(t, naiveDict(&entries, values), data)
			d.open(0, data)
			for _, v := range values {
				d.requireNext(t, 0, v)
			}
		}
	}
}

func TestDictLimit(t *testing.T) {
	l := codec.DictLimit{Max: 10}
	require.True(t, l.Take(4))
	require.True(t, l.Take(6))
	require.False(t, l.Take(1))
	require.False(t, l.Take(0), "the limit stays exceeded")
}

// TestBytesDictKeepsNothing: after a value of bytes was written, the caller may reuse its memory. The
// dictionary has a copy.
func TestBytesDictKeepsNothing(t *testing.T) {
	for _, n := range []int{2, 8, 16, 17, 100, 5000} {
		var usage codec.Usage
		var dict codec.BytesDict
		dict.Init(&usage)
		var e codec.BytesDictEncoder
		e.Init(&dict)
		v := bytes.Repeat([]byte{'a'}, n)
		e.Encode(v)
		for i := range v {
			v[i] = 'b'
		}
		e.Encode(v)
		require.Equal(t, 2, dict.Len(), n)
	}
}
