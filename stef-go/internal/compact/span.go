// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"strings"
	"unsafe"

	"github.com/otelstef/stef/stef-go/codec"
)

// Span is the ids and times of a span.
type Span struct {
	High, Low  uint64 // the trace id
	ID, Parent uint64
	HasParent  bool
	// SameTrace says that the span has the same trace as the last span before it that did not have
	// Apart set. Take sets SameTrace.
	SameTrace bool
	// SameName says that the span has the same name as the last span before it that did not have
	// Apart set. Only Take uses SameName.
	SameName bool
	// Apart says that an id does not have the usual length. All ids of such a span are in the struct
	// Span of the schema, not in CompactSpan. The state of ids and names does not change.
	Apart      bool
	Start, End uint64
	Name       string
	Times      []uint64 // of the events
}

// SpanFields are the fields of a CompactSpan, and the fields of the compact form in the
// root.
type SpanFields struct {
	Trace, High, Low, Known, ID, Parent, ParentID, Start, Duration uint64
	// Times does not change if the span has neither events nor far times.
	Times []uint64
}

// maxNames is the maximum number of names that have habits (see habits).
const maxNames = 1 << 12

const (
	parentNone = iota
	parentNew
)

// habits are the state of a span name: the codes of the parent and of the id of the last
// span with this name.
type habits struct {
	name          string
	parent, known uint64
}

// Spans is the state of a stream of spans. Writer and reader have equal states.
type Spans struct {
	// If Own is set, Spans copies the names that it keeps, because a name may be a part of a longer
	// text that the caller reuses. Readers do not set Own: their names belong to their dictionary.
	Own bool

	trace, known, parent, start, duration Residual
	times                                 Run
	startUnit, durationUnit               habitUnit

	ids    ids
	names  map[string]*habits
	text   int                      // total length of the names
	recent [1 << recentBits]*habits // cache of habits, see recentHabits
	habits *habits                  // habits of the last span
	before uint64                   // start time of the last span
	far    []uint64                 // far times and differences of one span; kept to reuse the memory
}

// Reset discards all state.
func (s *Spans) Reset() {
	s.trace.Reset()
	s.known.Reset()
	s.parent.Reset()
	s.start.Reset()
	s.duration.Reset()
	s.times.Reset()
	s.startUnit, s.durationUnit = habitUnit{}, habitUnit{}
	s.ids.forget()
	s.forgetNames()
	s.before = 0
}

// Release discards all state and frees its memory. If the map of names is small, Release clears and
// keeps it.
func (s *Spans) Release() {
	names := s.names
	if len(names) > keptNames {
		names = nil
	}
	clear(names)
	s.ids.release()
	*s = Spans{Own: s.Own, names: names}
}

const recentBits = 8

// keptNames is the maximum number of names in a map that Release keeps.
const keptNames = 64

// Held returns the memory of the state.
func (s *Spans) Held() int { return s.ids.held() + s.text + nameBytes*len(s.names) }

// nameBytes is the memory of a name in addition to its text: the habits, and an entry
// of a map.
const nameBytes = 80

func (s *Spans) forgetNames() {
	clear(s.names)
	s.text = 0
	clear(s.recent[:])
	s.habits = nil
}

// habitsOf finds the habits of a name for a writer. It hashes the first and the last bytes of
// the name.
func (s *Spans) habitsOf(name string) *habits {
	if s.habits != nil && s.habits.name == name {
		return s.habits
	}
	first, last := codec.Words(name)
	return s.recentHabits(first+3*last+uint64(len(name)), name)
}

// habitsAt finds the habits of a name for a reader. It hashes the address of the name, not
// the text: equal names usually have the same address, because they are entries of a
// dictionary.
func (s *Spans) habitsAt(name string) *habits {
	return s.recentHabits(uint64(uintptr(unsafe.Pointer(unsafe.StringData(name)))), name)
}

// recentHabits finds the habits of a name at one of two places of the cache, which the hash
// determines, or in the map. It adds the name to the map if the name is new.
func (s *Spans) recentHabits(hash uint64, name string) *habits {
	place := hash * codec.GoldenRatio >> (64 - recentBits)
	h := s.recent[place]
	if h == nil || !sameText(h.name, name) {
		if h = s.recent[place^1]; h == nil || !sameText(h.name, name) {
			h = s.knownName(name)
			// Update the cache only now: knownName may forget all names and empty the cache.
			s.recent[place], s.recent[place^1] = h, s.recent[place]
		}
	}
	s.habits = h
	return h
}

// sameText reports whether a == b. It calls no function if both are the same string.
func sameText(a, b string) bool {
	return len(a) == len(b) && (unsafe.StringData(a) == unsafe.StringData(b) || a == b)
}

func (s *Spans) knownName(name string) *habits {
	if h := s.names[name]; h != nil {
		return h
	}
	if len(s.names) >= maxNames {
		s.forgetNames()
	}
	if s.names == nil {
		s.names = map[string]*habits{}
	}
	s.text += len(name)
	h := &habits{name: name}
	if s.Own {
		h.name = strings.Clone(name)
	}
	s.names[h.name] = h
	return h
}

// base returns the time from which the start of a span is predicted.
func (s *Spans) base(t *trace, parent *spanID) uint64 {
	switch {
	case parent != nil && parent.start != 0:
		return parent.start
	case t.start != 0:
		return t.start
	}
	return s.before
}

// Put sets f to the differences between x and its predictions, and updates the state.
//
// spec: #compact-spans
func (s *Spans) Put(x *Span, f *SpanFields) {
	s.ids.ensure()
	if x.Apart {
		s.putTimes(x, s.before, f)
		s.before = x.Start
		return
	}
	h := s.habitsOf(x.Name)
	code, t := s.ids.putTrace(x.High, x.Low)
	if f.Trace = s.trace.Put(code); code == traceNew {
		f.High, f.Low = x.High, x.Low
	}
	number := s.ids.last - 1
	var parent *spanID
	code = parentNone
	if x.HasParent {
		if p, ok := s.ids.find(t, number, x.Parent); ok {
			parent = s.ids.element(p.position)
			code = parentNew + uint64(t.ids-p.order)
		} else {
			code = parentNew
			f.ParentID = x.Parent
			s.ids.put(t, number, x.Parent)
		}
	}
	f.Parent = s.parent.Put(code - h.parent)
	h.parent = code
	s.putTimes(x, s.base(t, parent), f)
	code = s.putID(t, number, x, &f.ID)
	f.Known = s.known.Put(code - h.known)
	h.known = code
	t.start, s.before = x.Start, x.Start
}

// putID returns the code of the id of a span. It sets *id if the id is new.
func (s *Spans) putID(t *trace, number uint32, x *Span, id *uint64) (code uint64) {
	p, ok := s.ids.find(t, number, x.ID)
	if ok {
		code = uint64(t.ids - p.order)
	} else {
		*id = x.ID
		p.position = s.ids.put(t, number, x.ID)
	}
	s.ids.element(p.position).start = x.Start
	return code
}

func (s *Spans) putTimes(x *Span, base uint64, f *SpanFields) {
	start, isNear := s.startUnit.put(x.Start - base)
	f.Start = s.start.Put(start)
	duration, ok := s.durationUnit.put(x.End - x.Start)
	if !ok || int64(duration) < 0 {
		duration = codeFar
	}
	f.Duration = s.duration.Put(unzigzag(duration))
	if len(x.Times) > 0 || !isNear || duration == codeFar {
		s.far = s.far[:0]
		if !isNear {
			s.far = append(s.far, x.Start-base)
		}
		if duration == codeFar {
			s.far = append(s.far, x.End-x.Start)
		}
		s.putEvents(x, f)
	}
}

// putEvents sets the field Times: the codes of the events, and then the elements of s.far.
func (s *Spans) putEvents(x *Span, f *SpanFields) {
	f.Times = f.Times[:0]
	before := x.Start
	for _, time := range x.Times {
		code := uint64(codeSame)
		if time != before {
			var ok bool
			if code, ok = putUnit(time - before); !ok {
				code = codeFar
				s.far = append(s.far, time)
			}
		}
		f.Times = append(f.Times, s.times.Put(code))
		before = time
	}
	for _, time := range s.far {
		f.Times = append(f.Times, s.times.Put(time))
	}
}

// Take sets x to the span that f represents, and updates the state. The caller must have
// set Name, SameName, Apart, and the length of Times.
func (s *Spans) Take(f *SpanFields, x *Span) bool {
	s.ids.ensure()
	if x.Apart {
		ok := s.takeTimes(f, s.before, x)
		s.before = x.Start
		return ok
	}
	h := s.habits
	if !x.SameName || h == nil {
		h = s.habitsAt(x.Name)
	}
	code := s.trace.Take(f.Trace)
	var t *trace
	if code == traceSame && s.ids.last != 0 { // like takeTrace, but without a call
		t = s.ids.trace(s.ids.last - 1)
	} else if t = s.ids.takeTrace(code, f.High, f.Low); t == nil {
		return false
	}
	x.High, x.Low, x.SameTrace = t.high, t.low, code == traceSame
	h.parent += s.parent.Take(f.Parent)
	x.HasParent = h.parent != parentNone
	var parent *spanID
	switch h.parent {
	case parentNone:
	case parentNew:
		x.Parent = f.ParentID
		s.ids.take(t, x.Parent, 0)
	default:
		if parent = s.ids.back(t, h.parent-parentNew); parent == nil {
			return false
		}
		x.Parent = parent.id
	}
	base := s.base(t, parent)
	start, duration := s.start.Take(f.Start), zigzag(s.duration.Take(f.Duration))
	if len(x.Times) > 0 || start == codeFar || duration == codeFar {
		if !s.takeEvents(f, base, start, duration, x) {
			return false
		}
	} else { // like takeTimes, but without calls
		x.Start = base + s.startUnit.value(start)
		if !s.startUnit.knows(start) {
			s.startUnit.learn(x.Start - base)
		}
		x.End = x.Start + s.durationUnit.value(duration)
		if !s.durationUnit.knows(duration) {
			s.durationUnit.learn(x.End - x.Start)
		}
	}
	h.known += s.known.Take(f.Known)
	if h.known == 0 {
		x.ID = f.ID
		s.ids.take(t, x.ID, x.Start)
	} else {
		id := s.ids.back(t, h.known)
		if id == nil {
			return false
		}
		x.ID, id.start = id.id, x.Start
	}
	t.start, s.before = x.Start, x.Start
	return true
}

// takeTimes takes the times of a span with Apart set.
func (s *Spans) takeTimes(f *SpanFields, base uint64, x *Span) bool {
	start, duration := s.start.Take(f.Start), zigzag(s.duration.Take(f.Duration))
	if len(x.Times) > 0 || start == codeFar || duration == codeFar {
		return s.takeEvents(f, base, start, duration, x)
	}
	x.Start = base + s.startUnit.take(start)
	x.End = x.Start + s.durationUnit.take(duration)
	return true
}

// takeEvents takes the times of a span that has events, or whose start or duration is
// codeFar. f.Times has the codes of the events, and then a value for each codeFar: of the
// start, of the duration and of the events.
func (s *Spans) takeEvents(f *SpanFields, base, start, duration uint64, x *Span) bool {
	codes, events := x.Times, f.Times
	if len(events) < len(codes) {
		return false
	}
	value, delta := s.times.value, s.times.delta // the same as Run.Take, but with the state in registers
	for i, w := range events[:len(codes)] {
		step := w - value
		codes[i] = step - delta
		value, delta = w, step
	}
	s.times = Run{value, delta}
	rest := events[len(codes):]
	difference := uint64(0)
	if start != codeFar {
		difference = s.startUnit.take(start)
	} else {
		if len(rest) == 0 {
			return false
		}
		difference, rest = s.times.Take(rest[0]), rest[1:]
		s.startUnit.learn(difference)
	}
	x.Start = base + difference
	if duration != codeFar {
		difference = s.durationUnit.take(duration)
	} else {
		if len(rest) == 0 {
			return false
		}
		difference, rest = s.times.Take(rest[0]), rest[1:]
		s.durationUnit.learn(difference)
	}
	x.End = x.Start + difference
	before := x.Start
	for i, c := range codes {
		if c != codeFar {
			before += takeUnit(c)
		} else {
			if len(rest) == 0 {
				return false
			}
			before, rest = s.times.Take(rest[0]), rest[1:]
		}
		codes[i] = before
	}
	return len(rest) == 0
}
