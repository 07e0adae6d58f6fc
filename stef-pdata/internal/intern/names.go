// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/codec"
)

// Names assigns numbers to texts, from 1 on, in the order of first use. It is kept
// across batches, so that the order of names stays the same.
type Names struct {
	texts codec.TextIndex
	// recent has names that were found last, at the index codec.PlaceOf. Finding such a name again
	// needs no search, and a long name is not hashed as a whole.
	recent [1 << recentBits]recentName
}

const recentBits = 6 // the number of recent names is 1<<recentBits

// recentName is a name that was found: the words of its text (see codec.Words), its length and its
// number. The number is 0 in a free slot.
type recentName struct {
	first, last uint64
	bytes       int
	number      uint32
}

// MaxNames is the number of names that can be numbered. All other names share the number MaxNames.
// When the texts of the numbered names have maxNameBytes in total, no more names are numbered.
const (
	MaxNames     = 1 << 14
	maxNameBytes = MaxHeldBytes
)

// Reset drops all numbers.
func (n *Names) Reset() {
	n.texts.Reset()
	clear(n.recent[:])
}

// ID returns the number of a name.
func (n *Names) ID(name string) uint32 {
	first, last := codec.Words(name)
	r := &n.recent[codec.PlaceOf(first, last, len(name), recentBits)]
	if (r.first^first)|(r.last^last)|uint64(r.bytes^len(name)) == 0 && r.number != 0 &&
		(len(name) <= codec.ShortText || n.texts.Is(r.number-1, name)) {
		return r.number
	}
	number := n.find(name)
	if number != MaxNames {
		*r = recentName{first, last, len(name), number}
	}
	return number
}

// find is like ID, but does not use the recent names.
func (n *Names) find(name string) uint32 {
	if n.texts.Len() == MaxNames || n.texts.TextBytes() >= maxNameBytes {
		number, ok := n.texts.Find(name)
		if !ok {
			return MaxNames
		}
		return number + 1
	}
	number, _ := n.texts.Number(name)
	return number + 1
}

// KeyLists numbers the key lists of maps, as Names numbers texts.
type KeyLists struct {
	Names
	scratch []byte
}

// ID returns the number of the list of keys of m.
func (k *KeyLists) ID(m pcommon.Map) uint32 {
	k.scratch = k.scratch[:0]
	for key := range m.All() {
		k.scratch = append(append(k.scratch, key...), 0)
	}
	return k.Names.ID(unsafe.String(unsafe.SliceData(k.scratch), len(k.scratch))) // ID copies the text
}
