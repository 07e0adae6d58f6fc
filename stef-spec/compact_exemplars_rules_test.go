// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// The bounds of the exemplars in the state of metrics.
const (
	ruleExemplars     = 62
	ruleExemplarBytes = 8388608
)

// exemplars sets the exemplars of a point.
//
// spec: #compact-exemplars
func (s *metricsRules) exemplars(rec, out view, x *ruleSeriesState, counted bool) error {
	if !s.sharing {
		return nil
	}
	sent := rec.sub("Point").get("Exemplars").(*dynamic.Array).Elems
	c := s.source.residual(rec.sub("Point").number("CompactExemplars"))
	if !x.shares {
		c = ^c
	}
	n := len(x.exemplars)
	if c < 0 {
		n = len(sent)
		for i := range 63 {
			n += int(^c >> i & 1)
		}
	}
	list, repeated := []any{}, 0
	for i := range n {
		bit := i < 63 && c>>i&1 != 0
		if c < 0 && i >= 63 {
			bit = true
		}
		if !bit {
			if i >= len(x.exemplars) {
				return fmt.Errorf("%w: exemplar %d of %d", errRule, i, len(x.exemplars))
			}
			list = append(list, x.exemplars[i])
			repeated++
			continue
		}
		if len(sent) == 0 {
			return fmt.Errorf("%w: an exemplar is missing", errRule)
		}
		list, sent = append(list, sent[0]), sent[1:]
	}
	if c != 0 && len(sent) > 0 {
		return fmt.Errorf("%w: %d exemplars too many", errRule, len(sent))
	}
	if c > 0 && c>>n != 0 {
		return fmt.Errorf("%w: code %d for %d exemplars", errRule, c, n)
	}
	out.sub("Point").set("Exemplars", &dynamic.Array{Elems: list})
	if !counted {
		return nil
	}
	if len(x.exemplars) > 0 {
		x.shares = repeated > 0
	}
	if c == 0 {
		return nil
	}
	t := rec.sub("Point")
	elem := t.t.Fields[t.index("Exemplars")].Type.Elem.Struct
	count := 0
	const delta = 1
	keep := n <= ruleExemplars && rec.sub("Metric").number("AggregationTemporality") != delta
	for _, e := range list {
		counts, ok := exemplarCount(view{elem, e.(*dynamic.Struct)})
		keep = keep && ok
		count += counts
	}
	s.exemplarBytes -= x.exemplarBytes
	x.exemplars, x.exemplarBytes = nil, 0
	if keep && s.exemplarBytes+count <= ruleExemplarBytes {
		x.exemplars, x.exemplarBytes = list, count
		s.exemplarBytes += count
	}
	return nil
}

// exemplarCount returns how many bytes an exemplar counts towards the bound of exemplars. ok
// is false if series do not store the exemplar.
func exemplarCount(e view) (count int, ok bool) {
	trace, span := len(e.get("TraceID").([]byte)), len(e.get("SpanID").([]byte))
	if trace != 0 && trace != 16 || span != 0 && span != 8 {
		return 0, false
	}
	count = 80
	for _, p := range e.get("FilteredAttributes").(*dynamic.Multimap).Pairs {
		count += 48 + len(p.Key.(string))
		switch v := p.Value.(*dynamic.Oneof).Value.(type) {
		case string:
			count += len(v)
		case *dynamic.Array, *dynamic.Multimap, []byte:
			return 0, false
		}
	}
	return count, true
}
