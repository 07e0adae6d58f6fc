// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import "math"

// A value has a form, which is the number places * kind + place. The place says how the scalar of
// the value is sent: 0 as bits, e + 1 as a decimal with e digits after the point. places is the
// number of different places.
//
// spec: #compact-points
const places = 14

// maxMantissa bounds the mantissas of decimals.
//
// spec: #compact-decimal
const maxMantissa = 1 << 53

// formOf sets p.form and p.kind: the kind of the value, and how its scalar is sent (see places).
func (m *metrics) formOf(compact view, x *series, p *point) error {
	expected := x.form
	if x.n == 0 {
		expected = m.last.form
	}
	p.form = expected + m.form.field(compact.number("Form"))
	switch kind, place := p.form/places, p.form%places; {
	case p.form < 0 || kind > kindSummary || kind == kindInt64 && place != 1:
		return corrupt("the form %d is not defined", p.form)
	case kind == kindNone && place != 0:
		return undefined("the form %d is not defined for a value of kind 0", p.form)
	}
	p.kind = p.form / places
	return nil
}

// scalarOf sets p.scalar: the bits of the integer, of the double, or of the sum.
func (m *metrics) scalarOf(rec view, x *series, p *point) error {
	place := p.form % places
	if place != 0 {
		p.mantissa = m.expectedNumber(x, place) + m.number.field(rec.number("Number"))
		if p.kind == kindInt64 {
			p.scalar = uint64(p.mantissa)
			return nil
		}
		if magnitude(p.mantissa) >= maxMantissa {
			return undefined("the mantissa %d of a decimal is not below 2^53", p.mantissa)
		}
		p.scalar = math.Float64bits(float64(p.mantissa) / float64(power(10, int(place-1))))
		return nil
	}
	if p.kind != kindNone {
		bits := rec.sub("Compact").bits("Bits")
		expected := x.bits
		if x.n == 0 {
			expected = m.last.bits
		}
		p.scalar = bits ^ m.bits ^ expected
		m.bits = bits
	}
	return nil
}

func (m *metrics) expectedNumber(x *series, place int64) int64 {
	switch before := x.form % places; {
	case x.n == 0:
		return 0
	case before != 0 && before != place:
		return rescaled(x.number, before, place)
	case x.second > 1:
		return x.number + x.step
	}
	return x.number
}

// rescaled converts a mantissa to another place (see places).
func rescaled(number, from, to int64) int64 {
	for ; from < to; from++ {
		if magnitude(number) > 900719925474099 {
			number = 0
		} else {
			number *= 10
		}
	}
	for ; from > to; from-- {
		number /= 10
	}
	return number
}

// listsOf sets the words and floats of the value, and the times that are sent in Words.
func (m *metrics) listsOf(compact view, x *series, p *point) error {
	isFar := btoi(p.timeCode == far) + btoi(p.startCode == far)
	composite := p.kind >= kindHistogram
	if !composite && isFar == 0 {
		return nil
	}
	words := m.words.elements(compact.numbers("Words"))
	floats := m.floatElements(compact.doubles("Floats"))
	if len(words) < isFar {
		return corrupt("Words has %d elements, fewer than the %d far times that it must hold", len(words), isFar)
	}
	words, p.far = words[:len(words)-isFar], words[len(words)-isFar:]
	if !composite {
		if len(words) > 0 {
			return corrupt("Words has %d elements more than far times, which a value of kind %d cannot have", len(words), p.kind)
		}
		if len(floats) > 0 {
			return undefined("Floats has elements, which a value of kind %d cannot have", p.kind)
		}
		return nil
	}
	if len(words) == 0 && isFar == 0 {
		p.words = x.words
	} else {
		for i, w := range words {
			p.words = append(p.words, w+at(x.words, i))
		}
	}
	if len(floats) == 0 {
		p.floats = x.floats
	} else {
		for i, f := range floats {
			p.floats = append(p.floats, f^at(x.floats, i))
		}
	}
	return nil
}

// floatElements returns the XOR of each element of Floats with the element before it.
func (m *metrics) floatElements(elements []uint64) []uint64 {
	var list []uint64
	for _, e := range elements {
		list = append(list, e^m.floats)
		m.floats = e
	}
	return list
}

// at returns an element of a list, or 0 if it does not exist.
func at(list []uint64, i int) uint64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// following returns the number of the tick (see clock) that is expected after the tick of the last
// point of a series.
func (m *metrics) following(x *series) (next int, known bool) {
	if x.n == 0 || !m.clock.has(x.tick, x.time) {
		return 0, false
	}
	t := m.clock.ticks[x.tick]
	return t.next, t.known
}

func (m *metrics) forecastOf(x *series, home *home) uint64 {
	next, follows := m.following(x)
	switch {
	case x.n == 0 && home.known:
		return home.first
	case x.n == 0:
		return m.first
	case follows:
		return m.clock.ticks[next].time
	case m.last.known && !m.own:
		return m.last.time + x.time - m.last.before
	case x.n == 1:
		return x.time + m.interval
	}
	return x.time + x.interval
}

// timesOf sets the times of the point.
func (m *metrics) timesOf(x *series, home *home, p *point) error {
	p.forecast = m.forecastOf(x, home)
	better, other := m.last.time, p.forecast
	if m.own {
		better, other = other, better
	}
	next := func() (t uint64) {
		t, p.far = p.far[0], p.far[1:]
		return t
	}
	switch p.timeCode {
	case 0:
		p.time = better
	case 1:
		p.time = other
	case far:
		p.time = next()
	default:
		d, ok := plainDifference(p.timeCode)
		if !ok {
			return undefined("the code %d of Time is not defined", p.timeCode)
		}
		p.time = p.forecast + d
	}

	expected := x.start
	if x.n == 0 {
		expected = m.last.start
	} else if x.startIsTime {
		expected = x.time
	}
	switch p.startCode {
	case 0:
		p.start = expected
	case 1:
		p.start = m.last.start
	case far:
		p.start = next()
	case 3:
		p.start = x.time
	default:
		d, ok := plainDifference(p.startCode)
		if !ok {
			return undefined("the code %d of Start is not defined", p.startCode)
		}
		p.start = p.time + d
	}
	return nil
}

// update updates the state after a point.
func (m *metrics) update(x *series, home *home, p *point) {
	if p.forecast != m.last.time {
		m.own = p.time == p.forecast
	}
	if x.n == 0 {
		m.first, m.last.known = p.time, false
		x.tick = m.clock.tickOf(p.time, home.tick, m.firstTick, m.last.tick)
		m.firstTick = x.tick
		home.known, home.first, home.tick = true, p.time, x.tick
	} else {
		m.last.known, m.last.before = true, x.time
		m.setTick(x, p)
		x.startIsTime = p.start == x.time && p.start != x.start
		x.interval = p.time - x.time
		if x.n == 1 {
			m.interval = x.interval
		}
	}
	if p.form%places != 0 {
		x.learn(p)
	}
	if p.kind != kindNone && p.kind != kindInt64 {
		x.bits, m.last.bits = p.scalar, p.scalar
	}
	x.time, x.start, x.form = p.time, p.start, p.form
	x.n = min(x.n+1, 2)
	if x.listed {
		m.tables.elements += len(p.words) + len(p.floats) - len(x.words) - len(x.floats)
	}
	x.words, x.floats = p.words, p.floats
	m.last.time, m.last.start, m.last.form, m.last.tick = p.time, p.start, p.form, x.tick
}

// setTick sets the tick (see clock) of a series to the tick of its new point.
func (m *metrics) setTick(x *series, p *point) {
	first := m.last.tick
	if next, known := m.following(x); known {
		first = next
	}
	t := m.clock.tickOf(p.time, first, m.last.tick)
	if m.clock.has(x.tick, x.time) {
		m.clock.ticks[x.tick].next, m.clock.ticks[x.tick].known = t, true
	}
	x.tick = t
}

// learn updates the state that predicts the next mantissa of a series: number, step, second.
func (x *series) learn(p *point) {
	if x.n > 0 && p.form == x.form {
		a := p.mantissa - x.number
		b := a - x.step
		if width(b) < width(a) && x.second < 8 {
			x.second++
		}
		if width(b) > width(a) && x.second > -8 {
			x.second--
		}
		x.step = a
	} else {
		x.step = 0
	}
	x.number = p.mantissa
}

// width is m(y) of the specification: the number of bits of y without its leading bits that
// are equal to the sign bit.
func width(y int64) int64 { return length(uint64(y ^ y>>63)) }
