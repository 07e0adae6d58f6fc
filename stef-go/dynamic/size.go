// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

// The size of a value is an estimate of the memory it takes, parts that are
// shared with other values included. The limits on memory are limits on it.
// Composite values hold their size, so that it is known without a walk.
const (
	nodeBytes   = 32 // a composite value without its content
	slotBytes   = 16 // a value inside another one
	numberBytes = 8
	headBytes   = 16 // a string or bytes value without its content
)

// sizeOf returns the size of v, adding up the sizes its parts hold.
func sizeOf(v any) int {
	switch v := v.(type) {
	case nil, bool:
		return 0
	case string:
		return headBytes + len(v)
	case []byte:
		return headBytes + len(v)
	case *Struct:
		size := nodeBytes + len(v.Fields)*(slotBytes+1)
		for _, f := range v.Fields {
			size += heldSize(f)
		}
		return size
	case *Oneof:
		return nodeBytes + heldSize(v.Value)
	case *Multimap:
		size := nodeBytes
		for _, p := range v.Pairs {
			size += pairSize(p)
		}
		return size
	case *Array:
		size := nodeBytes
		for _, e := range v.Elems {
			size += slotBytes + heldSize(e)
		}
		return size
	}
	return numberBytes
}

func pairSize(p Pair) int { return 2*slotBytes + heldSize(p.Key) + heldSize(p.Value) }

// heldSize is sizeOf without a descent into composite values.
func heldSize(v any) int {
	switch v := v.(type) {
	case *Struct:
		return v.size
	case *Oneof:
		return v.size
	case *Multimap:
		return v.size
	case *Array:
		return v.size
	}
	return sizeOf(v)
}
