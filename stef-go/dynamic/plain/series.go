// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"encoding/binary"
	"math"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// The limits of the tables. A record that begins a series empties the tables when a
// limit is reached.
//
// spec: #compact-series
const (
	maxSeries   = 65_536
	maxSets     = 524_288
	maxElements = 2_097_152
	// maxHeld is the largest number of words and floats of all series. It is reached only if
	// series grow while no new series begins.
	maxHeld = 33_554_432
)

// tables holds the series of a stream and their sets of attributes.
//
// spec: #compact-series
type tables struct {
	series map[seriesKey]*series
	homes  map[*dynamic.Struct]*home
	// sets contains the key of each set of attributes, as setKey returns it. setSize is the sum
	// of the sizes of the sets: 1 for a set, and 1 for each of its pairs.
	sets    map[string]bool
	setSize int
	// texts numbers the texts in sets, so that keys of sets are short.
	texts map[string]uint64
	// elements counts the words and floats of all series. exemplars is the sum of exemplarSize of
	// all series.
	elements, exemplars int
}

// seriesKey identifies a series. It compares structs by their pointers: package dynamic
// returns the same pointer for every reference to a dictionary entry.
type seriesKey struct {
	metric, resource, scope *dynamic.Struct
	attributes              string
}

// home is the state of a resource: the time and the tick (see clock) of the first point of its
// newest series.
type home struct {
	known bool
	first uint64
	tick  int
}

// series is the state of one series.
//
// spec: #compact-points
type series struct {
	// listed is false for a series that the tables do not contain; its state is lost
	// after the record.
	listed bool
	// n is the number of points so far; it stops at 2.
	n                    int
	time, start          uint64
	startIsTime          bool
	form                 int64
	number, step, second int64
	bits                 uint64
	interval             uint64
	tick                 int
	words, floats        []uint64
	exemplars            []any
	exemplarSize         int
	shares               bool
}

func newTables() tables {
	return tables{
		series: map[seriesKey]*series{},
		homes:  map[*dynamic.Struct]*home{},
		sets:   map[string]bool{},
		texts:  map[string]uint64{},
	}
}

// find returns the series of a record and the home of its resource. It adds a new
// series to the tables. If the attributes have arrays, maps or bytes, it returns an
// empty series and home that are not in the tables.
func (t *tables) find(rec view) (*series, *home) {
	pairs := rec.pairs("Attributes")
	typ := valueOf(rec.typ, "Attributes")
	for _, p := range pairs {
		switch name, _ := choice(typ, p.Value); name {
		case "Array", "KVList", "Bytes":
			return &series{}, &home{}
		}
	}
	key := seriesKey{
		metric:     rec.sub("Metric").val,
		resource:   rec.sub("Resource").val,
		scope:      rec.sub("Scope").val,
		attributes: t.setKey(pairs),
	}
	s := t.series[key]
	if s == nil {
		s = t.begin(&key, pairs)
	}
	return s, t.homes[key.resource]
}

// begin adds a series. It also adds the state of its resource (home) and its set of attributes, if
// they are new.
func (t *tables) begin(key *seriesKey, pairs []dynamic.Pair) *series {
	t.addSet(key.attributes, pairs)
	if len(t.series) >= maxSeries || t.setSize > maxSets || t.elements > maxElements {
		*t = newTables()
		key.attributes = t.setKey(pairs)
		t.addSet(key.attributes, pairs)
	}
	if t.homes[key.resource] == nil {
		t.homes[key.resource] = &home{}
	}
	s := &series{listed: true}
	t.series[*key] = s
	return s
}

func (t *tables) addSet(key string, pairs []dynamic.Pair) {
	if !t.sets[key] {
		t.sets[key] = true
		t.setSize += 1 + len(pairs)
	}
}

// setKey returns the key of a set of attributes. Two sets have the same key if and only if they are
// equal. The attributes must not have arrays, maps or bytes. The key contains the number of each text
// instead of the text, so that a long text that a stream uses in many sets is stored once.
func (t *tables) setKey(pairs []dynamic.Pair) string {
	var key []byte
	for _, p := range pairs {
		o := p.Value.(*dynamic.Oneof)
		key = binary.AppendUvarint(key, t.textNumber(p.Key.(string)))
		key = append(key, byte(o.Choice))
		switch v := o.Value.(type) {
		case string:
			key = binary.AppendUvarint(key, t.textNumber(v))
		case bool:
			key = append(key, byte(btoi(v)))
		case int64:
			key = binary.BigEndian.AppendUint64(key, uint64(v))
		case float64:
			key = binary.BigEndian.AppendUint64(key, math.Float64bits(v))
		}
	}
	return string(key)
}

func (t *tables) textNumber(text string) uint64 {
	n, ok := t.texts[text]
	if !ok {
		n = uint64(len(t.texts))
		t.texts[text] = n
	}
	return n
}

// maxTicks is the number of ticks of the clock.
//
// spec: #compact-points
const maxTicks = 8192

// clock has the ticks of a stream. A tick is a time at which points were measured. It also has the
// number of the next tick, which predicts the times of later points.
type clock struct {
	ticks  []tick
	oldest int
}

type tick struct {
	time uint64
	// next is the number of the next tick. It is valid only if known is set.
	next  int
	known bool
}

// has reports whether the tick with this number exists and has this time.
func (c *clock) has(number int, time uint64) bool {
	return number < len(c.ticks) && c.ticks[number].time == time
}

// tickOf returns the first of numbers whose tick has the given time. If there is none, it
// adds a tick and returns the number of the new tick.
func (c *clock) tickOf(time uint64, numbers ...int) int {
	for _, n := range numbers {
		if c.has(n, time) {
			return n
		}
	}
	if len(c.ticks) < maxTicks {
		c.ticks = append(c.ticks, tick{time: time})
		return len(c.ticks) - 1
	}
	n := c.oldest
	c.ticks[n] = tick{time: time}
	c.oldest = (n + 1) % maxTicks
	return n
}
