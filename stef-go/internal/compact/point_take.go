// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import "math"

// TakeCode sets p to the point that fields represent, and updates the state. Words and Floats of p
// are set only if the kind has them. timeCode is the result of TimeCode. Call TimeCode once per
// record, because it changes the state.
func (s *Points) TakeCode(x *Series, f *Fields, p *Point, timeCode uint64) (words int, ok bool) {
	if f.Known && x.points == 2 && IsNear(timeCode) {
		return s.takeKnown(x, f, p, timeCode)
	}
	next := s.next(x)
	own := s.forecast(x, next)
	startCode := s.start.Take(f.Start)
	far := 0
	switch timeCode {
	case codeSame, codeOther:
		p.Time = s.last.time
		if s.series == (timeCode == codeSame) {
			p.Time = own
		}
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
	now := s.formOf(x)
	if code := s.form.Take(f.Form); code != 0 {
		if now, ok = formOf(now.number() + code); !ok {
			return 0, false
		}
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
	if far > 0 || now.kind >= Histogram || x.rest != nil {
		if words, ok = s.takeWords(x, f, p, far); !ok {
			return 0, false
		}
		if timeCode == codeFar {
			p.Time = s.far[0]
		}
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
	s.learn(x, p, now, m, own, next)
	return words, true
}

// IsNear reports whether TakeSteady accepts the code of a time.
func IsNear(code uint64) bool { return code != codeFar && code != codeThird }

// takeKnown implements Take for a point whose codes of start and form are 0, in a series with at
// least two points. It does the same as TakeSteady, but for all forms.
func (s *Points) takeKnown(x *Series, f *Fields, p *Point, code uint64) (words int, ok bool) {
	p.Kind = x.form.kind
	switch {
	case x.form.decimal > 0:
		p.Start, p.Time, p.Scalar = s.TakeSteady(x, s.number.Take(f.Number), code)
	case p.Kind == None:
		p.Scalar = 0
		p.Start, p.Time = s.takeTimes(x, code)
	default:
		p.Scalar = s.bits ^ f.Bits ^ x.bits
		s.bits, x.bits, s.last.bits = f.Bits, p.Scalar, p.Scalar
		p.Start, p.Time = s.takeTimes(x, code)
	}
	if p.Kind >= Histogram || x.rest != nil {
		return s.takeWords(x, f, p, 0)
	}
	return 0, true
}

// Steady reports whether TakeSteady can take the next point of the series, provided
// that its record has neither the field Start nor the field Form.
func (x *Series) Steady() bool { return x.steady }

// Kind returns the kind of the last point of the series.
func (x *Series) Kind() Kind { return x.form.kind }

// TimeCode returns the code that the field Time represents, and updates its state: a second
// call for the same record returns 0.
func (s *Points) TimeCode(time uint64) uint64 { return s.time.Take(time) }

// Residual returns the residual that the field Number represents.
func (s *Points) Residual(number uint64) uint64 { return s.number.Take(number) }

// TakeSteady implements Take for a point whose codes of start and form are 0, in a steady
// series: the start is as predicted, and the form and the kind do not change. Most
// points of most streams are such points, so TakeSteady returns the point in registers.
// residual is the residual of Number, and code is the code of Time. Code 0 means that
// the better prediction of the time is right; it then stays the better prediction.
func (s *Points) TakeSteady(x *Series, residual, code uint64) (start, time, scalar uint64) {
	before := x.number
	m := before + int64(residual)
	if x.second > 1 {
		m += x.step
	}
	scalar = uint64(m)
	if x.form.kind != Int {
		if scalar = x.bits; m != before {
			scalar = math.Float64bits(fromDecimal(m, uint(x.form.decimal-1)))
			x.bits = scalar
		}
		s.last.bits = scalar
	}
	x.learnStep(m - before)
	x.number = m

	// Do the same as takeTimes and takeTick, but without calls.
	was := x.time
	start = x.start
	if x.startIsTime {
		x.startIsTime = was != start
		start = was
		x.start = was
	}
	time = s.last.time
	if h := &s.hop; code == 0 && x.tick == h.from && was == h.fromTime && (s.series || time == h.toTime) {
		time = h.toTime
		x.tick = h.to
	} else if next := s.next(x); code == 0 && next > 0 && (s.series || s.ticks[next-1].time == time) {
		time = s.ticks[next-1].time
		h.from, h.to, h.fromTime, h.toTime = x.tick, next-1, was, time
		x.tick = next - 1
	} else {
		time = s.takeTick(x, code)
	}
	x.time, x.interval = time, time-was
	s.last.known, s.last.before = true, was
	s.last.time, s.last.start, s.last.form, s.last.tick = time, start, x.form, x.tick
	return start, time, scalar
}

// takeTimes returns the times of a point whose code of start is 0, and updates the state
// with them.
func (s *Points) takeTimes(x *Series, code uint64) (start, time uint64) {
	was := x.time
	start = x.start
	if x.startIsTime {
		x.startIsTime = was != start
		start = was
		x.start = was
	}
	time = s.last.time
	if h := &s.hop; code == 0 && x.tick == h.from && was == h.fromTime && (s.series || time == h.toTime) {
		time = h.toTime
		x.tick = h.to
	} else {
		time = s.takeTick(x, code)
	}
	x.time, x.interval = time, time-was
	s.last.known, s.last.before = true, was
	s.last.time, s.last.start, s.last.form, s.last.tick = time, start, x.form, x.tick
	return start, time
}

// takeTick returns the time of the next point of a series with at least two points, and moves the
// series to the tick (see tick) of this point.
func (s *Points) takeTick(x *Series, code uint64) (time uint64) {
	next := s.next(x)
	time = s.last.time
	if code != codeSame {
		own := s.forecast(x, next)
		if code != codeOther {
			time = own + takeUnit(code)
		} else if !s.series {
			time = own
		}
		if own != s.last.time {
			s.series = time == own
		}
		s.learnTick(x, time, next)
		return time
	}
	if next > 0 {
		if t := s.ticks[next-1].time; s.series || t == time {
			s.hop.from, s.hop.to, s.hop.fromTime, s.hop.toTime = x.tick, next-1, x.time, t
			x.tick = next - 1
			return t
		}
	}
	if s.series {
		time = s.forecast(x, next)
	}
	s.learnTick(x, time, next)
	return time
}

// takeWords is the inverse of putWords. It changes the words and floats of the series
// in place; p shares them until the next point. grown is the increase in their number.
func (s *Points) takeWords(x *Series, f *Fields, p *Point, far int) (grown int, ok bool) {
	complex := p.Kind >= Histogram
	r := x.rest
	if r == nil {
		if r = &s.none; complex {
			r = freeRests.Get().(*rest)
			x.rest = r
		}
	}
	before := len(r.words) + len(r.floats)
	if !complex {
		r.words, r.floats = r.words[:0], r.floats[:0]
	}
	if far > 0 || complex && len(f.Words) > 0 {
		n := len(f.Words) - far
		if n < 0 || !complex && n > 0 {
			return 0, false
		}
		old := min(len(r.words), n)
		words := roomFor(r.words[:old], n)[:n]
		clear(words[old:])
		r.words = words
		s.words.takeAll(words, f.Words)
		for i, w := range f.Words[n:] {
			s.far[i] = s.words.Take(w)
		}
	}
	if complex && len(f.Floats) > 0 {
		r.floats = roomFor(r.floats[:min(len(r.floats), len(f.Floats))], len(f.Floats))
		for i, w := range f.Floats {
			bits := s.floats ^ w
			s.floats = w
			if i < len(r.floats) {
				r.floats[i] ^= bits
			} else {
				r.floats = append(r.floats, bits)
			}
		}
	}
	p.Words, p.Floats = r.words, r.floats
	return len(r.words) + len(r.floats) - before, true
}

// roomFor returns v with capacity for n elements. It allocates no spare capacity,
// because there are many series.
func roomFor(v []uint64, n int) []uint64 {
	if n <= cap(v) {
		return v
	}
	return append(make([]uint64, 0, n), v...)
}
