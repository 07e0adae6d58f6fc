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
type Names struct{ texts codec.TextIndex }

// MaxNames is the number of names that can be numbered. All other names share the number MaxNames.
// When the texts of the numbered names take maxNameBytes, no more names are numbered.
const (
	MaxNames     = 1 << 14
	maxNameBytes = MaxHeldBytes
)

// Reset drops all numbers.
func (n *Names) Reset() { n.texts.Reset() }

// ID returns the number of a name.
func (n *Names) ID(name string) uint32 {
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
