// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

// PairCache finds the references of keys and values that come together again and
// again, both with one look. It is the same as to ask the dictionaries, which it does
// for what it does not know.
//
// A pair has one place in it, and the last one there is known. So it does not grow, and
// nobody can make it slow.
type PairCache struct {
	keys, values *StringDict
	// epochs are those of the dictionaries that the pairs are of.
	epochs  [2]uint64
	slots   *[1 << pairBits]pairSlot
	numbers TextIndex // of keys
}

// Pair is a key and a value.
type Pair struct {
	Key, Value Text
	// Number is that of the key among all keys since Forget.
	Number uint32
}

// pairSlot is a pair: the words and the lengths of both texts, and what is known. It
// fills a line of the cache.
type pairSlot struct {
	key0, key1, value0, value1 uint64
	lengths                    uint64
	key, value                 Ref
	number                     uint64 // counted from 1
}

const (
	pairBits = 11
	// longLengths are the bits of lengths that only texts have that may be longer than
	// their words.
	longLengths = ^uint64((shortText-1)<<32 | shortText - 1)
)

// Init sets the dictionaries, which may be nil.
func (c *PairCache) Init(keys, values *StringDict) { c.keys, c.values = keys, values }

// Keys returns how many keys have a number.
func (c *PairCache) Keys() int { return c.numbers.Len() }

// Forget takes all numbers back.
func (c *PairCache) Forget() {
	c.numbers.Release()
	if c.slots != nil {
		clear(c.slots[:])
	}
}

// Resolve sets the numbers and the references of pairs. References are 0 where Ref
// returns 0, and where values are very long.
func (c *PairCache) Resolve(pairs []Pair) {
	if c.slots == nil || c.keys == nil || c.values == nil || c.epochs != [2]uint64{c.keys.epoch, c.values.epoch} {
		c.begin()
	}
	slots := c.slots
	for i := range pairs {
		p := &pairs[i]
		key, value := p.Key.Text, p.Value.Text
		var key0, key1, value0, value1 uint64
		if len(key) >= 8 {
			key0, key1 = word64(key), word64(key[len(key)-8:])
		} else {
			key0, key1 = words(key)
		}
		if len(value) >= 8 {
			value0, value1 = word64(value), word64(value[len(value)-8:])
		} else {
			value0, value1 = words(value)
		}
		lengths := uint64(len(key))<<32 | uint64(len(value))
		h := (key0 ^ value1*0x9e3779b97f4a7c15) * 0xc2b2ae3d27d4eb4f
		h ^= (value0 ^ key1*0x165667b19e3779f9) * 0xd6e8feb86659fd93
		s := &slots[(h^h>>32)*0x9e3779b97f4a7c15>>(64-pairBits)]
		if (s.key0^key0)|(s.key1^key1)|(s.value0^value0)|(s.value1^value1)|(s.lengths^lengths) != 0 ||
			s.number == 0 || lengths&longLengths != 0 && !c.are(s, key, value) {
			c.search(p, s, &pairSlot{key0: key0, key1: key1, value0: value0, value1: value1, lengths: lengths})
			continue
		}
		p.Key.Ref, p.Value.Ref, p.Number = s.key, s.value, uint32(s.number-1)
	}
}

// begin forgets the pairs of dictionaries that began anew.
func (c *PairCache) begin() {
	if c.slots == nil {
		c.slots = new([1 << pairBits]pairSlot)
	}
	if c.keys == nil || c.values == nil {
		return
	}
	clear(c.slots[:])
	c.epochs = [2]uint64{c.keys.epoch, c.values.epoch}
}

// are says whether texts, of which one at least is long, are those of a pair that has
// the same words.
func (c *PairCache) are(s *pairSlot, key, value string) bool {
	return (len(key) <= shortText || c.keys.index.is(uint32(s.key&(1<<refBits-1)), key)) &&
		(len(value) <= shortText || c.values.index.is(uint32(s.value&(1<<refBits-1)), value))
}

// search is Resolve for a pair that its slot has not. The slot gets it if there is all
// to know of it: what comes only once does not.
func (c *PairCache) search(p *Pair, slot, found *pairSlot) {
	p.Number, _ = c.numbers.Number(p.Key.Text)
	p.Key.Ref, p.Value.Ref = c.keys.Ref(p.Key.Text), 0
	if len(p.Value.Text) <= maxResolved {
		p.Value.Ref = c.values.Ref(p.Value.Text)
	}
	if (p.Key.Ref != 0 || len(p.Key.Text) < MinEntry) && (p.Value.Ref != 0 || len(p.Value.Text) < MinEntry) {
		found.key, found.value, found.number = p.Key.Ref, p.Value.Ref, uint64(p.Number)+1
		*slot = *found
	}
}
