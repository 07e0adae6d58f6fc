// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import "go.opentelemetry.io/collector/pdata/pcommon"

// KeyLists numbers the key lists of maps in the order of first use.
type KeyLists struct {
	ids     map[string]uint32
	scratch []byte
}

// maxKeyLists is how many lists have a number of their own. All others share one.
const maxKeyLists = 1 << 12

// Reset drops all numbers.
func (k *KeyLists) Reset() { k.ids = emptied(k.ids) }

// ID returns the number of the list of keys of m.
func (k *KeyLists) ID(m pcommon.Map) uint32 {
	k.scratch = k.scratch[:0]
	for key := range m.All() {
		k.scratch = append(k.scratch, key...)
		k.scratch = append(k.scratch, 0)
	}
	id, ok := k.ids[string(k.scratch)]
	if ok {
		return id
	}
	if k.ids == nil {
		k.ids = map[string]uint32{}
	}
	if len(k.ids) == maxKeyLists {
		return maxKeyLists
	}
	id = uint32(len(k.ids)) + 1
	k.ids[string(k.scratch)] = id
	return id
}
