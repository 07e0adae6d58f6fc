// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"math"
	"math/bits"
	"sync"
	"unsafe"
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

// form is the kind of a value, and the encoding of its integer or double. If decimal is 0, the bits
// that differ from an earlier double are sent; otherwise the value is a decimal with decimal-1
// places. Integers are decimals without places.
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
	// Scalar has the bits of the integer or double, or of the sum of a histogram or summary.
	Scalar uint64
	// Words has the integers and Floats the doubles of a histogram or summary, except Scalar:
	// counts, quantiles and so on. Both are empty for other kinds.
	Words, Floats []uint64
}

// Fields are the fields of a CompactPoint.
type Fields struct {
	Time, Start, Form, Number, Bits uint64
	// Words and Floats do not change if the point does not use them.
	Words, Floats []uint64
	// Known says that Start and Form did not change since the last Take. Put does not use it.
	Known bool
	// Listed says that the last Put set Words and Floats. Take does not use it.
	Listed bool
	// Steady says that the last Put changed only Number. Take does not use it.
	Steady bool
}

// Home is the state that all series of a resource share. For example, it has the time of the first
// point of the newest series.
type Home struct {
	first uint64
	tick  uint32
	known bool
}

// Series is the state of a series.
type Series struct {
	time, start uint64
	interval    uint64
	number      int64 // last integer or mantissa
	step        int64 // last change of number
	bits        uint64
	tick        uint32
	points      uint8 // number of points seen, at most two
	startIsTime bool  // the last start time was the time of the previous point
	steady      bool  // two points or more, none with words or floats, and the last point is sent as a decimal
	second      int8  // score of predictions by second differences
	form        form
	Home        *Home
	rest        *rest // nil before the first histogram or summary
}

// Points is the state of a stream of points. Writer and reader have equal states.
type Points struct {
	time, start, form, number Residual
	bits                      uint64
	words                     Run
	floats                    uint64

	last struct {
		time, start uint64
		before      uint64 // time of the previous point of the same series, if known
		known       bool
		form        form
		tick        uint32
		bits        uint64
	}
	first     uint64 // time of the first point of the newest series
	firstTick uint32
	interval  uint64 // interval of the last series that got its second point
	far       [2]uint64
	none      rest // stays empty: the rest of a series without words
	ticks     []tick
	hand      uint32 // number of the next new tick; after maxTicks it starts at 0 again and replaces ticks
	series    bool   // the series predicts the time better than the previous point

	// hop is the last step that a series made from one tick to the next. Most series
	// make the same step. It is discarded when any tick changes.
	hop struct {
		from, to         uint32
		fromTime, toTime uint64
	}
}

// tick is a time of points. next is the tick to which a series last moved from this
// tick; it predicts the next tick of the other series at this time.
type tick struct {
	time uint64
	next uint32 // number of the tick, plus one
}

// maxTicks is the maximum number of stored times. Each further time replaces the oldest time.
const maxTicks = 1 << 13

// noTick stands for no tick. No tick has this number.
const noTick = ^uint32(0)

// Held returns the memory of the state beyond that of the series.
func (s *Points) Held() int { return cap(s.ticks) * int(unsafe.Sizeof(tick{})) }

func (s *Points) isTick(n uint32, time uint64) bool {
	return n < uint32(len(s.ticks)) && s.ticks[n].time == time
}

func (s *Points) newTick(time uint64) uint32 {
	n := s.hand
	s.hand = (s.hand + 1) % maxTicks
	s.hop.from = noTick
	if n == uint32(len(s.ticks)) {
		if len(s.ticks) == cap(s.ticks) {
			s.growTicks()
		}
		s.ticks = append(s.ticks, tick{time: time})
	} else {
		s.ticks[n] = tick{time: time}
	}
	return n
}

// growTicks doubles the capacity. append would grow by a quarter: streams in which each
// point has a time of its own would copy each tick several times.
func (s *Points) growTicks() {
	grown := takeTicks(min(max(firstTicks, 2*len(s.ticks)), maxTicks))[:len(s.ticks)]
	copy(grown, s.ticks)
	releaseTicks(s.ticks)
	s.ticks = grown
}

// firstTicks is the capacity of the first list of ticks of a stream.
const firstTicks = 64

// tickPools pools the ticks of ended streams for new streams. The index is the number of bits of
// the capacity. All capacities are powers of two, because firstTicks and maxTicks are, so all lists
// in a pool have the same capacity. Each tick is set before it is used, so ticks are not cleared.
var tickPools [15]sync.Pool // of *tick, a pointer to the first tick

func takeTicks(n int) []tick {
	if t, ok := tickPools[bits.Len(uint(n))].Get().(*tick); ok {
		return unsafe.Slice(t, n)[:0]
	}
	return make([]tick, 0, n)
}

func releaseTicks(ticks []tick) {
	if n := cap(ticks); n > 0 {
		tickPools[bits.Len(uint(n))].Put(unsafe.SliceData(ticks))
	}
}

// next returns the number of the tick (see tick) that is predicted for the next point of a series,
// plus one. It returns 0 if it cannot predict the tick.
func (s *Points) next(x *Series) uint32 {
	if x.points == 0 || x.tick >= uint32(len(s.ticks)) {
		return 0
	}
	if t := &s.ticks[x.tick]; t.time == x.time {
		return t.next
	}
	return 0
}

// Reset discards all state.
func (s *Points) Reset() {
	*s = Points{ticks: s.ticks[:0]}
	s.hop.from = noTick
}

// Release discards all state and its memory.
func (s *Points) Release() {
	releaseTicks(s.ticks)
	*s = Points{}
	s.hop.from = noTick
}

// forecast returns the time that is predicted for a series. The argument next is the result of the
// method next.
func (s *Points) forecast(x *Series, next uint32) uint64 {
	switch {
	case next > 0:
		return s.ticks[next-1].time
	case x.points == 0 && x.Home.known:
		return x.Home.first
	case x.points == 0:
		return s.first
	case s.last.known && !s.series:
		return s.last.time + (x.time - s.last.before)
	case x.points == 1:
		return x.time + s.interval
	}
	return x.time + x.interval
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

// Put sets f to the differences between p and its predictions, and updates the state. It returns
// the increase in the number of Words and Floats that the series keeps.
//
// spec: #compact-points
func (s *Points) Put(x *Series, p *Point, f *Fields) (words int) {
	f.Listed = false
	if f.Steady = x.steady && s.putSteady(x, p, f); f.Steady {
		return 0
	}
	far := [2]uint64{}
	nfar := 0
	next := s.next(x)
	own := s.forecast(x, next)
	better, other := s.last.time, own
	if s.series {
		better, other = own, s.last.time
	}
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
	s.learn(x, p, now, m, own, next)
	if p.Kind >= Histogram || x.rest != nil {
		words = x.keep(p)
	}
	return words
}

// putSteady implements Put for a point of a steady series (see Series) if all codes of the point
// are 0: the fields for times and for the form do not change. For any other point it returns false
// and changes nothing. It is the inverse of TakeSteady.
func (s *Points) putSteady(x *Series, p *Point, f *Fields) bool {
	start := x.start
	if x.startIsTime {
		start = x.time
	}
	if p.Kind != x.form.kind || p.Start != start || !s.series && p.Time != s.last.time {
		return false
	}
	m, ok := x.sameForm(p)
	if !ok {
		return false
	}
	// The code of the time is 0 because the better prediction is right. So it stays the better
	// prediction, and s.series does not change.
	if h := &s.hop; x.tick == h.from && x.time == h.fromTime && p.Time == h.toTime {
		x.tick = h.to
	} else {
		next := s.next(x)
		if s.series && p.Time != s.forecast(x, next) {
			return false
		}
		s.learnTick(x, p.Time, next)
	}
	r := m - x.number
	if x.second > 1 {
		r -= x.step
	}
	f.Number = s.number.Put(uint64(r))
	s.last.known, s.last.before = true, x.time
	x.startIsTime = p.Start == x.time && p.Start != x.start
	x.interval = p.Time - x.time
	x.learnStep(m - x.number)
	x.number = m
	if p.Kind > Int {
		x.bits = p.Scalar
		s.last.bits = p.Scalar
	}
	x.time, x.start = p.Time, p.Start
	s.last.time, s.last.start, s.last.form, s.last.tick = p.Time, p.Start, x.form, x.tick
	return true
}

// maxPlain is the maximum length in bits of a residual for which choose always selects the decimal
// form. For a longer residual, choose compares its length with the length of the other form, which
// sends the bits that differ.
const maxPlain = 28

// sameForm returns the mantissa of a point of a steady series (see Series) in the form of the last
// point. ok is false if choose could choose another form.
func (x *Series) sameForm(p *Point) (m int64, ok bool) {
	if p.Kind == Int {
		return int64(p.Scalar), true
	}
	if m = x.number; p.Scalar != x.bits {
		if m, ok = toDecimal(math.Float64frombits(p.Scalar), uint(x.form.decimal-1)); !ok {
			return 0, false
		}
	}
	r := m - x.number
	if x.second > 1 {
		r -= x.step
	}
	return m, bits.Len64(uint64(r<<1^r>>63)) <= maxPlain
}

func (s *Points) putWords(x *Series, p *Point, far []uint64, f *Fields) {
	if p.Kind < Histogram && len(far) == 0 {
		return
	}
	f.Words, f.Floats, f.Listed = f.Words[:0], f.Floats[:0], true
	was := x.last()
	if len(far) > 0 || !same(p.Words, was.words) {
		for i, w := range p.Words {
			f.Words = append(f.Words, s.words.Put(w-at(was.words, i)))
		}
		for _, w := range far {
			f.Words = append(f.Words, s.words.Put(w))
		}
	}
	if !same(p.Floats, was.floats) {
		for i, w := range p.Floats {
			s.floats ^= w ^ at(was.floats, i)
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

// choose returns the form in which a value is sent, and its integer or mantissa.
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
	m, e, ok := firstDecimal(v, from)
	if !ok {
		return f, 0
	}
	f.decimal = uint8(e + 1)
	r := m - s.numberOf(x, f)
	if n := bits.Len64(uint64(r<<1 ^ r>>63)); n > maxPlain {
		z := p.Scalar ^ s.bitsOf(x)
		if xor := 64 - bits.LeadingZeros64(z) - bits.TrailingZeros64(z) + 4; xor < n {
			f.decimal = 0
			return f, 0
		}
	}
	return f, m
}

// learn updates the state with a point, except its words and floats. The arguments own and next are
// the results of the methods forecast and next.
func (s *Points) learn(x *Series, p *Point, now form, m int64, own uint64, next uint32) {
	if own != s.last.time {
		s.series = p.Time == own
	}
	if x.points < 2 {
		s.learnFirst(x, p, next)
	} else {
		s.last.known, s.last.before = true, x.time
		s.learnTick(x, p.Time, next)
		x.startIsTime = p.Start == x.time && p.Start != x.start
		x.interval = p.Time - x.time
	}
	if now.decimal > 0 {
		if x.points > 0 && now == x.form {
			x.learnStep(m - x.number)
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
	x.steady = x.points == 2 && x.rest == nil && now.decimal > 0 && now.kind <= Double
	s.last.time, s.last.start, s.last.form, s.last.tick = p.Time, p.Start, now, x.tick
}

// learnFirst updates the times of a series with its first or second point.
func (s *Points) learnFirst(x *Series, p *Point, next uint32) {
	if x.points == 1 {
		s.last.known, s.last.before = true, x.time
		s.learnTick(x, p.Time, next)
		x.startIsTime = p.Start == x.time && p.Start != x.start
		x.interval = p.Time - x.time
		s.interval = x.interval
		return
	}
	s.first = p.Time
	s.last.known = false
	switch {
	case s.isTick(x.Home.tick, p.Time):
		x.tick = x.Home.tick
	case s.isTick(s.firstTick, p.Time):
		x.tick = s.firstTick
	case s.isTick(s.last.tick, p.Time):
		x.tick = s.last.tick
	default:
		x.tick = s.newTick(p.Time)
	}
	s.firstTick = x.tick
	*x.Home = Home{p.Time, x.tick, true}
}

// learnTick moves a series to the tick (see tick) of its next point. The argument next is the
// result of the method next.
func (s *Points) learnTick(x *Series, time uint64, next uint32) {
	if next > 0 && s.ticks[next-1].time == time {
		h := &s.hop
		h.from, h.to, h.fromTime, h.toTime = x.tick, next-1, x.time, time
		x.tick = next - 1
		return
	}
	n := s.last.tick
	if !s.isTick(n, time) {
		n = s.newTick(time)
	}
	if t := &s.ticks[x.tick]; t.time == x.time {
		t.next = n + 1
		s.hop.from = noTick
	}
	x.tick = n
}

// learnStep updates the score of predictions by second differences: it increases if the
// second difference of this point has fewer bits than the first difference, and decreases
// in the opposite case. The compiler compiles the ifs without branches, which would often be
// mispredicted. learnStep does not count bits: a has fewer bits than b if and only if
// a < b&^a.
func (x *Series) learnStep(step int64) {
	if step|x.step == 0 {
		return
	}
	second := step - x.step
	x.step = step
	first, fewer := uint64(step^step>>63), uint64(second^second>>63)
	change := int8(0)
	if fewer < first&^fewer {
		change = 1
	}
	if first < fewer&^first {
		change = -1
	}
	x.second = max(min(x.second+change, 8), -8)
}
