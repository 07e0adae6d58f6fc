// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import "encoding/binary"

// The maximum numbers of traces and ids. When one of them is reached, the next record
// discards all traces and ids.
//
// spec: #compact-ids
const (
	maxTraces = 32_768
	maxIDs    = 131_071
)

// traces are the traces that a stream has sent, with the ids of their spans.
//
// spec: #compact-ids
type traces struct {
	list []*trace
	// ids counts the ids of all traces.
	ids  int
	last *trace
}

type trace struct {
	number    int
	high, low uint64
	ids       []*spanID
	// next is the trace that last followed this trace, or nil if no trace has followed it.
	next *trace
	// start is the start time of the last span in this trace.
	start uint64
}

type spanID struct {
	bits uint64
	// start is the start time of the span. It is valid only if sent is set, which means that
	// the span itself was sent, not only its id.
	start uint64
	sent  bool
}

// traceOf returns the trace that a code refers to. high and low are the id of a new trace.
func (t *traces) traceOf(code int64, high, low uint64) (*trace, error) {
	if len(t.list) >= maxTraces || t.ids >= maxIDs {
		*t = traces{}
	}
	if code == 1 {
		n := &trace{number: len(t.list), high: high, low: low}
		t.list = append(t.list, n)
		t.setLast(n)
		return n, nil
	}
	if t.last == nil {
		return nil, corrupt("the code %d of a trace refers to the last trace, but there is none", code)
	}
	switch {
	case code == 0:
		return t.last, nil
	case code == 2:
		if t.last.next == nil {
			return nil, corrupt("the code 2 of a trace refers to the trace after the last one, which is not known")
		}
		t.setLast(t.last.next)
	default:
		distance := code
		if code > 0 {
			distance = code - 2
		}
		back, forth := -int64(t.last.number), int64(len(t.list)-1-t.last.number)
		if distance < back || distance > forth {
			return nil, corrupt("the code %d of a trace leads from trace %d of %d to no trace", code, t.last.number, len(t.list))
		}
		t.setLast(t.list[t.last.number+int(distance)])
	}
	return t.last, nil
}

// setLast makes n the last trace, and stores in the trace before it that n followed.
func (t *traces) setLast(n *trace) {
	if t.last != nil {
		t.last.next = n
	}
	t.last = n
}

// add adds an id to a trace.
func (t *traces) add(to *trace, bits uint64) *spanID {
	id := &spanID{bits: bits}
	to.ids = append(to.ids, id)
	t.ids++
	return id
}

// span returns the id of the span of a record. If known is 0, the id is new and has the
// given bits. Otherwise known is the distance to an earlier id of the trace.
//
// spec: #compact-spans
func (t *traces) span(in *trace, known int64, bits uint64) (*spanID, error) {
	if known == 0 {
		return t.add(in, bits), nil
	}
	return in.at(known)
}

// at returns the id at a distance, which counts back from the end of the list.
func (t *trace) at(distance int64) (*spanID, error) {
	if distance < 1 || distance > int64(len(t.ids)) {
		return nil, corrupt("the distance %d to an id is not from 1 to %d, the number of ids of the trace", distance, len(t.ids))
	}
	return t.ids[int64(len(t.ids))-distance], nil
}

// id returns the 16 bytes of the trace id.
func (t *trace) id() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, t.high), t.low)
}

// id returns the 8 bytes of the span id.
func (i *spanID) id() []byte { return binary.BigEndian.AppendUint64(nil, i.bits) }
