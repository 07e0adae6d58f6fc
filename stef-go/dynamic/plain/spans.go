// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// maxNames is the maximum number of names with habits (see nameHabits). One more name first
// discards the habits of all names.
//
// spec: #compact-spans
const maxNames = 4096

// spans is the state of a stream of spans.
//
// spec: #compact-spans
type spans struct {
	root *schema.Struct // of the full schema

	// The states of the residual fields and of the residual array.
	trace, parent, known, start, duration, times residual

	traces     traces
	habits     map[string]*nameHabits
	startHabit habit
	durations  habit
	// before is the start of the previous record.
	before uint64
}

// nameHabits are the habits of a span name: the codes of its last span, which predict the
// codes of its next span.
type nameHabits struct {
	parent, known int64
}

func (s *spans) reset() { *s = spans{root: s.root, habits: map[string]*nameHabits{}} }

func (s *spans) plain(rec view) (*dynamic.Struct, error) {
	span, compact := rec.sub("Span"), rec.sub("Compact")
	fields := map[string]any{}

	apart := compact.flag("Apart")
	var trace *trace
	var habits *nameHabits
	base := uint64(0)
	if !apart {
		var err error
		if trace, err = s.traces.traceOf(s.trace.field(compact.number("Trace")), compact.bits("TraceHigh"), compact.bits("TraceLow")); err != nil {
			return nil, err
		}
		fields["TraceID"] = trace.id()
		habits = s.habitsOf(span.text("Name"))
		parent, err := s.parentOf(compact, trace, habits)
		if err != nil {
			return nil, err
		}
		fields["ParentSpanID"] = []byte{}
		if parent != nil {
			fields["ParentSpanID"] = parent.id()
			if parent.sent {
				base = parent.start
			}
		}
		if base == 0 {
			base = trace.start
		}
	}
	if base == 0 {
		base = s.before
	}

	start, err := s.timesOf(rec, span, base, fields)
	if err != nil {
		return nil, err
	}

	if !apart {
		habits.known += s.known.field(compact.number("Known"))
		id, err := s.traces.span(trace, habits.known, rec.bits("ID"))
		if err != nil {
			return nil, err
		}
		fields["SpanID"] = id.id()
		id.sent, id.start = true, start
		trace.start = start
	}
	s.before = start
	return rec.with(s.root, map[string]any{"Span": span.with(structOf(s.root, "Span"), fields)}), nil
}

// habitsOf returns the habits of a name.
func (s *spans) habitsOf(name string) *nameHabits {
	h := s.habits[name]
	if h == nil {
		if len(s.habits) >= maxNames {
			s.habits = map[string]*nameHabits{}
		}
		h = &nameHabits{}
		s.habits[name] = h
	}
	return h
}

// parentOf returns the id of the parent, nil if there is none.
func (s *spans) parentOf(compact view, trace *trace, habits *nameHabits) (*spanID, error) {
	habits.parent += s.parent.field(compact.number("Parent"))
	switch habits.parent {
	case 0:
		return nil, nil
	case 1:
		return s.traces.add(trace, compact.bits("ParentID")), nil
	}
	return trace.at(habits.parent - 1)
}

// timesOf sets the times of a span and of its events, and returns the start.
func (s *spans) timesOf(rec, span view, base uint64, fields map[string]any) (start uint64, err error) {
	events := span.elems("Events")
	startCode := s.start.field(rec.number("Start"))
	durationCode := int64(zigzag(uint64(s.duration.field(rec.number("Duration")))))

	// Times has one code for each event, then the times and differences for each code that is far.
	var codes, others []uint64
	if len(events) > 0 || startCode == far || durationCode == far {
		times := s.times.elements(rec.sub("Compact").numbers("Times"))
		if len(times) < len(events) {
			return 0, corrupt("Times has %d elements, fewer than the %d events", len(times), len(events))
		}
		codes, others = times[:len(events)], times[len(events):]
	}
	if have, need := len(others), count(codes, far)+btoi(startCode == far)+btoi(durationCode == far); have != need {
		return 0, corrupt("Times has %d elements after those of the events, but there are %d far times", have, need)
	}
	next := func() (x uint64) {
		x, others = others[0], others[1:]
		return x
	}

	x, err := spanDifference(startCode, &s.startHabit, next)
	if err != nil {
		return 0, err
	}
	start = base + x
	if durationCode < 0 {
		return 0, undefined("the code %d of Duration is not defined", durationCode)
	}
	if x, err = spanDifference(durationCode, &s.durations, next); err != nil {
		return 0, err
	}
	fields["StartTimeUnixNano"], fields["EndTimeUnixNano"] = start, start+x

	typ := elemOf(span.typ, "Events")
	list := &dynamic.Array{}
	time := start
	for i, code := range codes {
		switch code := int64(code); code {
		case 0:
		case far:
			time = next()
		default:
			x, ok := plainDifference(code)
			if !ok {
				return 0, undefined("the code %d of the time of an event is not defined", code)
			}
			time += x
		}
		list.Elems = append(list.Elems, view{typ, events[i].(*dynamic.Struct)}.with(typ, map[string]any{"TimeUnixNano": time}))
	}
	fields["Events"] = list
	return start, nil
}

// spanDifference returns the difference that a code stands for, and updates h. For the code
// far, next returns the difference.
func spanDifference(code int64, h *habit, next func() uint64) (x uint64, err error) {
	if code == far {
		x = next()
	} else {
		var ok bool
		if x, ok = h.difference(code); !ok {
			return 0, undefined("the code %d of a time is not defined", code)
		}
	}
	h.learn(x)
	return x, nil
}

func count(list []uint64, x uint64) (n int) {
	for _, y := range list {
		n += btoi(x == y)
	}
	return n
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
