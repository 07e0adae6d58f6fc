// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/otelstef/stef/stef-go/dynamic"
)

type ruleTrace struct {
	id     []byte
	number int
	ids    []*ruleID
	next   *ruleTrace
	start  uint64
}

type ruleID struct {
	id    []byte
	start uint64 // 0 if the span was not sent
}

// The bounds of traces and ids.
const (
	ruleTraces = 32768
	ruleIDs    = 131071
)

// idRules are the rules for traces and ids.
//
// spec: #compact-ids
type idRules struct {
	traces []*ruleTrace
	ids    int
	last   *ruleTrace
}

func (s *idRules) begin() {
	if len(s.traces) >= ruleTraces || s.ids >= ruleIDs {
		*s = idRules{}
	}
}

func (s *idRules) trace(code int64, high, low uint64) (*ruleTrace, error) {
	wrong := fmt.Errorf("%w: the code %d leads to no trace", errRule, code)
	var t *ruleTrace
	switch {
	case code == 1:
		id := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low)
		t = &ruleTrace{id: id, number: len(s.traces)}
		s.traces = append(s.traces, t)
	case s.last == nil:
		return nil, wrong
	case code == 0:
		return s.last, nil
	case code == 2:
		t = s.last.next
	default:
		n := int64(s.last.number) + code
		if code > 0 {
			n -= 2
		}
		if n >= 0 && n < int64(len(s.traces)) {
			t = s.traces[n]
		}
	}
	if t == nil {
		return nil, wrong
	}
	if s.last != nil {
		s.last.next = t
	}
	s.last = t
	return t, nil
}

func (s *idRules) add(t *ruleTrace, bits uint64) *ruleID {
	x := &ruleID{id: binary.BigEndian.AppendUint64(nil, bits)}
	t.ids = append(t.ids, x)
	s.ids++
	return x
}

func (t *ruleTrace) at(distance int64) (*ruleID, error) {
	if distance < 1 || distance > int64(len(t.ids)) {
		return nil, fmt.Errorf("%w: the distance %d leads to no id", errRule, distance)
	}
	return t.ids[int64(len(t.ids))-distance], nil
}

// spansRules are the rules for Spans.
//
// spec: #compact-spans
type spansRules struct {
	ids                                   idRules
	trace, parent, known, start, duration residualField
	times                                 residualArray
	startHabit, durationHabit             unitHabit
	names                                 map[string]*nameHabits
	before                                uint64
}

type nameHabits struct{ parent, known int64 }

func (s *spansRules) restart() { *s = spansRules{names: map[string]*nameHabits{}} }

func (s *spansRules) plain(rec, out view) error {
	s.ids.begin()
	c, span := rec.sub("Compact"), out.sub("Span")
	apart := c.get("Apart").(bool)
	var t *ruleTrace
	var habits *nameHabits
	base := s.before
	if !apart {
		var err error
		habits = s.habitsOf(span.get("Name").(string))
		if t, err = s.ids.trace(s.trace.residual(c.number("Trace")), c.number("TraceHigh"), c.number("TraceLow")); err != nil {
			return err
		}
		habits.parent += s.parent.residual(c.number("Parent"))
		parent, err := s.parentOf(t, habits.parent, c.number("ParentID"))
		if err != nil {
			return err
		}
		switch {
		case parent.start != 0:
			base = parent.start
		case t.start != 0:
			base = t.start
		}
		span.set("TraceID", t.id)
		span.set("ParentSpanID", parent.id)
	}
	start, err := s.readTimes(rec, c, span, base)
	if err != nil {
		return err
	}
	s.before = start
	if apart {
		return nil
	}
	habits.known += s.known.residual(c.number("Known"))
	id, err := s.ids.known(t, habits.known, rec.number("ID"))
	if err != nil {
		return err
	}
	span.set("SpanID", id.id)
	id.start, t.start = start, start
	return nil
}

func (s *spansRules) habitsOf(name string) *nameHabits {
	if s.names[name] == nil {
		if len(s.names) >= 4096 {
			clear(s.names)
		}
		s.names[name] = &nameHabits{}
	}
	return s.names[name]
}

func (s *spansRules) parentOf(t *ruleTrace, code int64, bits uint64) (*ruleID, error) {
	switch code {
	case 0:
		return &ruleID{id: []byte{}}, nil
	case 1:
		return s.ids.add(t, bits), nil
	}
	return t.at(code - 1)
}

func (s *idRules) known(t *ruleTrace, code int64, bits uint64) (*ruleID, error) {
	if code == 0 {
		return s.add(t, bits), nil
	}
	return t.at(code)
}

// readTimes sets the times of a span and of its events.
func (s *spansRules) readTimes(rec, c, span view, base uint64) (start uint64, err error) {
	events := span.get("Events").(*dynamic.Array).Elems
	startCode := s.start.residual(rec.number("Start"))
	durationCode := int64(zigzag(uint64(s.duration.residual(rec.number("Duration")))))
	var codes, rest []uint64
	if len(events) > 0 || startCode == far || durationCode == far {
		list := s.times.residuals(c.numbers("Times"))
		if len(list) < len(events) {
			return 0, fmt.Errorf("%w: %d times for %d events", errRule, len(list), len(events))
		}
		codes, rest = list[:len(events)], list[len(events):]
	}
	next := func() (x uint64) {
		if len(rest) == 0 {
			err = fmt.Errorf("%w: a far time is missing", errRule)
			return 0
		}
		x, rest = rest[0], rest[1:]
		return x
	}
	read := func(code int64, h *unitHabit) (x uint64) {
		if code == far {
			return next()
		}
		x, err = h.difference(code)
		return x
	}
	difference := read(startCode, &s.startHabit)
	if err != nil {
		return 0, err
	}
	duration := read(durationCode, &s.durationHabit)
	s.startHabit.learn(int64(difference))
	s.durationHabit.learn(int64(duration))
	start = base + difference
	span.set("StartTimeUnixNano", start)
	span.set("EndTimeUnixNano", start+duration)
	list := &dynamic.Array{}
	before := start
	for i, e := range events {
		if err != nil {
			return 0, err
		}
		event := view{span.t.Fields[span.index("Events")].Type.Elem.Struct, nil}
		event.v = shorten(event.t, e.(*dynamic.Struct))
		if codes[i] == far {
			before = next()
		} else {
			var d uint64
			d, err = fromPlain(int64(codes[i]))
			before += d
		}
		event.set("TimeUnixNano", before)
		list.Elems = append(list.Elems, event.v)
	}
	span.set("Events", list)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: %d times too many", errRule, len(rest))
	}
	return start, err
}

// logsRules are the rules for Logs.
//
// spec: #compact-logs
type logsRules struct {
	ids                          idRules
	time, observed, trace, known residualField
	timeHabit, observedHabit     unitHabit
	lastTime, lastObserved       uint64
	delay, follows               int64
}

func (s *logsRules) restart() { *s = logsRules{} }

func (s *logsRules) plain(rec, out view) error {
	sent, log := rec.sub("Record"), out.sub("Record")
	var time, observed uint64
	switch code := s.time.residual(sent.number("CompactTime")); code {
	case 1:
	case far:
		time = sent.number("Time")
	default:
		d, err := s.timeHabit.difference(code)
		if err != nil {
			return err
		}
		time = s.lastTime + d
	}
	better, other := s.lastObserved, time+uint64(s.delay)
	if s.follows > 0 {
		better, other = other, better
	}
	switch code := s.observed.residual(sent.number("CompactObserved")); code {
	case 1:
		observed = other
	case far:
		observed = sent.number("ObservedTime")
	default:
		d, err := s.observedHabit.difference(code)
		if err != nil {
			return err
		}
		observed = better + d
	}
	log.set("Time", time)
	log.set("ObservedTime", observed)
	log.unset("ObservedDelta")
	if time != 0 || s.lastTime == 0 {
		s.timeHabit.learn(int64(time - s.lastTime))
		s.lastTime = time
	}
	if observed == better || observed != other {
		s.observedHabit.learn(int64(observed - better))
	}
	a := bits.Len64(zigzag(observed - s.lastObserved))
	b := bits.Len64(zigzag(observed - time - uint64(s.delay)))
	s.follows += int64(a-b) - s.follows/16
	s.lastObserved, s.delay = observed, int64(observed-time)
	if err := s.readIDs(rec, log, sent.number("CompactForm")); err != nil {
		return err
	}
	refers, _ := rec.sub("Compact").get("Refers").(bool)
	_, formats := rec.sub("Compact").get("Formats").(bool)
	return s.references(log, refers, formats)
}

func (s *logsRules) readIDs(rec, log view, form uint64) error {
	traceID, spanID := []byte{}, []byte{}
	switch form {
	case 0:
	case 1, 2:
		s.ids.begin()
		c := rec.sub("Compact")
		t, err := s.ids.trace(s.trace.residual(rec.number("Trace")), c.number("TraceHigh"), c.number("TraceLow"))
		if err != nil {
			return err
		}
		traceID = t.id
		if form == 2 {
			break
		}
		id, err := s.ids.known(t, s.known.residual(rec.number("Known")), rec.number("ID"))
		if err != nil {
			return err
		}
		spanID = id.id
	case 3:
		return nil // as they were sent
	default:
		return fmt.Errorf("%w: CompactForm %d", errRule, form)
	}
	log.set("TraceID", traceID)
	log.set("SpanID", spanID)
	return nil
}
