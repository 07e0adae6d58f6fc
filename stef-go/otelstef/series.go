// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"hash/maphash"
	"strings"

	"github.com/otelstef/stef/stef-go/internal/compact"
)

const (
	// maxSeries is the maximum number of series; one more discards all of them.
	maxSeries = 1 << 16
	// maxSeriesPairs bounds the pairs of attributes of all series, maxSeriesWords their
	// integers and doubles of histograms and summaries.
	maxSeriesPairs = 1 << 19
	maxSeriesWords = 1 << 21
)

// container identifies a metric, a resource and a scope: by their references in the
// writer, by their addresses in the reader.
type container struct{ metric, resource, scope uint64 }

// seriesIndex finds the state of a series by metric, resource, scope and attributes.
//
// spec: #compact-series
type seriesIndex struct {
	known map[seriesKey]*series
	sets  map[uint64]*pairSet
	pairs int
	words int
	last  *series                  // of the last record
	own   bool                     // clone text, because callers may reuse it
	homes map[uint64]*compact.Home // by resource
	none  series                   // for attributes that cannot identify a series
}

type seriesKey struct {
	container
	set *pairSet
}

type series struct {
	compact.Series
	seriesKey
	next *series // that of the record that followed last time
}

// pairSet is attributes whose values are no arrays, maps or bytes.
type pairSet struct {
	pairs []pairCopy
	next  *pairSet // of the same hash
}

type pairCopy struct {
	key, text string
	num       uint64
	typ       AnyValueType
}

// forget discards all series.
func (x *seriesIndex) forget() {
	clear(x.known)
	clear(x.sets)
	clear(x.homes)
	x.pairs, x.words, x.last = 0, 0, nil
}

// find returns the series of a record. changed says that the attributes may differ from
// those of the last record.
func (x *seriesIndex) find(c container, attributes *Attributes, changed bool) *series {
	last := x.last
	if last != nil {
		if next := last.next; next != nil && next.container == c {
			if !changed && next.set == last.set || changed && next.set.holds(attributes) {
				x.last = next
				return next
			}
		}
	}
	s := x.seek(c, attributes, changed)
	if s == nil {
		x.none = series{Series: compact.Series{Home: new(compact.Home)}}
		x.last = nil
		return &x.none
	}
	if last != nil && x.last != nil {
		last.next = s
	}
	x.last = s
	return s
}

// seek finds a series, or adds it. It returns nil if the attributes cannot identify a
// series.
func (x *seriesIndex) seek(c container, attributes *Attributes, changed bool) *series {
	var set *pairSet
	if !changed && x.last != nil {
		set = x.last.set
	} else if set = x.setOf(attributes); set == nil {
		return nil
	}
	key := seriesKey{c, set}
	s := x.known[key]
	if s != nil {
		return s
	}
	if len(x.known) >= maxSeries || x.pairs > maxSeriesPairs || x.words > maxSeriesWords {
		x.forget()
		set = x.setOf(attributes)
		key.set = set
	}
	if x.known == nil {
		x.known = map[seriesKey]*series{}
		x.homes = map[uint64]*compact.Home{}
	}
	home := x.homes[c.resource]
	if home == nil {
		home = new(compact.Home)
		x.homes[c.resource] = home
	}
	s = &series{seriesKey: key}
	s.Home = home
	x.known[key] = s
	return s
}

// grow counts the words by which a series grew, unless it is discarded at once.
func (x *seriesIndex) grow(s *series, words int) {
	if s != &x.none {
		x.words += words
	}
}

var pairSeed = maphash.MakeSeed()

// setOf returns the set of attributes.
func (x *seriesIndex) setOf(attributes *Attributes) *pairSet {
	sum := uint64(len(attributes.pairs))
	for _, p := range attributes.pairs {
		sum = (sum ^ maphash.String(pairSeed, p.key)) * 0x9e3779b97f4a7c15
		v := &p.value
		switch v.typ {
		case AnyValueTypeString:
			sum = (sum ^ maphash.String(pairSeed, v.str)) * 0x9e3779b97f4a7c15
		case AnyValueTypeBool, AnyValueTypeInt64, AnyValueTypeFloat64:
			sum = (sum ^ v.num) * 0x9e3779b97f4a7c15
		case AnyValueTypeNone:
		default:
			return nil
		}
		sum ^= sum >> 29
	}
	for set := x.sets[sum]; set != nil; set = set.next {
		if set.holds(attributes) {
			return set
		}
	}
	set := &pairSet{pairs: make([]pairCopy, len(attributes.pairs)), next: x.sets[sum]}
	for i, p := range attributes.pairs {
		c := &set.pairs[i]
		c.key, c.typ = p.key, p.value.typ
		if x.own {
			c.key = strings.Clone(c.key)
		}
		if c.typ == AnyValueTypeString {
			if c.text = p.value.str; x.own {
				c.text = strings.Clone(c.text)
			}
		} else {
			c.num = p.value.num
		}
	}
	if x.sets == nil {
		x.sets = map[uint64]*pairSet{}
	}
	x.sets[sum] = set
	x.pairs += 1 + len(set.pairs)
	return set
}

// holds reports whether the set is equal to attributes.
func (s *pairSet) holds(attributes *Attributes) bool {
	if len(s.pairs) != len(attributes.pairs) {
		return false
	}
	for i, p := range attributes.pairs {
		q, v := &s.pairs[i], &p.value
		if v.typ != q.typ || p.key != q.key {
			return false
		}
		if v.typ == AnyValueTypeString {
			if v.str != q.text {
				return false
			}
		} else if v.typ != AnyValueTypeNone && v.num != q.num {
			return false
		}
	}
	return true
}
