// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import "github.com/otelstef/stef/stef-go/bitio"

// TextIndex numbers texts from 0 on and finds the number of a text. It copies the
// texts and holds no pointers to them. So it costs the garbage collector nothing at
// any size, and all of its memory can be reused.
//
// Most texts have 16 bytes or less. They are stored as two words and a length, which
// needs no other memory and no loop to hash or compare.
type TextIndex struct {
	// slots is a hash table with linear probing: a power of two slots, at most half of
	// them used. A text is in the slot of its hash, or in one of the slots between this
	// slot and the next free slot.
	//
	//	| 32 bits: hash | 32 bits: number, counted from 1 |     0 is free
	slots   []uint64
	entries []textEntry // indexed by number
	text    []byte      // the long texts
}

type textEntry struct {
	a, b uint64 // the two words; for a long text, a is the offset in TextIndex.text
	n    int
}

const (
	firstSlots = 32
	firstRoom  = 16 // elements of the other buffers
	// maxResolved is the maximum length of a text that resolve hashes. Longer texts
	// are rarely in the index.
	maxResolved = 256
)

var (
	indexSlots   bitio.Memory[uint64]
	indexEntries bitio.Memory[textEntry]
	indexTexts   bitio.Memory[byte]
)

// Len returns the number of texts in the index.
func (x *TextIndex) Len() int { return len(x.entries) }

// TextBytes returns the size of the long texts in the index. Short texts are part of their
// entries.
func (x *TextIndex) TextBytes() int { return len(x.text) }

// Find returns the number of v and whether v is in the index.
func (x *TextIndex) Find(v string) (number uint32, ok bool) {
	number, _, ok = x.find(v)
	return number, ok
}

// Number returns the number of v and whether v is new. It adds v if it is new.
func (x *TextIndex) Number(v string) (number uint32, fresh bool) {
	number, hash, ok := x.find(v)
	if ok {
		return number, false
	}
	return x.add(v, hash), true
}

// Resolve sets the references of texts to their numbers and adds new texts. It uses
// the present references as guesses.
func (x *TextIndex) Resolve(texts []Text) {
	const none = ^Ref(0)
	x.resolve(texts, 0, none)
	for i := range texts {
		if t := &texts[i]; t.Ref == none {
			number, _ := x.Number(t.Text)
			t.Ref = Ref(number)
		}
	}
}

// resolve sets the references of texts to base plus their number, or to the value none
// if a text is not in the index. For each text it needs half the time of find. It compares
// texts longer than maxResolved only with their guess.
func (x *TextIndex) resolve(texts []Text, base, none Ref) {
	long := false
	slots, entries := x.slots, x.entries
	for i := range texts {
		t := &texts[i]
		var a, b uint64
		n := len(t.Text)
		switch {
		case n > ShortText:
			long = true // resolved later: a call in this loop would slow down all short texts by a third
			continue
		case n >= 8:
			a, b = Word64(t.Text), Word64(t.Text[n-8:])
		case n >= 4:
			a, b = Word32(t.Text), Word32(t.Text[n-4:])
		case n > 0:
			a = uint64(t.Text[0]) | uint64(t.Text[n>>1])<<8 | uint64(t.Text[n-1])<<16
		}
		hash := uint32(HashPair(a, b^uint64(n)))
		t.Ref = none
		for at := int(hash) & (len(slots) - 1); uint(at) < uint(len(slots)); at = (at + 1) & (len(slots) - 1) {
			slot := slots[at]
			number := uint(uint32(slot)) - 1
			if number >= uint(len(entries)) { // the slot is free
				break
			}
			if e := &entries[number]; uint32(slot>>32) == hash && e.a == a && e.b == b && e.n == n {
				t.Ref = base | Ref(number)
				break
			}
		}
	}
	if long {
		x.resolveLong(texts, base, none)
	}
}

// resolveLong does the work of resolve for long texts. Comparing a long text is much faster
// than hashing it, so resolveLong first compares the text with its guess.
func (x *TextIndex) resolveLong(texts []Text, base, none Ref) {
	for i := range texts {
		t := &texts[i]
		if len(t.Text) <= ShortText {
			continue
		}
		if t.Ref>>refBits == base>>refBits && x.is(uint32(t.Ref&(1<<refBits-1)), t.Text) {
			continue
		}
		t.Ref = none
		if len(t.Text) > maxResolved {
			continue
		}
		if number, _, ok := x.findLong(t.Text); ok {
			t.Ref = base | Ref(number)
		}
	}
}

// find returns the number of v. If v is not in the index, pass the hash to add.
func (x *TextIndex) find(v string) (number, hash uint32, ok bool) {
	if len(v) > ShortText {
		return x.findLong(v)
	}
	a, b := Words(v)
	hash = uint32(HashPair(a, b^uint64(len(v))))
	slots := x.slots
	for at := int(hash) & (len(slots) - 1); uint(at) < uint(len(slots)); at = (at + 1) & (len(slots) - 1) {
		slot := slots[at]
		number := uint(uint32(slot)) - 1
		if number >= uint(len(x.entries)) { // the slot is free
			break
		}
		if e := &x.entries[number]; uint32(slot>>32) == hash && e.a == a && e.b == b && e.n == len(v) {
			return uint32(number), hash, true
		}
	}
	return 0, hash, false
}

// Is reports whether number is the number of v.
func (x *TextIndex) Is(number uint32, v string) bool {
	if len(v) > ShortText {
		return x.is(number, v)
	}
	if uint(number) >= uint(len(x.entries)) {
		return false
	}
	a, b := Words(v)
	return x.entries[number] == textEntry{a, b, len(v)}
}

// is reports whether number is the number of v, a long text.
func (x *TextIndex) is(number uint32, v string) bool {
	if uint(number) >= uint(len(x.entries)) {
		return false
	}
	e := &x.entries[number]
	return e.n == len(v) && string(x.text[e.a:e.a+uint64(len(v))]) == v
}

func (x *TextIndex) findLong(v string) (number, hash uint32, ok bool) {
	hash = uint32(hashLong(v))
	mask := uint32(len(x.slots) - 1)
	for at := hash & mask; uint(at) < uint(len(x.slots)) && x.slots[at] != 0; at = (at + 1) & mask {
		slot := x.slots[at]
		if number = uint32(slot) - 1; uint32(slot>>32) == hash && x.is(number, v) {
			return number, hash, true
		}
	}
	return 0, hash, false
}

// add assigns the next number to v.
func (x *TextIndex) add(v string, hash uint32) (number uint32) {
	if 2*len(x.entries) >= len(x.slots) {
		x.grow()
	}
	e := textEntry{n: len(v)}
	if len(v) > ShortText {
		e.a = uint64(len(x.text))
		x.text = room(&indexTexts, x.text, len(v))
		x.text = append(x.text, v...)
	} else {
		e.a, e.b = Words(v)
	}
	number = uint32(len(x.entries))
	x.entries = append(room(&indexEntries, x.entries, 1), e)
	x.put(uint64(hash)<<32 | uint64(number+1))
	return number
}

func (x *TextIndex) put(slot uint64) {
	mask := uint32(len(x.slots) - 1)
	i := uint32(slot>>32) & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = slot
}

func (x *TextIndex) grow() {
	old := x.slots
	n := max(firstSlots, 2*len(old))
	x.slots = indexSlots.Take(n)[:n]
	clear(x.slots)
	for _, slot := range old {
		if slot != 0 {
			x.put(slot)
		}
	}
	indexSlots.Give(old)
}

// Reset removes all texts. It keeps the memory, unless the memory is much larger than
// these texts needed.
func (x *TextIndex) Reset() {
	if 16*len(x.entries) < len(x.slots) {
		x.Release()
		return
	}
	clear(x.slots)
	x.entries, x.text = x.entries[:0], x.text[:0]
}

// Release removes all texts and releases the memory.
func (x *TextIndex) Release() {
	indexSlots.Give(x.slots)
	indexEntries.Give(x.entries)
	indexTexts.Give(x.text)
	*x = TextIndex{}
}

// room returns b with capacity for n more elements.
func room[T any](m *bitio.Memory[T], b []T, n int) []T {
	if n += len(b); n <= cap(b) {
		return b
	}
	bigger := append(m.Take(max(n, 2*cap(b), firstRoom)), b...)
	m.Give(b)
	return bigger
}
