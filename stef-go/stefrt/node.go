// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"bytes"
	"fmt"
)

// Node holds the marks of one composite value, which say what changed in it, and its place in the
// record.
type Node struct {
	_      noCopy // the first field, because as the last field it would need memory
	mask   uint64
	parent *Node
	// bit is the mark of this value in parent. At the top of a record it has the
	// flags oversize and hasLarge instead.
	bit uint64
}

// noCopy makes go vet (copylocks) report code that copies a value with a Node. Such a copy shares
// lists and shared values with the original, and its parts set marks of the original.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// FullBit marks a multimap whose keys or length changed, or a value without a mark of its own.
const FullBit = 1 << 63

// MaxValueBits is the maximum length of a multimap that can be sent as its changed values only.
// Each of the first MaxValueBits values of a multimap has its own mark; later values set FullBit.
//
// spec: #multimap
const MaxValueBits = 62

// PairBit returns the mark of the value of pair i of a multimap.
func PairBit(i int) uint64 {
	if i < MaxValueBits {
		return 1 << i
	}
	return FullBit
}

// Flags of the top node of a record, or of a value that is not part of a record. If a flag is set, Write
// checks the record before it encodes the record.
const (
	// oversize says that a multimap has, or had, more pairs than the format allows, or
	// that the whole record must be sent.
	oversize = 1
	// hasLarge says that a text of LargeText bytes or more was set.
	hasLarge = 2
)

// frozen is the parent of values that are shared and must not change.
var frozen Node

// Init sets the parent of the node; bit is its mark in parent. At the top of a
// record, parent is nil and bit is 0.
func (n *Node) Init(parent *Node, bit uint64) {
	n.mask, n.parent, n.bit = 0, parent, bit
}

// Mark sets a mark of this value, and its marks in the enclosing values. It panics if the
// value is part of a shared value, so setters call it before they change anything. The
// compiler inlines Mark into setters.
func (n *Node) Mark(bit uint64) {
	if n.mask&bit == 0 {
		n.mark(bit)
	}
}

func (n *Node) mark(bit uint64) {
	changed := n
	n.mask |= bit
	for p := n.parent; p != nil; n, p = p, p.parent {
		if p == &frozen {
			changed.refuse()
		}
		if p.mask&n.bit != 0 {
			return
		}
		p.mask |= n.bit
	}
}

// refuse panics because n is part of a shared value. Before that, it clears the marks that the caller has
// just set. If it did not, the next change would find a mark and not panic.
func (n *Node) refuse() {
	for ; n != &frozen; n = n.parent {
		n.mask = 0
	}
	panic(changeOfShared)
}

const changeOfShared = "stef: a shared value cannot be changed; use the Edit method of the record"

// RefuseShared panics if n is part of a shared value. Call it before changes that set no marks.
func (n *Node) RefuseShared() {
	if n.top() == nil {
		panic(changeOfShared)
	}
}

// Unmark clears a mark. The marks of enclosing values remain. Such marks are never wrong: they cost
// only a few bits when the record is written.
func (n *Node) Unmark(bit uint64) { n.mask &^= bit }

// Modified returns the marks: the changes since the last Write in a writer's record,
// the changes of the last Next in a reader's record.
func (n *Node) Modified() uint64 { return n.mask }

// SetModified replaces the marks without changing the marks of enclosing values.
func (n *Node) SetModified(mask uint64) { n.mask = mask }

// Take returns the marks and clears them.
func (n *Node) Take() uint64 {
	m := n.mask
	n.mask = 0
	return m
}

// Freeze makes the value shared: marking it panics from now on. A value that was not part of a
// record keeps its flags for Oversize.
func (n *Node) Freeze() {
	if n.parent != nil {
		n.bit = 0
	}
	n.mask = 0
	n.parent = &frozen
}

// Frozen reports whether the value is shared.
func (n *Node) Frozen() bool { return n.parent == &frozen }

// Free reports whether the value is neither shared nor part of a record.
func (n *Node) Free() bool { return n.parent == nil }

// Oversize reports whether the record that has this value, as a part or as a shared value, must be
// checked before it is encoded.
func (n *Node) Oversize() bool {
	return n.bit&(oversize|hasLarge) != 0 && (n.parent == nil || n.parent == &frozen)
}

// top returns the top node of the record or value that contains n, or nil if n is part of a
// shared value.
func (n *Node) top() *Node {
	for n.parent != nil {
		if n.parent == &frozen {
			return nil
		}
		n = n.parent
	}
	return n
}

// RefuseNested panics if one of two values is part of the other: a copy between them would change
// its source.
func RefuseNested(dst, src *Node) {
	if dst.inside(src) || src.inside(dst) {
		panic("stef: CopyFrom between a value and a part of itself; copy the source to a new value first, and copy from there")
	}
}

// inside reports whether n is part of o. A shared value is part of no other value, because several
// values can refer to it.
func (n *Node) inside(o *Node) bool {
	for n = n.parent; n != nil; n = n.parent {
		if n == o {
			return true
		}
	}
	return false
}

// SetOversize sets or clears the flag for which Oversize returns true. n is any value of the
// record.
func (n *Node) SetOversize(over bool) {
	if n = n.top(); n != nil {
		n.bit = 0
		if over {
			n.bit = oversize
		}
	}
}

// SetLarge makes Write check the length of all text in the record.
func (n *Node) SetLarge() {
	if n = n.top(); n != nil {
		n.bit |= hasLarge
	}
}

// Inherit copies the flags of shared to the top node of n, so that Write checks the record. shared is a
// value that the record holds, or that it will hold after the call.
func (n *Node) Inherit(shared *Node) {
	if shared.bit != 0 {
		if n = n.top(); n != nil {
			n.bit |= shared.bit
		}
	}
}

// Check visits all values of a record. It marks them as changed, and finds multimaps
// that are too long.
type Check struct {
	// Measure makes the walk only measure, without changing marks.
	Measure bool
	// Shared makes the walk enter the values of dictionary structs as well.
	Shared bool
	// Pairs is the length of the longest multimap found, and Multimap its type.
	Pairs    int
	Multimap string
	// Text is the number of bytes of text and bytes values.
	Text int
}

// Mark sets the marks of a value.
func (c *Check) Mark(n *Node, mask uint64) {
	if !c.Measure {
		n.mask = mask
	}
}

// Saw stores the length of a multimap, if it is the longest so far.
func (c *Check) Saw(typ string, pairs int) {
	if pairs > c.Pairs {
		c.Pairs, c.Multimap = pairs, typ
	}
}

// PairSize is the size of a pair of a multimap in a dictionary entry, in addition to its bytes
// of text.
//
// spec: #dict-accounting
const PairSize = 64

// LargeText is a length of text. If a setter gets a text of this length or more, Write
// checks the size of the record. Shorter texts cause no check: more than five hundred of them
// are needed to make a record too large for its frame.
const LargeText = 64 << 10

// NotNegative panics if a length is negative.
func NotNegative(n int) {
	if n < 0 {
		negative(n)
	}
}

func negative(n int) { panic(fmt.Sprintf("stef: SetLen(%d): a length cannot be negative", n)) }

// NotNil panics if a shared value of a type is nil.
func NotNil(isNil bool, typ string) {
	if isNil {
		nilValue(typ)
	}
}

func nilValue(typ string) {
	panic(fmt.Sprintf("stef: a shared %s cannot be nil; use New%s for an empty one", typ, typ))
}

// NotZero panics if a struct of a type is a zero value, in which pointers are nil.
func NotZero(isZero bool, typ string) {
	if isZero {
		zeroValue(typ)
	}
}

func zeroValue(typ string) {
	panic(fmt.Sprintf("stef: the zero value of %s cannot be copied; create it with New%s", typ, typ))
}

// BoolBits returns 1 for true and 0 for false.
func BoolBits(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// If returns mask if the condition is true, otherwise 0.
func If(condition bool, mask uint64) uint64 {
	if condition {
		return mask
	}
	return 0
}

// New returns a new value that is not part of a record, initialized by init.
func New[T any](init func(v *T, parent *Node, bit uint64)) *T {
	v := new(T)
	init(v, nil, 0)
	return v
}

// SetBytes copies v to dst and reports whether dst differed. If it did, SetBytes first sets a mark
// of n. Most values are ids of 8 or 16 bytes: for them, it calls neither bytes.Equal nor copy.
func SetBytes(dst *[]byte, v []byte, n *Node, bit uint64) bool {
	old := *dst
	if len(old) != len(v) {
		n.Mark(bit)
		*dst = append(old[:0], v...)
		return true
	}
	switch len(v) {
	case 8:
		if [8]byte(old) == [8]byte(v) {
			return false
		}
		n.Mark(bit)
		*(*[8]byte)(old) = [8]byte(v)
	case 16:
		if [16]byte(old) == [16]byte(v) {
			return false
		}
		n.Mark(bit)
		*(*[16]byte)(old) = [16]byte(v)
	default:
		if bytes.Equal(old, v) {
			return false
		}
		n.Mark(bit)
		copy(old, v)
	}
	return true
}
