// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import "strings"

// Span is the ids and times of a span.
type Span struct {
	High, Low  uint64 // the trace id
	ID, Parent uint64
	HasParent  bool
	// Apart says that an id has another length. The ids are then in the fields of
	// the span, and the state does not change.
	Apart      bool
	Start, End uint64
	Name       string
	Times      []uint64 // of the events
}

// SpanFields are the fields of a CompactSpan, and what of it stands in the root.
type SpanFields struct {
	Trace, High, Low, Known, ID, Parent, ParentID, Start, Duration uint64
	// Times does not change where the form does not use it.
	Times []uint64
}

// maxNames is the maximum number of names whose habits are remembered.
const maxNames = 1 << 12

const (
	parentNone = iota
	parentNew
)

// habits are the properties of the last span of a name.
type habits struct {
	name          string
	parent, known uint64
}

// Spans is the state of a stream of spans. Both ends have the same.
type Spans struct {
	trace, known, parent, start, duration Residual
	times                                 Run
	startUnit, durationUnit               habitUnit

	ids    ids
	names  map[string]*habits
	recent [64]*habits // some of names
	habits *habits     // of the last span
	before uint64      // start of the last span
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

func (s *Spans) forgetNames() {
	clear(s.names)
	clear(s.recent[:])
	s.habits = nil
}

// habitsOf finds the habits of a name.
func (s *Spans) habitsOf(name string) *habits {
	if s.habits != nil && s.habits.name == name {
		return s.habits
	}
	place := uint(len(name))
	if len(name) > 0 {
		place += 7*uint(name[0]) + 13*uint(name[len(name)/2]) + 29*uint(name[len(name)-1])
	}
	place %= uint(len(s.recent))
	h := s.recent[place]
	if h == nil || h.name != name {
		h = s.knownName(name)
		s.recent[place] = h
	}
	s.habits = h
	return h
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
	h := &habits{name: strings.Clone(name)}
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

// code returns the code of a time that differs by x, or codeFar.
func code(x, time uint64, far *[]uint64) uint64 {
	if x == 0 {
		return codeSame
	}
	if c, ok := putUnit(x); ok {
		return c
	}
	*far = append(*far, time)
	return codeFar
}

// Put sets fields to the differences of x, and updates the state.
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
		if p, ok := s.ids.find(number, x.Parent); ok {
			parent = s.ids.element(p.position)
			code = parentNew + uint64(t.ids-p.order)
		} else {
			code = parentNew
			f.ParentID = x.Parent
			s.ids.put(number, x.Parent)
		}
	}
	f.Parent = s.parent.Put(code - h.parent)
	h.parent = code
	s.putTimes(x, s.base(t, parent), f)
	code = s.putID(number, x, &f.ID)
	f.Known = s.known.Put(code - h.known)
	h.known = code
	t.start, s.before = x.Start, x.Start
}

// putID returns the known code of the id of a span.
func (s *Spans) putID(number uint32, x *Span, id *uint64) (code uint64) {
	p, ok := s.ids.find(number, x.ID)
	if ok {
		code = uint64(s.ids.traces[number].ids - p.order)
	} else {
		*id = x.ID
		p.position = s.ids.put(number, x.ID)
	}
	s.ids.element(p.position).start = x.Start
	return code
}

func (s *Spans) putTimes(x *Span, base uint64, f *SpanFields) {
	var room [4]uint64
	far := room[:0]
	c, ok := s.startUnit.put(x.Start - base)
	if !ok {
		far = append(far, x.Start-base)
	}
	f.Start = s.start.Put(c)
	c, ok = s.durationUnit.put(x.End - x.Start)
	if !ok || int64(c) < 0 {
		c = codeFar
		far = append(far, x.End-x.Start)
	}
	f.Duration = s.duration.Put(unzigzag(c))
	if len(x.Times) == 0 && len(far) == 0 {
		return
	}
	f.Times = f.Times[:0]
	before := x.Start
	for _, time := range x.Times {
		f.Times = append(f.Times, s.times.Put(code(time-before, time, &far)))
		before = time
	}
	for _, time := range far {
		f.Times = append(f.Times, s.times.Put(time))
	}
}

// Take sets x to the span that fields represent, and updates the state. The name,
// the number of times, and Apart must already be set.
func (s *Spans) Take(f *SpanFields, x *Span) bool {
	s.ids.ensure()
	if x.Apart {
		ok := s.takeTimes(f, s.before, x)
		s.before = x.Start
		return ok
	}
	h := s.habitsOf(x.Name)
	t := s.ids.takeTrace(s.trace.Take(f.Trace), f.High, f.Low)
	if t == nil {
		return false
	}
	x.High, x.Low = t.high, t.low
	h.parent += s.parent.Take(f.Parent)
	x.HasParent = h.parent != parentNone
	var parent *spanID
	switch h.parent {
	case parentNone:
	case parentNew:
		x.Parent = f.ParentID
		s.ids.add(t, x.Parent)
	default:
		p, ok := s.ids.at(t, h.parent-parentNew)
		if !ok {
			return false
		}
		parent = s.ids.element(p.position)
		x.Parent = parent.id
	}
	if !s.takeTimes(f, s.base(t, parent), x) {
		return false
	}
	h.known += s.known.Take(f.Known)
	p, ok := place{}, true
	if h.known == 0 {
		x.ID = f.ID
		p.position = s.ids.add(t, x.ID)
	} else if p, ok = s.ids.at(t, h.known); !ok {
		return false
	}
	id := s.ids.element(p.position)
	x.ID, id.start = id.id, x.Start
	t.start, s.before = x.Start, x.Start
	return true
}

func (s *Spans) takeTimes(f *SpanFields, base uint64, x *Span) bool {
	start, duration := s.start.Take(f.Start), zigzag(s.duration.Take(f.Duration))
	used := len(x.Times) > 0 || start == codeFar || duration == codeFar
	events := f.Times
	if !used {
		events = nil
	}
	if len(events) < len(x.Times) {
		return false
	}
	codes := x.Times
	far := 0
	for i := range codes {
		codes[i] = s.times.Take(events[i])
		if codes[i] == codeFar {
			far++
		}
	}
	rest := events[len(codes):]
	next := func() (time uint64) {
		if len(rest) > 0 {
			time = s.times.Take(rest[0])
			rest = rest[1:]
			return time
		}
		far = -1
		return 0
	}
	x.Start = base + s.startUnit.take(start, next)
	x.End = x.Start + s.durationUnit.take(duration, next)
	before := x.Start
	for i, c := range codes {
		if c == codeFar {
			codes[i] = next()
		} else {
			codes[i] = before + takeUnit(c)
		}
		before = codes[i]
	}
	return far >= 0 && len(rest) == 0
}
