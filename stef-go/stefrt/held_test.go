// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"math/rand/v2"
	"reflect"

	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestSizeOf(t *testing.T) {
	type leaf struct {
		Node
		text  string
		bytes []byte
	}
	type tree struct {
		leaf
		leaves []*leaf
		_      [100]uint64
		_      []string
	}
	base, _ := sizeOf(&tree{})
	const word, leafBytes = int(unsafe.Sizeof(uintptr(0))), int(unsafe.Sizeof(leaf{}))
	require.Equal(t, int(unsafe.Sizeof(tree{})), base)
	grown := func(x *tree) int {
		size, _ := sizeOf(x)
		return size - base
	}

	require.Equal(t, 1000, grown(&tree{leaf: leaf{bytes: make([]byte, 0, 1000)}}), "capacity counts")
	require.Equal(t, pieceBytes, grown(&tree{leaf: leaf{text: strings.Clone("short")}}), "a text keeps its piece")
	require.Equal(t, 10_000, grown(&tree{leaf: leaf{text: strings.Repeat("x", 10_000)}}))

	one := &leaf{bytes: make([]byte, 500)}
	hidden := &tree{leaves: []*leaf{one, one}}
	hidden.leaves = hidden.leaves[:0]
	require.Equal(t, 2*word+leafBytes+500, grown(hidden), "elements beyond the length count, each value once")

	cycle := &tree{leaves: []*leaf{{}}}
	cycle.leaves[0].parent = &cycle.Node
	require.Equal(t, word+leafBytes+int(unsafe.Sizeof(Node{})), grown(cycle))
	none, references := sizeOf(nil)
	require.Zero(t, none)
	require.Zero(t, references)
}

// sizeWalk computes the memory of a value. TestSizeOfRandom compares it, for random values, with a simple
// implementation that uses reflection and maps.
func TestSizeOfRandom(t *testing.T) {
	type item struct {
		_      uint64
		text   string
		list   []item
		shared *item
		up     *item
		pair   [2][]string
		_      [3]uint32
		other  any
		empty  []struct{}
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all []*item
	var fill func(x *item, depth int)
	fill = func(x *item, depth int) {
		all = append(all, x)
		x.text = strings.Repeat("t", r.IntN(2)*r.IntN(3*pieceBytes/4))
		x.other = &item{}
		x.empty = make([]struct{}, r.IntN(3))
		x.up, x.shared = all[r.IntN(len(all))], all[r.IntN(len(all))]
		x.pair[r.IntN(2)] = strings.Split(strings.Repeat("a ", r.IntN(5)), " ")
		if depth > 0 {
			x.list = make([]item, r.IntN(5))
			for i := range x.list {
				fill(&x.list[i], depth-1)
			}
			x.list = x.list[:r.IntN(len(x.list)+1)]
		}
	}
	for range 50 {
		all = nil
		root := &item{}
		fill(root, 6)
		w := reflectWalk{seen: map[object]bool{}, pieces: map[uintptr]bool{}}
		w.walk(reflect.ValueOf(root))
		size, references := sizeOf(root)
		require.Equal(t, w.size, size, "%d items", len(all))
		require.Equal(t, w.references, references, "%d items", len(all))
	}
}

// object identifies an object that reflectWalk has counted. The address is not enough: a struct and its
// first field have the same address.
type object struct {
	at  unsafe.Pointer
	typ reflect.Type
}

// reflectWalk computes the results of sizeWalk with reflection.
type reflectWalk struct {
	size, references int
	seen             map[object]bool
	pieces           map[uintptr]bool
}

func (w *reflectWalk) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		at := object{v.UnsafePointer(), v.Type()}
		if at.at == nil {
			return
		}
		w.references++
		if !w.seen[at] {
			w.seen[at] = true
			w.size += int(v.Type().Elem().Size())
			w.walk(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	case reflect.Array:
		if plain(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Slice:
		w.slice(v)
	case reflect.String:
		w.text(v)
	}
}

func (w *reflectWalk) slice(v reflect.Value) {
	at := object{v.UnsafePointer(), v.Type()}
	if at.at == nil {
		return
	}
	w.references++
	if w.seen[at] {
		return
	}
	w.seen[at] = true
	w.size += v.Cap() * int(v.Type().Elem().Size())
	if plain(v.Type().Elem()) {
		return
	}
	v = v.Slice(0, v.Cap())
	for i := range v.Len() {
		w.walk(v.Index(i))
	}
}

func (w *reflectWalk) text(v reflect.Value) {
	n := v.Len()
	if n == 0 {
		return
	}
	w.references++
	at := object{unsafe.Pointer(unsafe.StringData(v.String())), v.Type()}
	if n > pieceBytes/4 {
		if !w.seen[at] {
			w.seen[at] = true
			w.size += n
		}
	} else if piece := uintptr(at.at) / pieceBytes; !w.pieces[piece] {
		w.pieces[piece] = true
		w.size += pieceBytes
	}
}

// plain reports whether values of a type contain no pointers.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Array, reflect.Slice, reflect.String,
		reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	}
	return true
}

// TestOwnedSize compares ownedSize with the simple implementation, for a tree whose nodes refer to their
// parents.
func TestOwnedSize(t *testing.T) {
	type item struct {
		node Node
		kind *Elem[item]
		text string
		box  *[3]string
		list []item
		refs []*item
		pair [2][]byte
		n    int
	}
	var owned func(v reflect.Value) int
	owned = func(v reflect.Value) (n int) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || v.Type() == reflect.TypeFor[*Node]() || v.Type() == reflect.TypeFor[*Elem[item]]() {
				return 0
			}
			return int(v.Type().Elem().Size()) + owned(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				n += owned(v.Field(i))
			}
		case reflect.Array:
			for i := range v.Len() {
				n += owned(v.Index(i))
			}
		case reflect.Slice:
			n = v.Cap() * int(v.Type().Elem().Size())
			for i := range v.Cap() {
				n += owned(v.Slice(0, v.Cap()).Index(i))
			}
		}
		return n
	}
	r := rand.New(rand.NewPCG(3, 4))
	var fill func(x *item, parent *Node, depth int)
	fill = func(x *item, parent *Node, depth int) {
		x.node.parent, x.kind, x.text, x.n = parent, new(Elem[item]), "text", 1
		x.pair[r.IntN(2)] = make([]byte, r.IntN(9), 10)
		if r.IntN(2) == 0 {
			x.box = &[3]string{"of", "a", "box"}
		}
		if depth == 0 {
			return
		}
		x.list = make([]item, r.IntN(5))
		for i := range x.list {
			fill(&x.list[i], &x.node, depth-1)
		}
		x.list = x.list[:r.IntN(len(x.list)+1)]
		for range r.IntN(3) {
			x.refs = append(x.refs, new(item))
			fill(x.refs[len(x.refs)-1], &x.node, depth-1)
		}
	}
	for range 50 {
		var root item
		fill(&root, nil, 5)
		require.Equal(t, owned(reflect.ValueOf(&root).Elem()), shapeOf(reflect.TypeFor[item]()).ownedSize(unsafe.Pointer(&root)))
	}
}
