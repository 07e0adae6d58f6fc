// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"math"
	"math/bits"
)

// Kind is the kind of the value of a point.
type Kind uint8

// The kinds.
const (
	None Kind = iota
	Int
	Double
	Histogram
	Exponential
	Summary
)

// form is a kind and the encoding of its integer or double. 0 sends the bits that
// differ; from 1 on it is a decimal with form-1 decimals. Integers are decimals
// without decimals.
type form struct {
	kind    Kind
	decimal uint8
}

const decimals = maxExponent + 2

func (f form) number() uint64 { return uint64(f.kind)*decimals + uint64(f.decimal) }

func formOf(n uint64) (form, bool) {
	if n >= (uint64(Summary)+1)*decimals {
		return form{}, false
	}
	f := form{Kind(n / decimals), uint8(n % decimals)}
	return f, f.kind != Int || f.decimal == 1
}

// Point is the times and the value of a data point.
type Point struct {
	Start, Time uint64
	Kind        Kind
	// Scalar is the bits of the integer or double, or of the sum.
	Scalar uint64
	// Words and Floats are the rest of a histogram or summary.
	Words, Floats []uint64
}

// Fields are the fields of a CompactPoint.
type Fields struct {
	Time, Start, Form, Number, Bits uint64
	// Words and Floats do not change where the form does not use them.
	Words, Floats []uint64
}

// Home is the state that all series of a resource share: the time of the first
// point of their newest series.
type Home struct {
	first uint64
	tick  uint32
	known bool
}

// Series is the state of a series.
type Series struct {
	Home        *Home
	points      uint8 // seen, up to two
	startIsTime bool  // the last start was the time before
	form        form
	second      int8 // how much better second differences do
	time, start uint64
	interval    uint64
	number      int64 // the last integer or mantissa
	tick        uint32
	step        int64 // by which it changed
	bits        uint64
	words       []uint64
	floats      []uint64
}

// Points is the state of a stream of points. Both ends have the same.
type Points struct {
	time, start, form, number Residual
	bits                      uint64
	words                     Run
	floats                    uint64

	last struct {
		time, start uint64
		before      uint64 // time of its series before, if it had one
		known       bool
		form        form
		tick        uint32
		bits        uint64
	}
	first     uint64 // time of the last point that was the first of its series
	firstTick uint32
	interval  uint64 // of the last point that was the second
	far       [2]uint64
	clock     []tick
	hand      uint32
	series    bool // the time of a series does better than that of the point before
}

// tick is a time of points, and the number of the tick that followed it in the last
// continued series. A series that has not continued yet most likely has the same
// next tick.
type tick struct {
	time uint64
	next uint32 // plus one
}

// maxTicks is the number of remembered times; a new one replaces the oldest.
const maxTicks = 1 << 13

// tickOf returns the number of a tick, which may be a new one.
func (s *Points) tickOf(time uint64, likely ...uint32) uint32 {
	for _, n := range likely {
		if n < uint32(len(s.clock)) && s.clock[n].time == time {
			return n
		}
	}
	n := s.hand
	s.hand = (s.hand + 1) % maxTicks
	if n == uint32(len(s.clock)) {
		s.clock = append(s.clock, tick{time: time})
	} else {
		s.clock[n] = tick{time: time}
	}
	return n
}

// next returns the number of the predicted next tick of a series, if it is known.
func (s *Points) next(x *Series) (number uint32, ok bool) {
	if x.points == 0 || x.tick >= uint32(len(s.clock)) {
		return 0, false
	}
	t := &s.clock[x.tick]
	return t.next - 1, t.time == x.time && t.next > 0
}

// Reset discards all state.
func (s *Points) Reset() { *s = Points{} }

// times returns the two predictions of the time, the better one first.
func (s *Points) times(x *Series) (better, other, own uint64) {
	next, ok := s.next(x)
	switch {
	case x.points == 0 && x.Home.known:
		own = x.Home.first
	case x.points == 0:
		own = s.first
	case ok:
		own = s.clock[next].time
	case s.last.known && !s.series:
		own = s.last.time + (x.time - s.last.before)
	case x.points == 1:
		own = x.time + s.interval
	default:
		own = x.time + x.interval
	}
	if s.series {
		return own, s.last.time, own
	}
	return s.last.time, own, own
}

func (s *Points) startOf(x *Series) uint64 {
	switch {
	case x.points == 0:
		return s.last.start
	case x.startIsTime:
		return x.time
	}
	return x.start
}

func (s *Points) formOf(x *Series) form {
	if x.points == 0 {
		return s.last.form
	}
	return x.form
}

// numberOf predicts the integer or mantissa.
func (s *Points) numberOf(x *Series, f form) int64 {
	if x.points == 0 {
		return 0
	}
	last := x.number
	if x.form.decimal != f.decimal && x.form.decimal > 0 && f.decimal > 0 {
		last = rescale(last, uint(x.form.decimal-1), uint(f.decimal-1))
	} else if x.second > 1 {
		last += x.step
	}
	return last
}

func (s *Points) bitsOf(x *Series) uint64 {
	if x.points == 0 {
		return s.last.bits
	}
	return x.bits
}

// Put sets fields to the differences of p, and updates the state. It returns the
// number of words by which the series grew.
//
// spec: #compact-points
func (s *Points) Put(x *Series, p *Point, f *Fields) (words int) {
	far := [2]uint64{}
	nfar := 0
	better, other, own := s.times(x)
	code := uint64(codeSame)
	if p.Time != better {
		if p.Time == other {
			code = codeOther
		} else if c, ok := putUnit(p.Time - own); ok {
			code = c
		} else {
			code = codeFar
			far[nfar] = p.Time
			nfar++
		}
	}
	f.Time = s.time.Put(code)

	code = codeSame
	if start := s.startOf(x); p.Start != start {
		switch c, ok := putUnit(p.Start - p.Time); {
		case p.Start == s.last.start:
			code = codeOther
		case x.points > 0 && p.Start == x.time:
			code = codeThird
		case ok:
			code = c
		default:
			code = codeFar
			far[nfar] = p.Start
			nfar++
		}
	}
	f.Start = s.start.Put(code)

	now, m := s.choose(x, p)
	f.Form = s.form.Put(now.number() - s.formOf(x).number())
	if now.decimal > 0 {
		f.Number = s.number.Put(uint64(m - s.numberOf(x, now)))
	} else if p.Kind != None {
		s.bits ^= p.Scalar ^ s.bitsOf(x)
	}
	f.Bits = s.bits
	s.putWords(x, p, far[:nfar], f)
	return s.learn(x, p, now, m, own)
}

func (s *Points) putWords(x *Series, p *Point, far []uint64, f *Fields) {
	if p.Kind < Histogram && len(far) == 0 {
		return
	}
	f.Words, f.Floats = f.Words[:0], f.Floats[:0]
	if len(far) > 0 || !same(p.Words, x.words) {
		for i, w := range p.Words {
			f.Words = append(f.Words, s.words.Put(w-at(x.words, i)))
		}
		for _, w := range far {
			f.Words = append(f.Words, s.words.Put(w))
		}
	}
	if !same(p.Floats, x.floats) {
		for i, w := range p.Floats {
			s.floats ^= w ^ at(x.floats, i)
			f.Floats = append(f.Floats, s.floats)
		}
	}
}

func same(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func at(v []uint64, i int) uint64 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// choose returns the form in which a value is sent.
func (s *Points) choose(x *Series, p *Point) (form, int64) {
	f := form{kind: p.Kind}
	if p.Kind == None {
		return f, 0
	}
	if p.Kind == Int {
		f.decimal = 1
		return f, int64(p.Scalar)
	}
	v := math.Float64frombits(p.Scalar)
	was := s.formOf(x)
	from := uint(0)
	if was.kind == p.Kind && was.decimal > 0 {
		from = uint(was.decimal - 1)
	}
	for e := from; e <= maxExponent; e++ {
		m, ok := toDecimal(v, e)
		if !ok {
			continue
		}
		f.decimal = uint8(e + 1)
		r := m - s.numberOf(x, f)
		if n := bits.Len64(uint64(r<<1 ^ r>>63)); n > 28 {
			z := p.Scalar ^ s.bitsOf(x)
			if xor := 64 - bits.LeadingZeros64(z) - bits.TrailingZeros64(z) + 4; xor < n {
				break
			}
		}
		return f, m
	}
	f.decimal = 0
	return f, 0
}

// learn updates the state with a point.
func (s *Points) learn(x *Series, p *Point, now form, m int64, own uint64) (words int) {
	if own != s.last.time {
		s.series = p.Time == own
	}
	if x.points == 0 {
		s.first = p.Time
		s.last.known = false
		x.tick = s.tickOf(p.Time, x.Home.tick, s.firstTick, s.last.tick)
		s.firstTick = x.tick
		*x.Home = Home{p.Time, x.tick, true}
	} else {
		s.last.known, s.last.before = true, x.time
		next, ok := s.next(x)
		if !ok {
			next = s.last.tick
		}
		next = s.tickOf(p.Time, next, s.last.tick)
		if s.clock[x.tick].time == x.time {
			s.clock[x.tick].next = next + 1
		}
		x.tick = next
		x.startIsTime = p.Start == x.time && p.Start != x.start
		x.interval = p.Time - x.time
		if x.points == 1 {
			s.interval = x.interval
		}
	}
	if now.decimal > 0 {
		if x.points > 0 && now == x.form {
			step := m - x.number
			d1, d2 := bits.Len64(uint64(step^step>>63)), bits.Len64(uint64((step-x.step)^(step-x.step)>>63))
			switch {
			case d2 < d1 && x.second < 8:
				x.second++
			case d2 > d1 && x.second > -8:
				x.second--
			}
			x.step = step
		} else {
			x.step = 0
		}
		x.number = m
	}
	if p.Kind > Int {
		x.bits = p.Scalar
		s.last.bits = p.Scalar
	}
	x.time, x.start, x.form = p.Time, p.Start, now
	x.points = min(x.points+1, 2)
	if p.Kind >= Histogram || len(x.words)+len(x.floats) > 0 {
		words = len(p.Words) + len(p.Floats) - len(x.words) - len(x.floats)
		x.words = append(x.words[:0], p.Words...)
		x.floats = append(x.floats[:0], p.Floats...)
	}
	s.last.time, s.last.start, s.last.form, s.last.tick = p.Time, p.Start, now, x.tick
	return words
}

// Take sets p to the point that fields represent, and updates the state.
func (s *Points) Take(x *Series, f *Fields, p *Point) (words int, ok bool) {
	far := 0
	better, other, own := s.times(x)
	timeCode, startCode := s.time.Take(f.Time), s.start.Take(f.Start)
	switch timeCode {
	case codeSame:
		p.Time = better
	case codeOther:
		p.Time = other
	case codeFar:
		far++
	case codeThird:
		return 0, false
	default:
		p.Time = own + takeUnit(timeCode)
	}
	if startCode == codeFar {
		far++
	}
	now, ok := formOf(s.formOf(x).number() + s.form.Take(f.Form))
	if !ok {
		return 0, false
	}
	p.Kind = now.kind
	var m int64
	if now.decimal > 0 {
		m = s.numberOf(x, now) + int64(s.number.Take(f.Number))
		p.Scalar = uint64(m)
		if now.kind != Int {
			p.Scalar = math.Float64bits(fromDecimal(m, uint(now.decimal-1)))
		}
	} else if now.kind != None {
		p.Scalar = s.bits ^ f.Bits ^ s.bitsOf(x)
		s.bits = f.Bits
	} else {
		p.Scalar = 0
	}
	if !s.takeWords(x, f, p, far) {
		return 0, false
	}
	if timeCode == codeFar {
		p.Time = s.far[0]
	}
	switch startCode {
	case codeSame:
		p.Start = s.startOf(x)
	case codeOther:
		p.Start = s.last.start
	case codeFar:
		p.Start = s.far[far-1]
	case codeThird:
		p.Start = x.time
	default:
		p.Start = p.Time + takeUnit(startCode)
	}
	return s.learn(x, p, now, m, own), true
}

// takeWords is the inverse of putWords.
func (s *Points) takeWords(x *Series, f *Fields, p *Point, far int) bool {
	p.Words, p.Floats = p.Words[:0], p.Floats[:0]
	complex := p.Kind >= Histogram
	if far > 0 || complex && len(f.Words) > 0 {
		n := len(f.Words) - far
		if n < 0 || !complex && n > 0 {
			return false
		}
		for i, w := range f.Words[:n] {
			p.Words = append(p.Words, s.words.Take(w)+at(x.words, i))
		}
		for i, w := range f.Words[n:] {
			s.far[i] = s.words.Take(w)
		}
	} else if complex {
		p.Words = append(p.Words, x.words...)
	}
	if !complex {
		return true
	}
	if len(f.Floats) > 0 {
		for i, w := range f.Floats {
			p.Floats = append(p.Floats, s.floats^w^at(x.floats, i))
			s.floats = w
		}
	} else {
		p.Floats = append(p.Floats, x.floats...)
	}
	return true
}
