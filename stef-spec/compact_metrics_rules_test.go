// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// The bounds of the state of metrics.
const (
	ruleSeries = 65536
	rulePairs  = 524288
	ruleWords  = 2097152
	ruleTicks  = 8192
)

type ruleTick struct {
	time uint64
	next int // -1 if it is not known
}

type ruleHome struct {
	known bool
	first uint64
	tick  int
}

type ruleSeriesState struct {
	n                     int
	time, start, interval uint64
	startIsTime           bool
	form                  int64
	number, step          int64
	second                int
	bits                  uint64
	tick                  int
	words, floats         []uint64
	exemplars             []any
	exemplarBytes         int
	shares                bool
}

type seriesID struct {
	metric, resource, scope *dynamic.Struct // entries of dictionaries
	attributes              string
}

// metricsRules are the rules for Metrics.
//
// spec: #compact-series #compact-points
type metricsRules struct {
	series map[seriesID]*ruleSeriesState
	homes  map[*dynamic.Struct]*ruleHome
	sets   map[string]bool
	pairs  int
	words  int

	time, start, form, number residualField
	bits, lastElement         uint64
	wordsArray                residualArray

	last struct {
		time, start, before, bits uint64
		form                      int64
		tick                      int
		known                     bool
	}
	first, interval uint64
	firstTick       int
	own             bool
	clock           []ruleTick
	oldest          int

	sharing       bool // the stream has CompactExemplars
	source        residualField
	exemplarBytes int
}

func (s *metricsRules) restart() {
	*s = metricsRules{sharing: s.sharing}
	s.emptyTables()
}

func (s *metricsRules) emptyTables() {
	s.series, s.homes, s.sets = map[seriesID]*ruleSeriesState{}, map[*dynamic.Struct]*ruleHome{}, map[string]bool{}
	s.pairs, s.words, s.exemplarBytes = 0, 0, 0
}

// find returns the series of a record, and the ruleHome of its resource.
func (s *metricsRules) find(rec view) (x *ruleSeriesState, home *ruleHome, counted bool) {
	pairs := rec.get("Attributes").(*dynamic.Multimap).Pairs
	text := ""
	for _, p := range pairs {
		v := p.Value.(*dynamic.Oneof)
		value := v.Value
		switch f := value.(type) {
		case *dynamic.Array, *dynamic.Multimap, []byte:
			return &ruleSeriesState{}, &ruleHome{}, false
		case float64:
			value = math.Float64bits(f)
		}
		text += fmt.Sprintf("%q=%d:%q ", p.Key, v.Choice, fmt.Sprint(value))
	}
	resource := rec.get("Resource").(*dynamic.Struct)
	id := seriesID{rec.get("Metric").(*dynamic.Struct), resource, rec.get("Scope").(*dynamic.Struct), text}
	x = s.series[id]
	if x == nil {
		addSet := func() {
			if !s.sets[text] {
				s.sets[text] = true
				s.pairs += 1 + len(pairs)
			}
		}
		addSet()
		if len(s.series) >= ruleSeries || s.pairs > rulePairs || s.words > ruleWords {
			s.emptyTables()
			addSet()
		}
		x = &ruleSeriesState{}
		s.series[id] = x
	}
	if s.homes[resource] == nil {
		s.homes[resource] = &ruleHome{}
	}
	return x, s.homes[resource], true
}

func (s *metricsRules) tickOf(t uint64, numbers ...int) int {
	for _, n := range numbers {
		if n < len(s.clock) && s.clock[n].time == t {
			return n
		}
	}
	n := len(s.clock)
	if n < ruleTicks {
		s.clock = append(s.clock, ruleTick{t, -1})
		return n
	}
	n = s.oldest
	s.oldest = (n + 1) % ruleTicks
	s.clock[n] = ruleTick{t, -1}
	return n
}

func (s *metricsRules) knowsNext(x *ruleSeriesState) bool {
	return x.n > 0 && s.clock[x.tick].time == x.time && s.clock[x.tick].next >= 0
}

func (s *metricsRules) forecast(x *ruleSeriesState, home *ruleHome) uint64 {
	switch {
	case x.n == 0 && home.known:
		return home.first
	case x.n == 0:
		return s.first
	case s.knowsNext(x):
		return s.clock[s.clock[x.tick].next].time
	case s.last.known && !s.own:
		return s.last.time + x.time - s.last.before
	case x.n == 1:
		return x.time + s.interval
	}
	return x.time + x.interval
}

type rulePoint struct {
	time, start   uint64
	form          int64
	kind, place   int64
	mantissa      int64
	scalar        uint64
	words, floats []uint64
}

func (s *metricsRules) plain(rec, out view) error {
	x, home, counted := s.find(rec)
	c := rec.sub("Compact")
	forecast := s.forecast(x, home)
	var p rulePoint
	farTime, err := s.readTime(c, forecast, &p)
	if err != nil {
		return err
	}
	startCode := s.start.residual(c.number("Start"))
	if err := s.readScalar(rec, c, x, &p); err != nil {
		return err
	}
	if err := s.readLists(c, x, &p, farTime, startCode == far); err != nil {
		return err
	}
	if err := s.readStart(startCode, x, &p); err != nil {
		return err
	}
	point := out.sub("Point")
	point.set("Timestamp", p.time)
	point.set("StartTimestamp", p.start)
	i := point.index("Value")
	value, err := p.value(point.t.Fields[i].Type.Struct)
	if err != nil {
		return err
	}
	point.set("Value", value)
	if counted {
		s.words += len(p.words) + len(p.floats) - len(x.words) - len(x.floats)
	}
	s.learn(x, home, &p, forecast)
	return s.exemplars(rec, out, x, counted)
}

func (s *metricsRules) readTime(c view, forecast uint64, p *rulePoint) (isFar bool, err error) {
	better, other := s.last.time, forecast
	if s.own {
		better, other = other, better
	}
	switch code := s.time.residual(c.number("Time")); code {
	case 0:
		p.time = better
	case 1:
		p.time = other
	case far:
		return true, nil
	default:
		d, err := fromPlain(code)
		p.time = forecast + d
		return false, err
	}
	return false, nil
}

func (s *metricsRules) readStart(code int64, x *ruleSeriesState, p *rulePoint) error {
	switch code {
	case 0:
		p.start = x.start
		if x.n == 0 {
			p.start = s.last.start
		} else if x.startIsTime {
			p.start = x.time
		}
	case 1:
		p.start = s.last.start
	case 3:
		p.start = x.time
	case far:
	default:
		d, err := fromPlain(code)
		p.start = p.time + d
		return err
	}
	return nil
}

func (s *metricsRules) readScalar(rec, c view, x *ruleSeriesState, p *rulePoint) error {
	p.form = s.form.residual(c.number("Form"))
	if x.n == 0 {
		p.form += s.last.form
	} else {
		p.form += x.form
	}
	p.kind, p.place = p.form/14, p.form%14
	if p.form < 0 || p.kind > 5 || p.kind == 0 && p.place != 0 || p.kind == 1 && p.place != 1 {
		return fmt.Errorf("%w: form %d", errRule, p.form)
	}
	switch {
	case p.place > 0:
		p.mantissa = s.number.residual(rec.number("Number")) + s.expected(x, p.place)
		p.scalar = uint64(p.mantissa)
		if p.kind > 1 {
			if magnitude(p.mantissa) >= 1<<53 {
				return fmt.Errorf("%w: mantissa %d", errRule, p.mantissa)
			}
			p.scalar = math.Float64bits(decimal(p.mantissa, p.place-1))
		}
	case p.kind > 0:
		field := c.number("Bits")
		p.scalar = s.bits ^ field
		s.bits = field
		if x.n == 0 {
			p.scalar ^= s.last.bits
		} else {
			p.scalar ^= x.bits
		}
	}
	return nil
}

// decimal returns the double that is nearest to m / 10^e.
func decimal(m, e int64) float64 {
	f, _ := new(big.Rat).SetFrac(big.NewInt(m), new(big.Int).Exp(big.NewInt(10), big.NewInt(e), nil)).Float64()
	return f
}

func (s *metricsRules) expected(x *ruleSeriesState, place int64) int64 {
	was := x.form % 14
	number := x.number
	switch {
	case x.n == 0:
		return 0
	case was != 0 && was != place:
		for ; was < place; was++ {
			if magnitude(number) > 900719925474099 {
				number = 0
			}
			number *= 10
		}
		for ; was > place; was-- {
			number /= 10
		}
	case x.second > 1:
		number += x.step
	}
	return number
}

func (s *metricsRules) readLists(c view, x *ruleSeriesState, p *rulePoint, farTime, farStart bool) error {
	if p.kind < 3 && !farTime && !farStart {
		return nil
	}
	words := s.wordsArray.residuals(c.numbers("Words"))
	if len(words) == 0 && !farTime && !farStart {
		p.words = slices.Clone(x.words)
	}
	for _, f := range []struct {
		far bool
		to  *uint64
	}{{farStart, &p.start}, {farTime, &p.time}} { // a far start is the last word; a far time precedes it
		if !f.far {
			continue
		}
		if len(words) == 0 {
			return fmt.Errorf("%w: a far time is missing", errRule)
		}
		*f.to = words[len(words)-1]
		words = words[:len(words)-1]
	}
	if p.kind < 3 && len(words) > 0 {
		return fmt.Errorf("%w: %d words for kind %d", errRule, len(words), p.kind)
	}
	for i, w := range words {
		if i < len(x.words) {
			w += x.words[i]
		}
		p.words = append(p.words, w)
	}
	if p.kind < 3 {
		return nil
	}
	elements := c.numbers("Floats")
	if len(elements) == 0 {
		p.floats = slices.Clone(x.floats)
	}
	for i, e := range elements {
		f := e ^ s.lastElement
		s.lastElement = e
		if i < len(x.floats) {
			f ^= x.floats[i]
		}
		p.floats = append(p.floats, f)
	}
	return nil
}

func (s *metricsRules) learn(x *ruleSeriesState, home *ruleHome, p *rulePoint, forecast uint64) {
	if forecast != s.last.time {
		s.own = p.time == forecast
	}
	if x.n == 0 {
		s.first, s.last.known = p.time, false
		x.tick = s.tickOf(p.time, home.tick, s.firstTick, s.last.tick)
		s.firstTick = x.tick
		*home = ruleHome{true, p.time, x.tick}
	} else {
		s.last.known, s.last.before = true, x.time
		next := s.last.tick
		if s.knowsNext(x) {
			next = s.clock[x.tick].next
		}
		t := s.tickOf(p.time, next, s.last.tick)
		if s.clock[x.tick].time == x.time {
			s.clock[x.tick].next = t
		}
		x.tick = t
		x.startIsTime = p.start == x.time && p.start != x.start
		x.interval = p.time - x.time
		if x.n == 1 {
			s.interval = x.interval
		}
	}
	if p.place != 0 {
		if x.n > 0 && p.form == x.form {
			a := p.mantissa - x.number
			b := a - x.step
			if size(b) < size(a) && x.second < 8 {
				x.second++
			}
			if size(b) > size(a) && x.second > -8 {
				x.second--
			}
			x.step = a
		} else {
			x.step = 0
		}
		x.number = p.mantissa
	}
	if p.kind > 1 {
		x.bits, s.last.bits = p.scalar, p.scalar
	}
	x.time, x.start, x.form = p.time, p.start, p.form
	x.n = min(x.n+1, 2)
	x.words, x.floats = p.words, p.floats
	s.last.time, s.last.start, s.last.form, s.last.tick = p.time, p.start, p.form, x.tick
}

// value builds the value from the scalar, the words and the floats.
func (p *rulePoint) value(t *schema.Struct) (*dynamic.Oneof, error) {
	w, f := p.words, p.floats
	wrong := fmt.Errorf("%w: %d words and %d floats for kind %d", errRule, len(w), len(f), p.kind)
	if p.kind == 0 {
		return &dynamic.Oneof{}, nil
	}
	choice := &t.Fields[p.kind-1].Type
	out := &dynamic.Oneof{Choice: int(p.kind)}
	if p.kind <= 2 {
		out.Value = int64(p.scalar)
		if p.kind == 2 {
			out.Value = math.Float64frombits(p.scalar)
		}
		return out, nil
	}
	v := view{choice.Struct, dynamic.NewStruct(choice.Struct)}
	out.Value = v.v
	if p.kind == 5 {
		if len(w) != 1 || len(f)%2 != 1 {
			return nil, wrong
		}
		v.set("Count", w[0])
		v.set("Sum", math.Float64frombits(p.scalar))
		v.set("QuantileValues", quantiles(v, f[1:]))
		return out, nil
	}
	if len(w) < 2 || len(f) < 2 {
		return nil, wrong
	}
	for i, name := range []string{"Sum", "Min", "Max"} {
		if w[0]>>i&1 == 0 {
			v.unset(name)
			continue
		}
		v.set(name, math.Float64frombits([]uint64{p.scalar, f[0], f[1]}[i]))
	}
	if p.kind == 3 {
		if len(f) != 2 {
			return nil, wrong
		}
		v.set("Count", int64(w[1]+sum(w[2:])))
		v.set("BucketCounts", array(w[2:]))
		return out, nil
	}
	if len(w) < 7 || len(f) != 3 || w[6] > uint64(len(w)-7) {
		return nil, wrong
	}
	negative := w[7 : 7+w[6]]
	positive := w[7+w[6]:]
	v.set("Count", w[1]+w[3]+sum(w[7:]))
	v.set("Scale", int64(w[2]))
	v.set("ZeroCount", w[3])
	v.set("ZeroThreshold", math.Float64frombits(f[2]))
	v.sub("PositiveBuckets").set("Offset", int64(w[4]))
	v.sub("PositiveBuckets").set("BucketCounts", array(positive))
	v.sub("NegativeBuckets").set("Offset", int64(w[5]))
	v.sub("NegativeBuckets").set("BucketCounts", array(negative))
	return out, nil
}

func quantiles(summary view, floats []uint64) *dynamic.Array {
	t := summary.t.Fields[summary.index("QuantileValues")].Type.Elem.Struct
	list := &dynamic.Array{}
	for pair := range slices.Chunk(floats, 2) {
		q := view{t, dynamic.NewStruct(t)}
		q.set("Quantile", math.Float64frombits(pair[0]))
		q.set("Value", math.Float64frombits(pair[1]))
		list.Elems = append(list.Elems, q.v)
	}
	return list
}

func sum(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

func array(counts []uint64) *dynamic.Array {
	list := &dynamic.Array{}
	for _, c := range counts {
		list.Elems = append(list.Elems, c)
	}
	return list
}
