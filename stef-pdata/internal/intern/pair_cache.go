// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"math/bits"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// PairCache looks up the references of key-value pairs. One hash and one comparison find
// both references of a pair that was seen before. Two lookups in the dictionaries would
// return the same references. The dictionaries handle every miss of the cache.
//
// The cache is direct-mapped: the hash of a pair selects its slot, and a slot holds one
// pair. Thus the size of the cache is bounded, and no input makes it slow. It begins
// small, because the first batches of a stream have few pairs.
type PairCache struct {
	keys, values *stef.TextDict
	// epochs are the epochs of the dictionaries to which the slots refer.
	epochs  [2]uint64
	slots   []pairSlot      // a power of two, from 1<<firstPairBits to 1<<pairBits
	pairs   int             // slots that hold a pair
	numbers codec.TextIndex // the numbers of keys
	// used contains the slots that hold a pair, up to maxUsed of them. If there are fewer
	// than maxUsed, only these slots are cleared, which makes the restart of a short
	// stream cheap.
	used []*pairSlot
}

// Pair is a key and a value.
type Pair struct {
	Key, Value stef.Text
	// Number is the number of the key among all keys since the last call of Forget.
	Number uint32
	Type   otelstef.AnyValueType // type of the value
	Bits   uint64                // the value, if it is a scalar other than text
}

// pairSlot is a cached pair: for key and value, the length and two words (numbers of 8 bytes of
// the text, see codec.Words), and then the result of the lookup. It fills a cache line.
type pairSlot struct {
	key0, key1, value0, value1 uint64
	lengths                    uint64 // of the key in the high 32 bits, of the value in the low ones
	key, value                 stef.TextRef
	number                     uint64 // counted from 1
}

// place returns the place of a pair in a table of 1<<pairBits slots.
func (s *pairSlot) place() uint64 {
	return codec.HashPair(s.key0^bits.RotateLeft64(s.value1, 32), s.value0^bits.RotateLeft64(s.key1, 32)) >> (64 - pairBits)
}

const (
	firstPairBits = 6
	pairBits      = 11
	// pairGrowth is the number of bits by which the size of a cache grows when half of it is
	// used.
	pairGrowth = 3
	// lengths&longLengths is not 0 if the key or the value has codec.ShortText bytes or more. Then the
	// texts must be compared, too: their two words (see pairSlot) may not contain all bytes.
	longLengths = ^uint64((codec.ShortText-1)<<32 | codec.ShortText - 1)
	// maxValue is the length of the longest value to look up. Longer values rarely
	// recur.
	maxValue = 256
	maxUsed  = 256
)

// Init sets the dictionaries, which may be nil.
func (c *PairCache) Init(keys, values *stef.TextDict) { c.keys, c.values = keys, values }

// Keys returns how many keys have a number.
func (c *PairCache) Keys() int { return c.numbers.Len() }

// KeyBytes returns the total length of the keys that have a number.
func (c *PairCache) KeyBytes() int { return c.numbers.TextBytes() }

// Forget drops all numbers.
func (c *PairCache) Forget() {
	c.numbers.Release()
	c.clear()
}

func (c *PairCache) clear() {
	if len(c.used) < maxUsed {
		for _, s := range c.used {
			*s = pairSlot{}
		}
	} else {
		clear(c.slots)
	}
	c.used, c.pairs = c.used[:0], 0
}

// Resolve sets the numbers and the references of pairs. A reference is 0 if the text
// is not in its dictionary or is a value of more than 256 bytes.
func (c *PairCache) Resolve(pairs []Pair) {
	if !c.current() {
		c.begin()
	}
	slots := c.slots
	for i := range pairs {
		p := &pairs[i]
		key, value := p.Key.Text, p.Value.Text
		// The words are read as codec.Words does, but without a call: for a call, the compiler
		// would store the variables of the loop in memory and load them again. For the same reason,
		// each function that is called below does all remaining work for its pair.
		if len(key) < 8 {
			c.resolve(p)
			slots = c.slots // which may have grown
			continue
		}
		key0, key1 := codec.Word64(key), codec.Word64(key[len(key)-8:])
		var value0, value1 uint64
		switch n := len(value); {
		case n >= 8:
			value0, value1 = codec.Word64(value), codec.Word64(value[n-8:])
		case n >= 4:
			value0, value1 = codec.Word32(value), codec.Word32(value[n-4:])
		case n > 0:
			value0 = uint64(value[0]) | uint64(value[n>>1])<<8 | uint64(value[n-1])<<16
		}
		lengths := uint64(len(key))<<32 | uint64(len(value))
		h := codec.HashPair(key0^bits.RotateLeft64(value1, 32), value0^bits.RotateLeft64(key1, 32))
		s := &slots[h>>(64-pairBits)&uint64(len(slots)-1)]
		if (s.key0^key0)|(s.key1^key1)|(s.value0^value0)|(s.value1^value1)|(s.lengths^lengths) != 0 || s.number == 0 {
			c.miss(p, s)
			slots = c.slots
			continue
		}
		if lengths&longLengths != 0 {
			c.resolveLong(p, s)
			slots = c.slots
			continue
		}
		p.Key.Ref, p.Value.Ref, p.Number = s.key, s.value, uint32(s.number-1)
	}
}

// resolve is Resolve for one pair.
func (c *PairCache) resolve(p *Pair) {
	var words pairSlot
	words.key0, words.key1 = codec.Words(p.Key.Text)
	words.value0, words.value1 = codec.Words(p.Value.Text)
	words.lengths = uint64(len(p.Key.Text))<<32 | uint64(len(p.Value.Text))
	s := &c.slots[words.place()&uint64(len(c.slots)-1)]
	if (s.key0^words.key0)|(s.key1^words.key1)|(s.value0^words.value0)|(s.value1^words.value1)|(s.lengths^words.lengths) != 0 || s.number == 0 {
		c.miss(p, s)
		return
	}
	c.resolveLong(p, s)
}

// resolveLong is Resolve for a pair that has the words and the lengths of a slot.
func (c *PairCache) resolveLong(p *Pair, s *pairSlot) {
	if !c.same(s, p.Key.Text, p.Value.Text) {
		c.miss(p, s)
		return
	}
	p.Key.Ref, p.Value.Ref, p.Number = s.key, s.value, uint32(s.number-1)
}

// begin clears the slots, because they refer to the dictionaries before a restart.
func (c *PairCache) begin() {
	if c.slots == nil {
		c.slots = make([]pairSlot, 1<<firstPairBits)
	}
	c.clear()
	c.epochs = [2]uint64{c.keys.Epoch(), c.values.Epoch()}
}

// same reports whether key and value are the texts of a slot with the same words.
func (c *PairCache) same(s *pairSlot, key, value string) bool {
	return (len(key) <= codec.ShortText || c.keys.Is(s.key, key)) &&
		(len(value) <= codec.ShortText || c.values.Is(s.value, value))
}

// miss looks up a pair in the dictionaries. The slot stores the pair only if both
// texts are known: a pair that occurs once is not worth a slot.
func (c *PairCache) miss(p *Pair, slot *pairSlot) {
	p.Number, _ = c.numbers.Number(p.Key.Text)
	p.Key.Ref, p.Value.Ref = c.keys.Ref(p.Key.Text), 0
	if len(p.Value.Text) <= maxValue {
		p.Value.Ref = c.values.Ref(p.Value.Text)
	}
	if (p.Key.Ref != 0 || len(p.Key.Text) < codec.MinEntry) && (p.Value.Ref != 0 || len(p.Value.Text) < codec.MinEntry) {
		found := pairSlot{
			lengths: uint64(len(p.Key.Text))<<32 | uint64(len(p.Value.Text)),
			key:     p.Key.Ref, value: p.Value.Ref, number: uint64(p.Number) + 1,
		}
		found.key0, found.key1 = codec.Words(p.Key.Text)
		found.value0, found.value1 = codec.Words(p.Value.Text)
		c.set(slot, &found)
		if 2*c.pairs > len(c.slots) && len(c.slots) < 1<<pairBits {
			c.grow()
		}
	}
}

func (c *PairCache) set(slot, pair *pairSlot) {
	if slot.number == 0 {
		c.pairs++
		if len(c.used) < maxUsed {
			c.used = append(c.used, slot)
		}
	}
	*slot = *pair
}

func (c *PairCache) grow() {
	old := c.slots
	c.slots = make([]pairSlot, min(len(old)<<pairGrowth, 1<<pairBits))
	clear(c.used) // the pointers would keep the old slots in memory
	c.used, c.pairs = c.used[:0], 0
	for i := range old {
		if s := &old[i]; s.number != 0 {
			c.set(&c.slots[s.place()&uint64(len(c.slots)-1)], s)
		}
	}
}
