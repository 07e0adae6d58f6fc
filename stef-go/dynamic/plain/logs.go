// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// The values of CompactForm.
const (
	noIDs = iota
	bothIDs
	traceOnly
	idsApart
)

// logs is the state of a stream of log records.
//
// spec: #compact-logs
type logs struct {
	root *schema.Struct // of the full schema
	// refers and formats say that the stream has the fields Refers and Formats.
	refers, formats bool

	// The states of the residual fields.
	time, observed, trace, known residual

	lastTime, lastObserved   uint64
	delay, follows           int64
	timeHabit, observedHabit habit
	traces                   traces
}

func (l *logs) reset() { *l = logs{root: l.root, refers: l.refers, formats: l.formats} }

func (l *logs) plain(rec view) (*dynamic.Struct, error) {
	record := rec.sub("Record")
	time, err := l.timeOf(record)
	if err != nil {
		return nil, err
	}
	observed, err := l.observedOf(record, time)
	if err != nil {
		return nil, err
	}
	traceID, spanID, err := l.idsOf(rec, record)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{
		"Time": time, "ObservedTime": observed, "ObservedDelta": nil,
		"TraceID": traceID, "SpanID": spanID,
	}
	refs := &references{record: record, traceID: traceID, spanID: spanID, time: time, formats: l.formats}
	if err := refs.replace(l.refers && rec.sub("Compact").flag("Refers"), fields); err != nil {
		return nil, err
	}
	typ := structOf(l.root, "Record")
	full := record.with(typ, fields)
	full.Present[indexOf(typ, "ObservedDelta")] = false
	return rec.with(l.root, map[string]any{"Record": full}), nil
}

func (l *logs) timeOf(record view) (uint64, error) {
	var time uint64
	switch code := l.time.field(record.number("CompactTime")); code {
	case 1:
		time = 0
	case far:
		time = record.number("Time")
	default:
		x, ok := l.timeHabit.difference(code)
		if !ok {
			return 0, undefined("the code %d of CompactTime is not defined", code)
		}
		time = l.lastTime + x
	}
	if time != 0 || l.lastTime == 0 {
		l.timeHabit.learn(time - l.lastTime)
		l.lastTime = time
	}
	return time, nil
}

func (l *logs) observedOf(record view, time uint64) (uint64, error) {
	better, other := l.lastObserved, time+uint64(l.delay)
	if l.follows > 0 {
		better, other = other, better
	}
	var observed uint64
	switch code := l.observed.field(record.number("CompactObserved")); code {
	case 1:
		observed = other
	case far:
		observed = record.number("ObservedTime")
	default:
		x, ok := l.observedHabit.difference(code)
		if !ok {
			return 0, undefined("the code %d of CompactObserved is not defined", code)
		}
		observed = better + x
	}
	if observed == better || observed != other {
		l.observedHabit.learn(observed - better)
	}
	a := length(zigzag(observed - l.lastObserved))
	b := length(zigzag(observed - time - uint64(l.delay)))
	l.follows = l.follows + a - b - l.follows/16
	l.lastObserved, l.delay = observed, int64(observed-time)
	return observed, nil
}

func (l *logs) idsOf(rec, record view) (traceID, spanID []byte, err error) {
	form := record.number("CompactForm")
	switch form {
	case noIDs:
		return []byte{}, []byte{}, nil
	case bothIDs, traceOnly:
	case idsApart:
		return record.raw("TraceID"), record.raw("SpanID"), nil
	default:
		return nil, nil, corrupt("the CompactForm %d is not defined", form)
	}
	compact := rec.sub("Compact")
	trace, err := l.traces.traceOf(l.trace.field(rec.number("Trace")), compact.bits("TraceHigh"), compact.bits("TraceLow"))
	if err != nil {
		return nil, nil, err
	}
	if form == traceOnly {
		return trace.id(), []byte{}, nil
	}
	span, err := l.traces.span(trace, l.known.field(rec.number("Known")), rec.bits("ID"))
	if err != nil {
		return nil, nil, err
	}
	return trace.id(), span.id(), nil
}
