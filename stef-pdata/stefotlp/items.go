// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import "github.com/otelstef/stef/stef-go/otelstef"

// containersOf is where records of spans and logs hold their containers.
type containersOf interface {
	SetResource(*otelstef.Resource)
	SetScope(*otelstef.Scope)
}

// items calls item for each span or log record of the message, after it gave rec
// its containers.
func (e *encoder) items(rec containersOf, item func(i int, x extent) error) error {
	return e.each(extent{0, len(e.b)}, tagResources, func(i int, x extent) error {
		e.at = place{x.from, i, -1, -1, -1}
		if e.countOf(x, tagScopes) == 0 {
			e.losses.EmptyContainers++
			return nil
		}
		resource, err := e.resource(x)
		if err != nil {
			n := 0
			e.each(x, tagScopes, func(_ int, scope extent) error {
				n += e.countOf(scope, tagItems)
				return nil
			})
			e.reject("resource.", err, n)
			return nil
		}
		rec.SetResource(resource)
		return e.each(x, tagScopes, func(i int, x extent) error { return e.itemsOfScope(i, x, rec, item) })
	})
}

func (e *encoder) itemsOfScope(i int, x extent, rec containersOf, item func(i int, x extent) error) error {
	e.at.offset, e.at.scope, e.at.item = x.from, i, -1
	n := e.countOf(x, tagItems)
	if n == 0 {
		e.losses.EmptyContainers++
		return nil
	}
	scope, err := e.scope(x)
	if err != nil {
		e.reject("scope.", err, n)
		return nil
	}
	rec.SetScope(scope)
	return e.each(x, tagItems, func(i int, x extent) error {
		e.at.item = -1
		return item(i, x)
	})
}
