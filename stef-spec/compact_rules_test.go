// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// This file and the files compact_*_rules_test.go are a reader of the compact form (chapter 17), in which
// records are sent as differences. The reader follows chapter 17 of the specification, sentence by sentence. It shares no code
// with the writers and readers of package otelstef.

var errRule = errors.New("the compact form refuses it")

// rules convert the records of a stream in the compact form, as package dynamic reads
// them, into records of the full schema.
type rules interface {
	// restart empties the state.
	restart()
	// plain converts rec. out is a copy of rec with the fields of the full schema.
	plain(rec, out view) error
}

// readCompact returns the records of a stream in the compact form. compact is the root of the
// stream, and full is the root of the returned records.
func readCompact(stream []byte, compact, full *schema.Struct) (records []*dynamic.Struct, err error) {
	var apply rules
	switch full.Name {
	case metricsRoot.name:
		apply = &metricsRules{}
	case spansRoot.name:
		apply = &spansRules{}
	default:
		apply = &logsRules{}
	}
	apply.restart()
	r, err := dynamic.NewReader(bytes.NewReader(stream), compact, dynamic.WithFrameFunc(func(f *dynamic.Frame) {
		if f.Flags&dynamic.RestartDictionaries != 0 {
			apply.restart()
		}
	}))
	if err != nil {
		return nil, err
	}
	if m, ok := apply.(*metricsRules); ok {
		kept, err := schema.Keep(compact, r.Header().Wire)
		if err != nil {
			return nil, err
		}
		point := compact.Fields[view{t: compact}.index("Point")].Type.Struct
		m.sharing = kept.Of(point) == len(point.Fields)
	}
	for r.Next() {
		out := view{full, shorten(full, r.Record())}
		if err := apply.plain(view{compact, r.Record()}, out); err != nil {
			return records, fmt.Errorf("record %d: %w", len(records)+1, err)
		}
		records = append(records, out.v)
	}
	return records, r.Err()
}

// shorten returns a copy of v that has only the fields of schema s, also in nested structs.
func shorten(s *schema.Struct, v *dynamic.Struct) *dynamic.Struct {
	out := dynamic.NewStruct(s)
	for i, f := range s.Fields {
		out.Fields[i], out.Present[i] = v.Fields[i], v.Present[i]
		if f.Type.Kind == schema.KindStruct && f.Type.Struct.Dict == "" && v.Present[i] {
			out.Fields[i] = shorten(f.Type.Struct, v.Fields[i].(*dynamic.Struct))
		}
	}
	return out
}

// view looks up the fields of a struct by name.
type view struct {
	t *schema.Struct
	v *dynamic.Struct
}

func (s view) index(name string) int {
	for i, f := range s.t.Fields {
		if f.Name == name {
			return i
		}
	}
	panic(s.t.Name + " has no field " + name)
}

func (s view) get(name string) any { return s.v.Fields[s.index(name)] }

func (s view) sub(name string) view {
	i := s.index(name)
	return view{s.t.Fields[i].Type.Struct, s.v.Fields[i].(*dynamic.Struct)}
}

// number returns a number, or the bits of a double.
func (s view) number(name string) uint64 { return numberOf(s.get(name)) }

func numberOf(v any) uint64 {
	switch v := v.(type) {
	case int64:
		return uint64(v)
	case float64:
		return math.Float64bits(v)
	}
	return v.(uint64)
}

func (s view) numbers(name string) (list []uint64) {
	for _, v := range s.get(name).(*dynamic.Array).Elems {
		list = append(list, numberOf(v))
	}
	return list
}

func (s view) set(name string, v any) {
	i := s.index(name)
	s.v.Fields[i], s.v.Present[i] = v, true
}

func (s view) unset(name string) { s.v.Present[s.index(name)] = false }

// residualField is the state of a residual field.
type residualField struct{ v, d uint64 }

func (s *residualField) value(r uint64) uint64 {
	if r == 0 {
		return s.v
	}
	if r == -s.d {
		r = 0
	}
	s.d += r
	s.v += s.d
	return s.v
}

func (s *residualField) residual(x uint64) int64 {
	e := x - s.v
	if e == 0 {
		return 0
	}
	r := e - s.d
	if r == 0 {
		r = -s.d
	}
	s.d, s.v = e, x
	return int64(r)
}

// residualArray is the state of a residual array.
type residualArray struct{ v, d uint64 }

func (s *residualArray) residuals(elems []uint64) (list []uint64) {
	for _, x := range elems {
		e := x - s.v
		list = append(list, e-s.d)
		s.d, s.v = e, x
	}
	return list
}

const far = 2

func power(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 1000
	}
	return p
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// coarsest returns the greatest c for which 1000^c divides x, but not more than most.
func coarsest(x int64, most int) (c int) {
	for c < most && magnitude(x)%power(c+1) == 0 {
		c++
	}
	return c
}

func signed(q uint64, x int64) int64 {
	if x < 0 {
		return -int64(q)
	}
	return int64(q)
}

// plainCode returns the code of a difference, or the code far if the difference is too large.
func plainCode(x int64) int64 {
	if x == 0 {
		return 0
	}
	c := coarsest(x, 3)
	q := magnitude(x) / power(c)
	if q > 1<<60 {
		return far
	}
	return signed(4*q+uint64(c), x)
}

// fromPlain returns the difference that a code of plainCode stands for.
func fromPlain(code int64) (uint64, error) {
	if code != 0 && magnitude(code) < 4 {
		return 0, fmt.Errorf("%w: the code %d of a difference", errRule, code)
	}
	return uint64(signed(magnitude(code)>>2*power(int(magnitude(code)&3)), code)), nil
}

// unitHabit is the state of the codes of differences.
type unitHabit struct{ u, n int }

// code returns the code of a difference. A difference without a code of its own has the code far.
func (h *unitHabit) code(x int64) int64 {
	if h.n < 16 {
		return plainCode(x)
	}
	q := magnitude(x) / power(h.u)
	switch {
	case q*power(h.u) != magnitude(x) || q >= 1<<61:
		return far
	case x > 0:
		return int64(q) + 2
	}
	return -int64(q)
}

// difference returns the difference that a code stands for.
func (h *unitHabit) difference(code int64) (uint64, error) {
	switch {
	case h.n < 16:
		return fromPlain(code)
	case code > 2:
		return uint64(code-2) * power(h.u), nil
	case code > 0:
		return 0, fmt.Errorf("%w: the code %d of a difference", errRule, code)
	}
	return uint64(code) * power(h.u), nil
}

func (h *unitHabit) learn(x int64) {
	if x == 0 || h.n >= 16 && magnitude(x)%power(h.u) == 0 {
		return
	}
	w := coarsest(x, 2)
	if w != h.u {
		h.u, h.n = w, 1
	} else if h.n < 16 {
		h.n++
	}
}

func zigzag(x uint64) uint64 { return x<<1 ^ uint64(int64(x)>>63) }

// size returns the number of bits of a signed number without its sign.
func size(y int64) int { return bits.Len64(uint64(y ^ y>>63)) }
