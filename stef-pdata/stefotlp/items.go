// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// containersOf is the part of a record that holds the resource and the scope.
type containersOf interface {
	SetResource(*otelstef.Resource)
	SetScope(*otelstef.Scope)
}

// items calls item for each span, log record or metric of the message, after setting the resource and
// the scope of rec. count counts the items of a ScopeX for errors; the items of metrics are points.
func (e *encoder) items(rec containersOf, count func(scope extent) int, item func(i int, x extent) error) error {
	return e.each(extent{0, len(e.b)}, tagResources, func(i int, x extent) error {
		e.at = mapping.Place{Offset: x.from, Resource: i, Scope: -1, Metric: -1, Item: -1}
		resource := e.enterResource(x, count)
		if resource == nil {
			return nil
		}
		rec.SetResource(resource)
		return e.each(x, e.tagScopes, func(i int, x extent) error {
			e.at = mapping.Place{Offset: x.from, Resource: e.at.Resource, Scope: i, Metric: -1, Item: -1}
			scope := e.enterScope(x, count)
			if scope == nil {
				return nil
			}
			rec.SetScope(scope)
			return e.each(x, tagItems, item)
		})
	})
}

// enterResource returns the resource of the ResourceX in x, or nil if it has nothing
// to write. count counts the items of a ScopeX.
func (e *encoder) enterResource(x extent, count func(scope extent) int) *otelstef.Resource {
	unknown := e.unknown
	h, damaged := e.identify(x)
	if damaged != nil {
		e.unknown = unknown
		e.reject("", damaged, 0)
		return nil
	}
	e.tagScopes = tagScopes
	if h.items == 0 && h.old > 0 { // pdata, too, reads these scopes only if there are no others
		e.tagScopes, h.items = tagOldScopes, h.old
		e.unknown -= uint64(h.old)
	}
	if h.items == 0 {
		e.unknown = unknown
		e.losses.EmptyContainers++
		return nil
	}
	resource, err := e.resource(h)
	if err != nil {
		n := 0
		e.each(x, e.tagScopes, func(_ int, scope extent) error {
			n += count(scope)
			return nil
		})
		e.unknown = unknown
		e.reject("resource.", err, n)
		return nil
	}
	e.postpone(ofResource, unknown)
	return resource
}

// enterScope is like enterResource, but for a ScopeX.
func (e *encoder) enterScope(x extent, count func(scope extent) int) *otelstef.Scope {
	unknown := e.unknown
	h, damaged := e.identify(x)
	if damaged != nil {
		n := count(x)
		e.unknown = unknown
		e.reject("", damaged, n)
		return nil
	}
	if h.items == 0 {
		e.unknown = unknown
		e.losses.EmptyContainers++
		return nil
	}
	scope, err := e.scope(h)
	if err != nil {
		n := count(x)
		e.unknown = unknown
		e.reject("scope.", err, n)
		return nil
	}
	e.postpone(ofScope, unknown)
	return scope
}

// itemsIn returns how many items the ScopeX in x has.
func (e *encoder) itemsIn(x extent) int {
	h, _ := e.identify(x)
	return h.items
}
