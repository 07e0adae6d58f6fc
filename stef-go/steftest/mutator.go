// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"reflect"
	"unsafe"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// A Mutator changes a record at random, in all ways that its setters allow. It sets
// equal values, changes a value and changes it back before a write, shrinks and
// grows, resets and copies, shares values of dictionary structs, edits shared values,
// and uses pointers that no longer belong to the record. It tracks the value that
// the record must have after each change.
//
// Writers send what is marked as changed. So a Mutator finds missing marks: if a mark is
// missing, the record has a value that its readers do not receive.
type Mutator struct {
	random
	root *Root
	rec  reflect.Value
	want *dynamic.Struct
	pool *Pool
	// private are the values that were edited in the record. stale are values from
	// private that other values have replaced.
	private map[unsafe.Pointer]bool
	stale   []typedValue
}

type typedValue struct {
	t *schema.Type
	v reflect.Value
}

// A Pool has shared values of dictionary structs. Several Mutators can use one pool,
// so that their writers share values.
type Pool struct{ values map[string][]sharedValue }

type sharedValue struct {
	v     reflect.Value
	value *dynamic.Struct
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{map[string][]sharedValue{}} }

// poolSize is the maximum number of values of a type in a pool.
const poolSize = 12

// NewMutator returns a Mutator of rec, the pointer to a new record of root. If pool is
// nil the Mutator creates its own.
//
// It panics if root lacks the constructor of a type below rec.
func NewMutator(seed uint64, root *Root, rec any, pool *Pool) *Mutator {
	if err := root.complete(rec); err != nil {
		panic("steftest: " + err.Error())
	}
	if pool == nil {
		pool = NewPool()
	}
	return &Mutator{
		random: newRandom(seed, Shape{}), root: root, rec: reflect.ValueOf(rec), pool: pool,
		want: dynamic.NewStruct(root.Schema), private: map[unsafe.Pointer]bool{},
	}
}

// Mutate changes the record and returns the value it must have now.
func (m *Mutator) Mutate() *dynamic.Struct {
	for range m.IntN(6) {
		m.want = m.structure(m.root.Schema, m.rec, m.want, m.shape.Depth)
	}
	if n := len(m.stale); n > 0 && m.chance(10) {
		last := m.stale[n-1]
		m.stale = m.stale[:n-1]
		m.change(last.t, last.v, getter{}.value(last.t, last.v), 3)
	}
	return m.want
}

// change changes the composite value that v points to. old is the expected value before
// the change; the result is the expected value after it.
func (m *Mutator) change(t *schema.Type, v reflect.Value, old any, depth int) any {
	if depth < 0 || m.chance(2) {
		call(v, "Reset")
		return dynamic.NewValue(t)
	}
	if m.chance(3) {
		if free, value, ok := m.free(t, v, depth); ok {
			call(v, "CopyFrom", free)
			return value
		}
	}
	switch t.Kind {
	case schema.KindStruct:
		return m.structure(t.Struct, v, old.(*dynamic.Struct), depth)
	case schema.KindOneof:
		return m.oneof(t.Struct, v, old.(*dynamic.Oneof), depth)
	case schema.KindMultimap:
		return m.multimap(t.Multimap, v, old.(*dynamic.Multimap), depth)
	}
	if t.Elem.Kind.Composite() {
		return m.array(t.Elem, v, old.(*dynamic.Array), depth)
	}
	return m.scalars(t.Elem, v, old.(*dynamic.Array))
}

// free returns a new value of the type of v that does not belong to a record. ok is false
// for lists of composite values, because generated code has no constructors for them.
func (m *Mutator) free(t *schema.Type, v reflect.Value, depth int) (free reflect.Value, value any, ok bool) {
	if t.Kind == schema.KindArray {
		if t.Elem.Kind.Composite() {
			return v, nil, false
		}
		free = reflect.New(v.Type().Elem())
	} else {
		free = m.root.free(v.Type())
	}
	value = m.random.fresh(t, min(depth, 4))
	set(t, free, value)
	return free, value, true
}

func (m *Mutator) structure(s *schema.Struct, v reflect.Value, old *dynamic.Struct, depth int) *dynamic.Struct {
	c := &dynamic.Struct{Fields: append([]any{}, old.Fields...), Present: append([]bool{}, old.Present...)}
	if len(s.Fields) == 0 {
		return c
	}
	for range 1 + m.IntN(3) {
		m.field(s, m.IntN(len(s.Fields)), v, c, depth)
	}
	return c
}

// field changes field i of v, and of c, the value of v.
func (m *Mutator) field(s *schema.Struct, i int, v reflect.Value, c *dynamic.Struct, depth int) {
	f := s.Fields[i]
	name := exported(f.Name)
	if f.Optional && (m.chance(30) || depth <= 0) {
		call(v, "Unset"+name)
		c.Present[i] = false
		return
	}
	was := c.Present[i]
	c.Present[i] = true
	switch {
	case !f.Type.Kind.Composite():
		x := m.setPrimitive(&f.Type, c.Fields[i])
		c.Fields[i] = x
		if f.Optional && m.chance(50) {
			c.Present[i] = m.chance(50)
			call(v, "SetOptional"+name, x, c.Present[i])
			return
		}
		call(v, "Set"+name, x)
	case shared(&f.Type):
		held, _ := c.Fields[i].(*dynamic.Struct)
		if !was {
			held = nil
		}
		c.Fields[i] = m.dict(&f.Type, name, v, held, depth-1)
	case f.Optional:
		if !was {
			c.Fields[i] = dynamic.NewValue(&f.Type)
		}
		part := call(v, "Add"+name)
		if m.chance(80) {
			c.Fields[i] = m.change(&f.Type, part, c.Fields[i], depth-1)
		}
	default:
		c.Fields[i] = m.change(&f.Type, call(v, name), c.Fields[i], depth-1)
	}
}

// setPrimitive returns a value to set, which may be the old value.
func (m *Mutator) setPrimitive(t *schema.Type, old any) any {
	switch {
	case old != nil && m.chance(20):
		return old
	case m.chance(10):
		return dynamic.NewValue(t)
	}
	return m.random.primitive(t)
}

// dict changes a field that holds a dictionary struct. held is the value of the field,
// or nil if the field is absent.
func (m *Mutator) dict(t *schema.Type, name string, v reflect.Value, held *dynamic.Struct, depth int) *dynamic.Struct {
	pool := m.pool.values[t.Name]
	switch n := m.IntN(10); {
	case n < 3 && len(pool) > 0:
		use := pool[m.IntN(len(pool))]
		m.replace(t, name, v, use.v)
		return use.value
	case n < 5:
		free, value, _ := m.free(t, call(v, name), depth)
		m.replace(t, name, v, free)
		m.addShared(t, sharedValue{free, value.(*dynamic.Struct)})
		return value.(*dynamic.Struct)
	case n < 6 && held != nil:
		// Set the current value again, which does not make it shared.
		call(v, "Set"+name, call(v, name))
		return held
	case n < 7:
		// other belongs to another record, so Set copies it.
		other := m.root.free(v.Type())
		value := m.random.fresh(t, min(depth, 4)).(*dynamic.Struct)
		part := call(other, "Edit"+name)
		set(t, part, value)
		m.replace(t, name, v, part)
		m.addShared(t, sharedValue{call(v, name), value})
		set(t, part, m.random.fresh(t, min(depth, 4)))
		return value
	}
	if held == nil {
		held = dynamic.NewStruct(t.Struct)
	}
	part := call(v, "Edit"+name)
	m.private[part.UnsafePointer()] = true
	if m.chance(10) {
		return held
	}
	return m.change(t, part, held, depth).(*dynamic.Struct)
}

// replace sets a field that holds a dictionary struct. If the old value was private to the
// record, replace adds the old value to stale.
func (m *Mutator) replace(t *schema.Type, name string, v, with reflect.Value) {
	before := call(v, name)
	call(v, "Set"+name, with)
	if m.private[before.UnsafePointer()] && before.Pointer() != with.Pointer() && len(m.stale) < poolSize {
		m.stale = append(m.stale, typedValue{t, before})
	}
}

func (m *Mutator) addShared(t *schema.Type, s sharedValue) {
	pool := m.pool.values[t.Name]
	if len(pool) < poolSize {
		m.pool.values[t.Name] = append(pool, s)
		return
	}
	pool[m.IntN(poolSize)] = s
}
