// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"fmt"
	"slices"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// wireLines collects all entries of a wire schema before it prints them, because the name of the
// struct of an entry depends on the entries before it.
type wireLines struct {
	p      *printer
	root   *schema.Struct
	events []*dynamic.Event
	counts schema.WireSchema
}

func (w *wireLines) add(e *dynamic.Event, fields uint64) {
	held := *e
	held.Data = slices.Clone(e.Data)
	w.events = append(w.events, &held)
	w.counts = append(w.counts, int(fields))
}

func (w *wireLines) flush() {
	if len(w.events) == 0 {
		return
	}
	names := wireNames(w.root, w.counts)
	for i, e := range w.events {
		name := "no struct that is known"
		if i < len(names) {
			name = names[i]
		}
		w.p.printElement(e, fmt.Sprintf("%s: %s", plural(uint64(w.counts[i]), "field"), name))
	}
	w.events, w.counts = nil, nil
}

// wireNames returns, for each count in a wire schema, the name of its struct or oneof.
// The order is that of the specification. A count greater than the number of fields
// means all fields.
//
// spec: #wire-schema
func wireNames(root *schema.Struct, counts schema.WireSchema) []string {
	var names []string
	seen := map[any]bool{}
	var visit func(t *schema.Type)
	list := func(s *schema.Struct) {
		if seen[s] || len(names) == len(counts) {
			return
		}
		seen[s] = true
		kept := min(counts[len(names)], len(s.Fields))
		names = append(names, s.Name)
		for _, f := range s.Fields[:kept] {
			visit(&f.Type)
		}
	}
	visit = func(t *schema.Type) {
		switch t.Kind {
		case schema.KindStruct, schema.KindOneof:
			list(t.Struct)
		case schema.KindArray:
			visit(t.Elem)
		case schema.KindMultimap:
			if !seen[t.Multimap] {
				seen[t.Multimap] = true
				visit(&t.Multimap.Key)
				visit(&t.Multimap.Value)
			}
		}
	}
	if root != nil {
		list(root)
	}
	return names
}

// sizeLines prints a size table. Consecutive empty columns, of one bit each, share a
// line, because most columns are empty.
type sizeLines struct {
	p *printer
	// empty is one event for a run of empty columns: the event of the first column,
	// with the bits of the other columns appended.
	empty *dynamic.Event
	count int
	first string
	last  string
}

func (s *sizeLines) add(e *dynamic.Event, size uint64) {
	path := e.Path
	if size > 0 || e.Bits != 1 {
		s.flush()
		s.p.printElement(e, plural(size, "byte")+": "+path)
		return
	}
	if s.empty == nil {
		held := *e
		held.Data = slices.Clone(e.Data)
		s.empty, s.count, s.first, s.last = &held, 1, path, path
		return
	}
	s.count++
	s.last = path
	s.empty.Bits++
	if len(s.empty.Data)*8 < s.empty.Bit+s.empty.Bits {
		s.empty.Data = append(s.empty.Data, e.Data...)
	}
}

func (s *sizeLines) flush() {
	if s.empty == nil {
		return
	}
	s.empty.Detail = nil // without detail, the bits of several codes are printed as one group
	text := "empty: " + s.first
	switch {
	case s.count == 2:
		text += ", " + s.last
	case s.count > 2:
		text += fmt.Sprintf(", and %d more to %s", s.count-1, s.last)
	}
	s.p.printElement(s.empty, text)
	s.empty = nil
}
