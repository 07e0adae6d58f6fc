// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

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

const (
	maxTraces = 1 << 15
	maxIDs    = 1 << 17
	maxNames  = 1 << 12
	// near is the maximum distance that counts only the ids of the same trace.
	near = 256
)

// Codes of traces and parents that represent no number.
const (
	traceSame = iota
	traceNew
	traceNext
)

const (
	parentNone = iota
	parentNew
)

type trace struct {
	high, low uint64
	start     uint64 // of its last span
	ids       uint32
	last      uint32 // id, plus one
	next      uint32 // the trace that came after it, plus one
}

// spanID is an id that was sent: of a span, or of a parent that may still follow.
type spanID struct {
	id, start uint64
	trace     uint32
	order     uint32 // within the trace
	before    uint32 // of the trace, plus one
	seen      bool   // the span was sent
}

// habits are the properties of the last span of a name.
type habits struct{ parent, known uint64 }

// Spans is the state of a stream of spans. Both ends have the same.
type Spans struct {
	trace, known, parent, start, duration Residual
	times                                 Run
	startUnit, durationUnit               habitUnit

	traces  []trace
	ids     []spanID
	names   map[string]*habits
	last    uint32 // trace, plus one
	before  uint64 // start of the last span
	name    string
	habits  *habits
	byTrace index // of the writer
	byID    index
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
	s.forget()
	clear(s.names)
	s.habits, s.before = nil, 0
}

// forget discards the ids.
func (s *Spans) forget() {
	s.traces, s.ids, s.last = s.traces[:0], s.ids[:0], 0
	s.byTrace.reset()
	s.byID.reset()
}

// begin ensures capacity, and finds the habits of the name.
func (s *Spans) begin(name string) *habits {
	if len(s.traces) >= maxTraces || len(s.ids) >= maxIDs-1 {
		s.forget()
	}
	if s.habits != nil && s.name == name {
		return s.habits
	}
	h := s.names[name]
	if h == nil {
		if len(s.names) >= maxNames {
			clear(s.names)
		}
		if s.names == nil {
			s.names = map[string]*habits{}
		}
		h = new(habits)
		s.names[name] = h
	}
	s.name, s.habits = name, h
	return h
}

// distance returns the distance to an earlier id of a trace.
func (s *Spans) distance(t *trace, n uint32) uint64 {
	if d := t.ids - s.ids[n].order; d <= near {
		return uint64(d)
	}
	return near + uint64(uint32(len(s.ids))-n)
}

// at is the inverse of distance.
func (s *Spans) at(t *trace, d uint64) (n uint32, ok bool) {
	if d > near {
		d -= near
		if d > uint64(len(s.ids)) {
			return 0, false
		}
		return uint32(uint64(len(s.ids)) - d), true
	}
	if d == 0 || d > uint64(t.ids) {
		return 0, false
	}
	n = t.last - 1
	for ; d > 1; d-- {
		n = s.ids[n].before - 1
	}
	return n, true
}

// add stores an id of the trace with this number.
func (s *Spans) add(number uint32, id uint64) uint32 {
	t := &s.traces[number]
	n := uint32(len(s.ids))
	s.ids = append(s.ids, spanID{id: id, trace: number, order: t.ids, before: t.last})
	t.ids++
	t.last = n + 1
	return n
}

// findID finds an id of a trace.
func (s *Spans) findID(hash uint32, id uint64, number uint32) (uint32, bool) {
	slots := s.byID.slots
	if len(slots) == 0 {
		return 0, false
	}
	mask := len(slots) - 1
	for i := int(hash) & mask; slots[i].number > 0; i = (i + 1) & mask {
		if slots[i].hash == hash {
			n := slots[i].number - 1
			if x := &s.ids[n]; x.id == id && x.trace == number {
				return n, true
			}
		}
	}
	return 0, false
}

// findTrace finds a trace.
func (s *Spans) findTrace(hash uint32, high, low uint64) (uint32, bool) {
	slots := s.byTrace.slots
	if len(slots) == 0 {
		return 0, false
	}
	mask := len(slots) - 1
	for i := int(hash) & mask; slots[i].number > 0; i = (i + 1) & mask {
		if slots[i].hash == hash {
			n := slots[i].number - 1
			if t := &s.traces[n]; t.low == low && t.high == high {
				return n, true
			}
		}
	}
	return 0, false
}

// enter makes a trace the last one.
func (s *Spans) enter(number uint32) *trace {
	if s.last > 0 {
		s.traces[s.last-1].next = number + 1
	}
	s.last = number + 1
	return &s.traces[number]
}

// base returns the time from which the start of a span is predicted.
func (s *Spans) base(t *trace, parent uint32) uint64 {
	switch {
	case parent > 0 && s.ids[parent-1].seen:
		return s.ids[parent-1].start
	case t != nil && t.start != 0:
		return t.start
	}
	return s.before
}

// end updates the state with the span number n.
func (s *Spans) end(t *trace, n uint32, start uint64) {
	s.ids[n].seen, s.ids[n].start = true, start
	t.start = start
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
	h := s.begin(x.Name)
	var t *trace
	var parent uint32
	if !x.Apart {
		t = s.putTrace(x, f)
		number := s.last - 1
		code := uint64(parentNone)
		if x.HasParent {
			hash := s.byID.hash(x.Parent, uint64(number))
			if n, ok := s.findID(hash, x.Parent, number); ok {
				parent = n + 1
				code = parentNew + s.distance(t, n)
			} else {
				code = parentNew
				f.ParentID = x.Parent
				s.byID.add(hash, s.add(number, x.Parent))
			}
		}
		f.Parent = s.parent.Put(code - h.parent)
		h.parent = code
		base := s.base(t, parent)
		s.putTimes(x, base, f)
		hash := s.byID.hash(x.ID, uint64(number))
		n, ok := s.findID(hash, x.ID, number)
		code = 0
		if ok {
			code = s.distance(t, n)
		} else {
			f.ID = x.ID
			n = s.add(number, x.ID)
			s.byID.add(hash, n)
		}
		f.Known = s.known.Put(code - h.known)
		h.known = code
		s.end(t, n, x.Start)
	} else {
		s.putTimes(x, s.before, f)
	}
	s.before = x.Start
}

func (s *Spans) putTrace(x *Span, f *SpanFields) *trace {
	if s.last > 0 {
		t := &s.traces[s.last-1]
		if t.low == x.Low && t.high == x.High {
			f.Trace = s.trace.Put(traceSame)
			return t
		}
	}
	hash := s.byTrace.hash(x.Low, x.High)
	n, ok := s.findTrace(hash, x.High, x.Low)
	if !ok {
		f.Trace = s.trace.Put(traceNew)
		f.High, f.Low = x.High, x.Low
		n = uint32(len(s.traces))
		s.traces = append(s.traces, trace{high: x.High, low: x.Low})
		s.byTrace.add(hash, n)
		return s.enter(n)
	}
	code := uint64(traceNext)
	if s.traces[s.last-1].next != n+1 {
		code = uint64(n) - uint64(s.last-1)
		if int64(code) > 0 {
			code += traceNext
		}
	}
	f.Trace = s.trace.Put(code)
	return s.enter(n)
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
	if ok = ok && int64(c) >= 0; !ok {
		c = codeFar
		far = append(far, x.End-x.Start)
	}
	f.Duration = s.duration.Put(unzigzag(c))
	s.startUnit.learn(x.Start - base)
	s.durationUnit.learn(x.End - x.Start)
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
	h := s.begin(x.Name)
	if x.Apart {
		ok := s.takeTimes(f, s.before, x)
		s.before = x.Start
		return ok
	}
	t := s.takeTrace(f, x)
	if t == nil {
		return false
	}
	number := s.last - 1
	parent := uint32(0)
	h.parent += s.parent.Take(f.Parent)
	x.HasParent = h.parent != parentNone
	switch h.parent {
	case parentNone:
	case parentNew:
		x.Parent = f.ParentID
		s.add(number, x.Parent)
	default:
		n, ok := s.at(t, h.parent-parentNew)
		if !ok {
			return false
		}
		x.Parent = s.ids[n].id
		parent = n + 1
	}
	if !s.takeTimes(f, s.base(t, parent), x) {
		return false
	}
	h.known += s.known.Take(f.Known)
	var n uint32
	if h.known == 0 {
		x.ID = f.ID
		n = s.add(number, x.ID)
	} else {
		var ok bool
		if n, ok = s.at(t, h.known); !ok {
			return false
		}
		x.ID = s.ids[n].id
	}
	s.end(t, n, x.Start)
	s.before = x.Start
	return true
}

func (s *Spans) takeTrace(f *SpanFields, x *Span) *trace {
	code := s.trace.Take(f.Trace)
	var n uint64
	switch {
	case code == traceNew:
		n = uint64(len(s.traces))
		s.traces = append(s.traces, trace{high: f.High, low: f.Low})
	case s.last == 0:
		return nil
	case code == traceSame:
		t := &s.traces[s.last-1]
		x.High, x.Low = t.high, t.low
		return t
	case code == traceNext:
		n = uint64(s.traces[s.last-1].next) - 1
	default:
		if int64(code) > 0 {
			code -= traceNext
		}
		n = uint64(s.last-1) + code
	}
	if n >= uint64(len(s.traces)) {
		return nil
	}
	t := s.enter(uint32(n))
	x.High, x.Low = t.high, t.low
	return t
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
	difference := s.startUnit.take(start)
	if start == codeFar {
		difference = next()
	}
	s.startUnit.learn(difference)
	x.Start = base + difference
	difference = s.durationUnit.take(duration)
	if duration == codeFar {
		difference = next()
	}
	s.durationUnit.learn(difference)
	x.End = x.Start + difference
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
