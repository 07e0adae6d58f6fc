// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Spans of one name usually have one or two sets of keys, each in the same order. KeySorter
// remembers two sets for each name, and each set remembers the order of its keys in the last
// map. If a map has these keys in this order, nothing is sorted, and only texts of values are
// looked up.

const (
	// orderSlots is the number of slots, each for the last two sets of a name. If there are more
	// names, several names share a slot.
	orderSlots = 1 << 8
	// Some producers send keys in random order. The order of a set has a score. A map in this order
	// adds 1, up to maxScore; any other map subtracts missPenalty. So the score stays positive if
	// more than two thirds of the maps have the order. At score 0, a pause begins: the order is not
	// tried for a number of maps. After the pause, the score is retryScore. Each pause is twice as
	// long as the pause before it. When the score is maxScore again, the next pause is short again.
	initialScore = 4
	maxScore     = 8
	missPenalty  = 2
	retryScore   = 2
	firstPause   = 1 << 6
	maxPause     = 1 << 12
)

// orderedKey is a key of a set in a keyOrder.
type orderedKey struct {
	text         string
	word0, word1 uint64 // see codec.Words
	number       uint64 // counted from 1, as in pairSlot
	place        uint8  // index of the key in the sorted keys of the set
}

// keyOrder is the order of the keys of a set in the last map. It is used only while epoch is
// the epoch of the key dictionary. Then this dictionary has all keys, and the references in
// the set are valid.
type keyOrder struct {
	keys  []orderedKey
	epoch uint64
	score int8
	pause uint16 // number of maps that are not compared
	next  uint16 // length of the next pause
}

// shouldTry reports whether the next map should be compared with the order.
func (o *keyOrder) shouldTry() bool {
	if o.pause == 0 {
		return true
	}
	o.pause--
	return false
}

func (o *keyOrder) hit() {
	if o.score++; o.score >= maxScore {
		o.score, o.next = maxScore, firstPause
	}
}

func (o *keyOrder) miss() {
	if o.score -= missPenalty; o.score <= 0 {
		o.score, o.pause, o.next = retryScore, o.next, min(2*o.next, maxPause)
	}
}

// learnOrder stores the order of the keys in pairs as the order of set. places has the index
// of each key in set.Keys.
func (s *KeySorter) learnOrder(set *KeySet, pairs []Pair, places []uint8) {
	o := &set.order
	epoch := s.PairCache.keys.Epoch()
	if o.pause > 0 && o.epoch == epoch {
		return
	}
	for i := range set.Keys {
		if k := &set.Keys[i]; len(k.Text) >= codec.MinEntry && !s.PairCache.keys.Holds(k.Ref) {
			return // not in the dictionary yet
		}
	}
	o.keys, o.epoch = o.keys[:0], epoch
	for i := range pairs {
		p := &pairs[i]
		k := orderedKey{text: set.Keys[places[i]].Text, number: uint64(p.Number) + 1, place: places[i]}
		k.word0, k.word1 = codec.Words(k.text)
		o.keys = append(o.keys, k)
	}
}

// findInOrder is like Find, but only for a map whose keys are the keys of set in the order of
// set.order. For all other maps it adds nothing and returns false.
func (s *KeySorter) findInOrder(found *SortedPairs, set *KeySet, m pcommon.Map, store *PairStore) bool {
	c, o := &s.PairCache, &set.order
	if m.Len() != len(o.keys) || !c.current() || o.epoch != c.epochs[0] || !o.shouldTry() {
		return false
	}
	from := len(store.Values)
	sorted, types, places := store.extend(len(o.keys))
	kinds, size := Kinds(0), 0
	i := 0
	for k, v := range m.All() {
		key := &o.keys[i]
		n := len(k)
		same := n == len(key.text)
		if same && n >= 8 {
			same = codec.Word64(k) == key.word0 && codec.Word64(k[n-8:]) == key.word1 && (n <= codec.ShortText || k == key.text)
		} else if same {
			same = k == key.text
		}
		if !same {
			store.cut(from)
			o.miss()
			return false
		}
		place := key.place
		places[i] = place
		i++
		text, typ := v.Str(), otelstef.AnyValueTypeString
		if text == "" {
			var p Pair
			p.Type = typ
			p.scalar(v)
			if p.Type != otelstef.AnyValueTypeString {
				sorted[place] = stef.Text{Ref: stef.TextRef(p.Bits)}
				types[place] = p.Type
				kinds |= 1 << p.Type
				continue
			}
		}
		sorted[place] = stef.Text{Text: text, Ref: c.value(key, text)}
		types[place] = typ
		kinds |= Text
		size += len(text)
	}
	o.hit()
	*found = SortedPairs{Set: set, Kinds: kinds, From: uint32(from), Bytes: size}
	return true
}

// value returns the reference to text, a value of key. The result is the same as that of Resolve.
func (c *PairCache) value(key *orderedKey, text string) stef.TextRef {
	var word0, word1 uint64
	if len(text) >= 8 {
		word0, word1 = codec.Word64(text), codec.Word64(text[len(text)-8:])
	} else {
		word0, word1 = codec.Words(text)
	}
	lengths := uint64(len(key.text))<<32 | uint64(len(text))
	h := codec.HashPair(key.word0^bits.RotateLeft64(word1, 32), word0^bits.RotateLeft64(key.word1, 32))
	s := &c.slots[h>>(64-pairBits)&uint64(len(c.slots)-1)]
	// A number stands for one key, so the texts of keys are not compared.
	if (s.number^key.number)|(s.value0^word0)|(s.value1^word1)|(s.lengths^lengths) == 0 &&
		(len(text) <= codec.ShortText || c.values.Is(s.value, text)) {
		return s.value
	}
	p := Pair{Key: stef.Text{Text: key.text}, Value: stef.Text{Text: text}}
	c.miss(&p, s)
	return p.Value.Ref
}

// current reports whether the slots refer to the current epochs of the dictionaries.
func (c *PairCache) current() bool {
	return c.slots != nil && c.epochs == [2]uint64{c.keys.Epoch(), c.values.Epoch()}
}
