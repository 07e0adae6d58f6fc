// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"encoding/binary"
	"math"
)

// minDictText is the minimum length of strings and bytes that enter a dictionary. Writers and
// readers must agree on it.
//
// spec: #string-dict
const minDictText = 2

// readDicts are the dictionaries of a Reader by name. References to texts, which are
// strings or bytes, count from 0, references to structs from 1. A column without a
// dictionary uses the name "", whose dictionary stays empty.
//
// spec: #string-dict #struct-dict
type readDicts struct {
	texts   map[string][]any
	structs map[string]*readStructs
	size    int
	limit   int
}

// readStructs is a dictionary of structs. use has counts since the start of the stream. They are not
// reset when the dictionary is emptied.
type readStructs struct {
	entries []*Struct
	use     DictUse
}

// DictUse describes how a stream used a dictionary.
type DictUse struct {
	// Entries is the number of entries that were sent. Most is the largest number of entries that the
	// dictionary had at one time. Refs is the number of references to entries.
	Entries, Most int
	Refs          int64
}

func (d *readDicts) reset() {
	d.texts, d.size = map[string][]any{}, 0
	for _, dict := range d.structs {
		dict.entries = nil
	}
}

func (d *readDicts) structsOf(name string) *readStructs {
	dict := d.structs[name]
	if dict == nil {
		dict = &readStructs{}
		d.structs[name] = dict
	}
	return dict
}

func (d *readDicts) addText(name string, v any) error {
	d.texts[name] = append(d.texts[name], v)
	return d.grow(entryOfText(v))
}

func (d *readDicts) addStruct(name string, v *Struct) error {
	dict := d.structsOf(name)
	dict.entries = append(dict.entries, v)
	dict.use.Entries++
	dict.use.Most = max(dict.use.Most, len(dict.entries))
	return d.grow(entryStruct + v.entry)
}

func (d *readDicts) grow(size int) error {
	d.size += size
	if d.size > d.limit {
		return fault(ErrReaderLimit, "the dictionaries take more than %d bytes", d.limit)
	}
	return nil
}

// writeDicts are the dictionaries of a Writer by name. They map each value that was
// sent to its reference. The key of a struct is its structKey.
type writeDicts struct {
	texts   map[string]map[string]int
	structs map[string]map[string]int
	size    int
}

func (d *writeDicts) reset() {
	d.texts, d.structs, d.size = map[string]map[string]int{}, map[string]map[string]int{}, 0
}

// add adds an entry. key must be new: its reference is computed from the length of the map.
func (d *writeDicts) add(dicts map[string]map[string]int, name, key string, size int) {
	if dicts[name] == nil {
		dicts[name] = map[string]int{}
	}
	dicts[name][key] = len(dicts[name])
	d.size += size
}

// structKey returns bytes that are equal for equal values of one struct type: the whole
// value, with a length before each part of variable length. Floats are compared by
// their bits.
func structKey(v *Struct) string { return string(appendKey(nil, v)) }

func appendKey(dst []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case int64:
		return binary.BigEndian.AppendUint64(dst, uint64(v))
	case uint64:
		return binary.BigEndian.AppendUint64(dst, v)
	case float64:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
	case string:
		return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	case []byte:
		return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	case *Struct:
		for i, f := range v.Fields {
			dst = appendKey(dst, v.Present[i])
			if v.Present[i] {
				dst = appendKey(dst, f)
			}
		}
	case *Oneof:
		dst = appendKey(binary.AppendUvarint(dst, uint64(v.Choice)), v.Value)
	case *Multimap:
		dst = binary.AppendUvarint(dst, uint64(len(v.Pairs)))
		for _, p := range v.Pairs {
			dst = appendKey(appendKey(dst, p.Key), p.Value)
		}
	case *Array:
		dst = binary.AppendUvarint(dst, uint64(len(v.Elems)))
		for _, e := range v.Elems {
			dst = appendKey(dst, e)
		}
	}
	return dst
}
