// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"math/bits"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// logSorter holds the log records of a batch, to be written by resource and
// scope, and within these by event name, by the keys of the attributes and by
// time. Records that follow each other then differ in values only. By template
// before the time most real sets got larger.
type logSorter struct {
	resource, scope uint32 // where the encoder is

	lists  []logList
	items  []logItem
	keys   []sortKey
	spare  []sortKey
	events names
	sets   keyLists
}

// logList is the log records of a container.
type logList struct {
	plog.LogRecordSlice
	resource, scope uint32
	at              mapping.Place
}

// logItem is a log record.
type logItem struct {
	plog.LogRecord
	event, set uint32
	list       uint32
	index      int // in the list
}

// collect adds the log records of a container.
func (e *LogsEncoder) collect(lrs plog.LogRecordSlice) {
	s := &e.sorter
	s.lists = append(s.lists, logList{lrs, e.resources.entries[s.resource].as, s.scope, e.at})
}

// writeSorted writes what was collected.
func (e *LogsEncoder) writeSorted() error {
	s := &e.sorter
	e.sortLists()
	for from := 0; from < len(s.lists); {
		first := &s.lists[from]
		to := from + 1
		for to < len(s.lists) && s.lists[to].resource == first.resource && s.lists[to].scope == first.scope {
			to++
		}
		e.rec.SetResource(e.resources.entries[first.resource].value)
		e.rec.SetScope(e.scopes.entries[first.scope].value)
		e.studyItems(s.lists[from:to])
		for body, k := range s.keys {
			x := &s.items[k.entry]
			e.at = s.lists[from:to][x.list].at
			if err := e.write(x.LogRecord, x.index, body); err != nil {
				return err
			}
		}
		from = to
	}
	clear(s.lists)
	clear(s.items[:cap(s.items)])
	s.lists, s.items = s.lists[:0], s.items[:0]
	return nil
}

// studyItems lists the log records of lists, and decides how they are written.
func (e *LogsEncoder) studyItems(lists []logList) {
	s := &e.sorter
	s.gather(lists)
	s.sort()
	e.split.begin()
	if e.kept.ObservedDelta {
		var sizes observedSizes
		for _, k := range s.keys {
			sizes.add(s.items[k.entry].LogRecord)
		}
		e.asDelta = sizes.deltaIsSmaller()
	}
	if !e.templates {
		return
	}
	t := e.split.of(lists[0].resource, lists[0].scope)
	for _, k := range s.keys {
		e.split.add(s.items[k.entry].Body(), t)
	}
	e.split.decide(t)
}

// sortLists puts the lists in the order of resource and scope.
func (e *LogsEncoder) sortLists() {
	e.resources.rank(e.resources.size(), func(a, b uint32) int {
		return compareResources(e.resources.entries[a].value, e.resources.entries[b].value)
	})
	e.scopes.rank(e.scopes.size(), func(a, b uint32) int {
		return compareScopes(e.scopes.entries[a].value, e.scopes.entries[b].value)
	})
	slices.SortStableFunc(e.sorter.lists, func(a, b logList) int {
		return cmp.Or(
			cmp.Compare(e.resources.ranks[a.resource], e.resources.ranks[b.resource]),
			cmp.Compare(e.scopes.ranks[a.scope], e.scopes.ranks[b.scope]),
		)
	})
}

// gather lists the log records of lists.
func (s *logSorter) gather(lists []logList) {
	s.items = s.items[:0]
	for l, list := range lists {
		s.items = slices.Grow(s.items, list.Len())
		for i := range list.Len() {
			lr := list.At(i)
			s.items = append(s.items, logItem{
				LogRecord: lr, event: s.events.id(lr.EventName()),
				set: s.sets.id(lr.Attributes()), list: uint32(l), index: i,
			})
		}
	}
}

// sort fills keys with the items in order.
func (s *logSorter) sort() {
	s.keys = s.keys[:0]
	event, set := uint32(0), uint32(0)
	for i := range s.items {
		x := &s.items[i]
		s.keys = append(s.keys, sortKey{uint64(x.Timestamp()), uint32(i)})
		event, set = max(event, x.event), max(set, x.set)
	}
	s.keys, s.spare = sortKeys(s.keys, s.spare, 64)
	setBits := bits.Len32(set)
	for i := range s.keys {
		x := &s.items[s.keys[i].entry]
		s.keys[i].key = uint64(x.set) | uint64(x.event)<<setBits
	}
	s.keys, s.spare = sortKeys(s.keys, s.spare, setBits+bits.Len32(event))
}

// keyLists numbers the lists of keys that maps have, as they come.
type keyLists struct {
	ids     map[string]uint32
	scratch []byte
}

// maxKeyLists is how many lists have a number. All others share one.
const maxKeyLists = 1 << 12

func (k *keyLists) id(m pcommon.Map) uint32 {
	k.scratch = k.scratch[:0]
	for key := range m.All() {
		k.scratch = append(k.scratch, key...)
		k.scratch = append(k.scratch, 0)
	}
	id, ok := k.ids[string(k.scratch)]
	if ok {
		return id
	}
	if k.ids == nil {
		k.ids = map[string]uint32{}
	}
	if len(k.ids) == maxKeyLists {
		return maxKeyLists
	}
	id = uint32(len(k.ids)) + 1
	k.ids[string(k.scratch)] = id
	return id
}
