// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import "math/bits"

// Log is the ids and times of a log record.
type Log struct {
	Time, Observed uint64
	IDs            uint64 // one of the constants below
	High, Low      uint64
	ID             uint64
}

// The values of Log.IDs: which ids the compact form holds. Ids of other lengths
// (OtherIDs) are in the fields of the record itself.
const (
	NoIDs = iota
	TraceAndSpan
	OnlyTrace
	OtherIDs
)

// LogFields are the fields that the compact form adds to a log record.
type LogFields struct {
	Time, Observed, Trace, High, Low, Known, ID uint64
	// FarTime says that the record itself has the time. FarObserved says that it has the observed
	// time.
	FarTime, FarObserved bool
}

// Logs is the state of a stream of log records. Writer and reader have equal states.
type Logs struct {
	ids                          ids
	time, observed, trace, known Residual
	timeUnit, observedUnit       habitUnit

	lastTime, lastObserved uint64
	delay                  uint64 // observed time minus time, of the last record
	follows                int    // greater than 0 if time + delay predicts the observed time better than lastObserved
}

// Reset discards all state.
func (s *Logs) Reset() {
	s.ids.forget()
	s.trace.Reset()
	s.known.Reset()
	s.time.Reset()
	s.observed.Reset()
	s.timeUnit, s.observedUnit = habitUnit{}, habitUnit{}
	s.lastTime, s.lastObserved, s.delay, s.follows = 0, 0, 0, 0
}

// Release discards all state and its memory.
func (s *Logs) Release() {
	s.ids.release()
	*s = Logs{}
}

// Held returns the memory of the state.
func (s *Logs) Held() int { return s.ids.held() }

// expect returns the two predictions of the observed time, the better prediction first.
func (s *Logs) expect(time uint64) (better, other uint64) {
	if s.follows > 0 {
		return time + s.delay, s.lastObserved
	}
	return s.lastObserved, time + s.delay
}

// Put sets f to the differences between x and its predictions, and updates the state.
//
// spec: #compact-logs
func (s *Logs) Put(x *Log, f *LogFields) {
	f.FarTime, f.FarObserved = false, false
	code, ok := uint64(codeOther), true
	if x.Time != 0 || s.lastTime == 0 {
		code, ok = s.timeUnit.put(x.Time - s.lastTime)
	}
	f.FarTime = !ok
	f.Time = s.time.Put(code)
	better, other := s.expect(x.Time)
	code, ok = uint64(codeOther), true
	if x.Observed == better || x.Observed != other {
		code, ok = s.observedUnit.put(x.Observed - better)
	}
	f.FarObserved = !ok
	f.Observed = s.observed.Put(code)
	s.learn(x)
	if x.IDs == TraceAndSpan || x.IDs == OnlyTrace {
		s.putIDs(x, f)
	}
}

func (s *Logs) putIDs(x *Log, f *LogFields) {
	s.ids.ensure()
	code, t := s.ids.putTrace(x.High, x.Low)
	if f.Trace = s.trace.Put(code); code == traceNew {
		f.High, f.Low = x.High, x.Low
	}
	if x.IDs == OnlyTrace {
		return
	}
	number := s.ids.last - 1
	code = 0
	if p, ok := s.ids.find(t, number, x.ID); ok {
		code = uint64(t.ids - p.order)
	} else {
		f.ID = x.ID
		s.ids.put(t, number, x.ID)
	}
	f.Known = s.known.Put(code)
}

// Take sets x to the log record that f represents, and updates the state. The caller
// must have set x.IDs, and the times that the record itself has.
func (s *Logs) Take(f *LogFields, x *Log) bool {
	code := s.time.Take(f.Time)
	switch code {
	case codeFar:
	case codeOther:
		x.Time = 0
	default:
		x.Time = s.lastTime + s.timeUnit.value(code)
	}
	if !s.timeUnit.knows(code) && (x.Time != 0 || s.lastTime == 0) {
		s.timeUnit.learn(x.Time - s.lastTime)
	}
	better, other := s.expect(x.Time)
	code = s.observed.Take(f.Observed)
	switch code {
	case codeFar:
	case codeOther:
		x.Observed = other
	default:
		x.Observed = better + s.observedUnit.value(code)
	}
	if !s.observedUnit.knows(code) && (x.Observed == better || x.Observed != other) {
		s.observedUnit.learn(x.Observed - better)
	}
	s.learn(x)
	if x.IDs == TraceAndSpan || x.IDs == OnlyTrace {
		return s.takeIDs(f, x)
	}
	return true
}

func (s *Logs) takeIDs(f *LogFields, x *Log) bool {
	s.ids.ensure()
	t := s.ids.takeTrace(s.trace.Take(f.Trace), f.High, f.Low)
	if t == nil {
		return false
	}
	x.High, x.Low = t.high, t.low
	if x.IDs == OnlyTrace {
		return true
	}
	code := s.known.Take(f.Known)
	if code == 0 {
		x.ID = f.ID
		s.ids.take(t, x.ID, 0)
		return true
	}
	id := s.ids.back(t, code)
	if id == nil {
		return false
	}
	x.ID = id.id
	return true
}

// learn updates the state with the times of a log record.
func (s *Logs) learn(x *Log) {
	if x.Time != 0 || s.lastTime == 0 {
		s.lastTime = x.Time
	}
	delay := x.Observed - x.Time
	s.follows += bits.Len64(zigzag(x.Observed-s.lastObserved)) - bits.Len64(zigzag(delay-s.delay)) - s.follows/16
	s.lastObserved, s.delay = x.Observed, delay
}
