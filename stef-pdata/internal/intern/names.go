// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

// Names numbers the names of spans in the order of first use. It is kept across
// batches, so that the order of names stays the same.
type Names struct {
	ids   map[string]uint32
	cache [256]struct { // of the content of ids
		name string
		id   uint32
	}
}

// MaxNames is how many names have a number of their own. All others share one.
const MaxNames = 1 << 14

// Reset drops all numbers.
func (n *Names) Reset() {
	n.ids = emptied(n.ids)
	clear(n.cache[:])
}

// ID returns the number of a name.
func (n *Names) ID(name string) uint32 {
	slot := &n.cache[hintOf(name)]
	if slot.id != 0 && slot.name == name {
		return slot.id
	}
	id, ok := n.ids[name]
	if !ok {
		if n.ids == nil {
			n.ids = map[string]uint32{}
		}
		if len(n.ids) == MaxNames {
			return MaxNames
		}
		id = uint32(len(n.ids)) + 1
		n.ids[name] = id
	}
	slot.name, slot.id = name, id
	return id
}
