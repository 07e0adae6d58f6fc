// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"math/bits"
	"slices"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/order"
)

// logSorter holds the log records of a batch. They are sorted by resource, scope, event name,
// keys of the attributes, and time. Adjacent records then differ in values only. The template
// of the body is not a sort key: sorting by template before time made most real data sets
// larger.
type logSorter struct {
	resource, scope uint32 // the current ids of the encoder

	lists  []logList
	items  []logItem
	keys   []order.Key
	spare  []order.Key
	events intern.Names
	sets   intern.KeyLists
}

// logList contains the log records of a scope of a resource.
type logList struct {
	plog.LogRecordSlice
	resource, scope uint32
	at              mapping.Place
}

type logItem struct {
	plog.LogRecord
	event, set uint32
	list       uint32
	index      int // index in the list
}

func (s *logSorter) reset() {
	s.events.Reset()
	s.sets.Reset()
	s.resource, s.scope = 0, 0
	clear(s.lists)
	clear(s.items)
	s.lists, s.items = s.lists[:0], s.items[:0]
}

func (e *LogsEncoder) collect(lrs plog.LogRecordSlice) {
	s := &e.sorter
	s.lists = append(s.lists, logList{lrs, e.resources.First(s.resource), s.scope, e.at})
}

func (e *LogsEncoder) writeSorted() error {
	s := &e.sorter
	e.sortLists()
	for from := 0; from < len(s.lists); {
		first := &s.lists[from]
		to := from + 1
		for to < len(s.lists) && s.lists[to].resource == first.resource && s.lists[to].scope == first.scope {
			to++
		}
		e.rec.SetResource(e.resources.Value(first.resource))
		e.rec.SetScope(e.scopes.Value(first.scope))
		s.gather(s.lists[from:to])
		s.sort()
		if err := e.writeKeys(s.lists[from:to]); err != nil {
			return err
		}
		from = to
	}
	clear(s.lists)
	clear(s.items[:cap(s.items)])
	s.lists, s.items = s.lists[:0], s.items[:0]
	return nil
}

// writeKeys writes the log records of lists in the order of the keys.
func (e *LogsEncoder) writeKeys(lists []logList) error {
	s := &e.sorter
	for keys := s.keys; len(keys) > 0; keys = keys[len(e.studied):] {
		e.studied = e.studied[:0]
		for _, k := range keys[:min(chunk, len(keys))] {
			e.studied = append(e.studied, s.items[k.Item].LogRecord)
		}
		e.study(lists[0].resource, lists[0].scope)
		for body, lr := range e.studied {
			x := &s.items[keys[body].Item]
			e.at = lists[x.list].at
			if err := e.writeRecord(lr, x.index, body); err != nil {
				return err
			}
		}
	}
	return nil
}

// sortLists sorts the lists by resource and scope.
func (e *LogsEncoder) sortLists() {
	e.resources.RankByValue()
	e.scopes.RankByValue()
	slices.SortStableFunc(e.sorter.lists, func(a, b logList) int {
		return cmp.Or(
			cmp.Compare(e.resources.Ranks[a.resource], e.resources.Ranks[b.resource]),
			cmp.Compare(e.scopes.Ranks[a.scope], e.scopes.Ranks[b.scope]),
		)
	})
}

func (s *logSorter) gather(lists []logList) {
	s.items = s.items[:0]
	for l, list := range lists {
		s.items = slices.Grow(s.items, list.Len())
		for i := range list.Len() {
			lr := list.At(i)
			s.items = append(s.items, logItem{
				LogRecord: lr, event: s.events.ID(lr.EventName()),
				set: s.sets.ID(lr.Attributes()), list: uint32(l), index: i,
			})
		}
	}
}

// sort fills keys with the sorted items.
func (s *logSorter) sort() {
	s.keys = s.keys[:0]
	event, set := uint32(0), uint32(0)
	for i := range s.items {
		x := &s.items[i]
		s.keys = append(s.keys, order.Key{Key: uint64(x.Timestamp()), Item: uint32(i)})
		event, set = max(event, x.event), max(set, x.set)
	}
	s.keys, s.spare = order.Sort(s.keys, s.spare, 64)
	setBits := bits.Len32(set)
	for i := range s.keys {
		x := &s.items[s.keys[i].Item]
		s.keys[i].Key = uint64(x.set) | uint64(x.event)<<setBits
	}
	s.keys, s.spare = order.Sort(s.keys, s.spare, setBits+bits.Len32(event))
}
