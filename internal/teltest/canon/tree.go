// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

type (
	resourced interface {
		Resource() pcommon.Resource
		SchemaUrl() string
		SetSchemaUrl(string)
	}
	scoped interface {
		Scope() pcommon.InstrumentationScope
		SchemaUrl() string
		SetSchemaUrl(string)
	}
)

// A tree describes a signal, whose batches B have resources R, scopes S and items I. The items
// are metrics, spans or log records.
type tree[B any, R resourced, S scoped, I any] struct {
	resources func(B) iter.Seq2[int, R]
	scopes    func(R) iter.Seq2[int, S]
	items     func(S) iter.Seq2[int, I]
	// write appends the lines of an item to t, and yields the whole text: once for each point if the
	// item is a metric. It returns false if yield does.
	write func(t *text, item I, yield func([]byte) bool) bool

	addResource func(B) R
	addScope    func(R) S
	addItem     func(Options, S, I) // appends a copy of the item
}

// each yields the text of each item. The lines of a container are written once, and stay in the
// buffer for all its items.
func (x *tree[B, R, S, I]) each(o Options, batches []B, yield func([]byte) bool) {
	t := text{Options: o}
	for _, b := range batches {
		for _, r := range x.resources(b) {
			t.buf = t.buf[:0]
			t.resource(r.Resource(), r.SchemaUrl())
			inResource := len(t.buf)
			for _, s := range x.scopes(r) {
				t.buf = t.buf[:inResource]
				t.scope(s.Scope(), s.SchemaUrl())
				inScope := len(t.buf)
				for _, item := range x.items(s) {
					t.buf = t.buf[:inScope]
					if !x.write(&t, item, yield) {
						return
					}
				}
			}
		}
	}
}

// merge appends all batches to out, in order. It merges adjacent resources and scopes of equal
// content, and drops containers without items.
func (x *tree[B, R, S, I]) merge(o Options, out B, batches []B) B {
	var resource, scope container
	var toResource R
	var toScope S
	enter := func(r R, s S) {
		if !resource.same(o.content(func(t *text) { t.resource(r.Resource(), r.SchemaUrl()) })) {
			toResource = x.addResource(out)
			r.Resource().CopyTo(toResource.Resource())
			toResource.SetSchemaUrl(r.SchemaUrl())
			o.sort(toResource.Resource().Attributes())
			scope.open = false
		}
		if !scope.same(o.content(func(t *text) { t.scope(s.Scope(), s.SchemaUrl()) })) {
			toScope = x.addScope(toResource)
			s.Scope().CopyTo(toScope.Scope())
			toScope.SetSchemaUrl(s.SchemaUrl())
			o.sort(toScope.Scope().Attributes())
		}
	}
	for _, b := range batches {
		for _, r := range x.resources(b) {
			for _, s := range x.scopes(r) {
				entered := false
				for _, item := range x.items(s) {
					if !entered {
						enter(r, s)
						entered = true
					}
					x.addItem(o, toScope, item)
				}
			}
		}
	}
	return out
}

// A container is the last resource, scope or metric that was read at its level. It is merged into
// the previous container of the same parent if both are equal.
type container struct {
	text string
	open bool
}

// same reports whether the container is open and has the given text. If not, same
// opens it with this text.
func (c *container) same(text []byte) bool {
	if c.open && c.text == string(text) {
		return true
	}
	c.text, c.open = string(text), true
	return false
}

func (o Options) content(write func(*text)) []byte {
	t := text{Options: o}
	write(&t)
	return t.buf
}
