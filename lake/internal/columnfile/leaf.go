// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package columnfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/klauspost/compress/zstd"
)

const (
	// A page ends after the batch with which the page reaches one of these sizes.
	pageSlots = 1 << 16
	pageBytes = 1 << 20
	// maxDictionary is the maximum size of the dictionary of a column in a row group. Once a
	// dictionary exceeds this size, later values are written without a dictionary.
	maxDictionary = 1 << 20
)

type page struct {
	data         []byte
	slots        int
	uncompressed int
	encoding     parquet.Encoding
}

// leaf collects the pages of a leaf column in a row group.
type leaf struct {
	col    *schema.Column
	zstd   *zstd.Encoder // nil without compression
	width  int           // size of a fixed value in bytes; 0 for other types
	isBool bool
	// dictionaries is set if values are written as indexes of a dictionary.
	dictionaries bool
	dict         *dictionary // nil once values are written without a dictionary

	rep, def []uint8
	indexes  []uint32
	plain    []byte
	bools    []uint8

	pages  []page
	closed *dictionary // dictionary of pages, kept when dict becomes nil
	limits limits
	nulls  int64
	words  []uint32 // scratch: indexes of the dictionary of a batch
}

func newLeaf(col *schema.Column, t arrow.DataType, dictionaries bool, encoder *zstd.Encoder) (*leaf, error) {
	l := &leaf{col: col, zstd: encoder, dictionaries: dictionaries}
	switch t := t.(type) {
	case *arrow.StringType, *arrow.BinaryType:
	case *arrow.BooleanType:
		l.isBool, l.dictionaries = true, false
	case arrow.FixedWidthDataType:
		if l.width = t.BitWidth() / 8; l.width < 4 {
			return nil, fmt.Errorf("columnfile: column %s has the unsupported type %s", col.Path(), t)
		}
	default:
		return nil, fmt.Errorf("columnfile: column %s has the unsupported type %s", col.Path(), t)
	}
	l.limits.of = orderOf(t)
	if col.MaxRepetitionLevel() > 0 {
		l.limits.of = orderNone // no reader skips row groups by the limits of list elements
	}
	if l.dictionaries {
		l.closed = new(dictionary)
	}
	l.reset()
	return l, nil
}

// reset begins a row group.
func (l *leaf) reset() {
	l.pages, l.nulls = l.pages[:0], 0
	l.limits.reset()
	if l.dictionaries {
		l.closed.reset()
		l.dict = l.closed
	}
}

// add appends the slots of a batch. The array a contains the values of these slots.
func (l *leaf) add(a arrow.Array, s slots) {
	l.def = append(l.def, s.def...)
	if l.col.MaxRepetitionLevel() > 0 {
		l.rep = append(l.rep, s.rep...)
	}
	switch a := a.(type) {
	case *array.Dictionary:
		l.addWords(a, s.at)
	case *array.String:
		l.addTexts(a.Value, s.at)
	case *array.Binary:
		l.addTexts(a.ValueString, s.at)
	case *array.Boolean:
		for _, at := range s.at {
			if at >= 0 {
				l.bools = append(l.bools, bit(a.Value(int(at))))
			} else {
				l.nulls++
			}
		}
	default:
		l.addFixed(a.Data(), s.at)
	}
	if l.dict != nil && l.dict.bytes > maxDictionary {
		l.endPage()
		l.dict = nil
	}
	if len(l.def) >= pageSlots || len(l.plain) >= pageBytes {
		l.endPage()
	}
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func (l *leaf) addWords(a *array.Dictionary, at []int32) {
	words := a.Dictionary().(*array.String)
	indexes := a.Indices().(*array.Uint32)
	if l.dict == nil {
		l.addTexts(func(i int) string { return words.Value(int(indexes.Value(i))) }, at)
		return
	}
	l.words = l.words[:0]
	for i := range words.Len() {
		l.words = append(l.words, l.dict.text(words.Value(i)))
	}
	of := indexes.Uint32Values()
	for _, i := range at {
		if i >= 0 {
			l.indexes = append(l.indexes, l.words[of[i]])
		} else {
			l.nulls++
		}
	}
}

func (l *leaf) addTexts(text func(int) string, at []int32) {
	for _, i := range at {
		switch {
		case i < 0:
			l.nulls++
		case l.dict != nil:
			l.indexes = append(l.indexes, l.dict.text(text(int(i))))
		default:
			s := text(int(i))
			l.plain = binary.LittleEndian.AppendUint32(l.plain, uint32(len(s)))
			l.plain = append(l.plain, s...)
			l.limits.add(l.plain[len(l.plain)-len(s):])
		}
	}
}

func (l *leaf) addFixed(d arrow.ArrayData, at []int32) {
	w := l.width
	var values []byte
	if b := d.Buffers()[1]; b != nil {
		values = b.Bytes()[d.Offset()*w:]
	}
	for _, i := range at {
		if i < 0 {
			l.nulls++
			continue
		}
		v := values[int(i)*w : int(i)*w+w]
		if l.dict != nil {
			l.indexes = append(l.indexes, l.dict.fixed(v))
			continue
		}
		l.limits.add(v)
		l.plain = append(l.plain, v...)
	}
}

// buffers pools memory for pages before and after compression.
var buffers sync.Pool

func (l *leaf) endPage() {
	if len(l.def) == 0 {
		return
	}
	scratch, _ := buffers.Get().(*[2][]byte)
	if scratch == nil {
		scratch = new([2][]byte)
	}
	defer buffers.Put(scratch)
	body := scratch[0][:0]
	body = appendLevels(body, l.rep, int(l.col.MaxRepetitionLevel()))
	body = appendLevels(body, l.def, int(l.col.MaxDefinitionLevel()))
	encoding := parquet.Encodings.Plain
	switch {
	case l.dict != nil:
		encoding = parquet.Encodings.RLEDict
		width := widthOf(max(len(l.dict.ends)-1, 1))
		body = append(body, byte(width))
		body = appendHybrid(body, l.indexes, width)
	case l.isBool:
		body = appendBools(body, l.bools)
	default:
		body = append(body, l.plain...)
	}
	scratch[0] = body
	data := body
	if l.zstd != nil {
		data = l.zstd.EncodeAll(body, scratch[1][:0])
		scratch[1] = data
	}
	l.pages = append(l.pages, page{data: bytes.Clone(data), slots: len(l.def), uncompressed: len(body), encoding: encoding})
	l.rep, l.def, l.indexes, l.plain, l.bools = l.rep[:0], l.def[:0], l.indexes[:0], l.plain[:0], l.bools[:0]
}

// appendLevels appends the size of the encoded levels, followed by the levels. If most, the
// maximum level, is 0, it appends nothing.
func appendLevels(dst []byte, levels []uint8, most int) []byte {
	if most == 0 {
		return dst
	}
	start := len(dst)
	dst = appendHybrid(append(dst, 0, 0, 0, 0), levels, widthOf(most))
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

func appendBools(dst []byte, values []uint8) []byte {
	for len(values) > 0 {
		var b byte
		n := min(len(values), 8)
		for i, v := range values[:n] {
			b |= v << i
		}
		dst, values = append(dst, b), values[n:]
	}
	return dst
}

// statistics returns the smallest and the largest value, and the number of nulls.
func (l *leaf) statistics() metadata.EncodedStatistics {
	var s metadata.EncodedStatistics
	s.SetNullCount(l.nulls)
	s.Signed = schema.SortSIGNED == l.col.SortOrder()
	if low, high, ok := l.limits.get(); ok {
		s.SetMin(low).SetMax(high)
	}
	return s
}
