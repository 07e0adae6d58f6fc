// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// encoder holds the state that the encoders of all signals share.
type encoder struct {
	mode     Mode
	features features.Set

	resources intern.Resources
	scopes    intern.Scopes

	losses   Losses
	at       mapping.Place
	rejected ItemErrors
	lostRefs []lostRefs // of the current batch
}

func (e *encoder) init(mode Mode, f features.Set) {
	e.mode, e.features = mode, f
	e.resources.KeepEntityRefs = f.EntityRefs
}

// reset discards the state of the last stream. f is the features of the next stream.
func (e *encoder) reset(f features.Set) {
	e.init(e.mode, f)
	e.resources.Reset()
	e.scopes.Reset()
	e.losses, e.at, e.rejected = Losses{}, mapping.Place{}, nil
}

// Losses returns the counts of content that the stream does not contain, so far.
func (e *encoder) Losses() Losses { return e.losses }

// begin makes the encoder ready for a batch. It reports whether it emptied the pools of resources
// and scopes because one of them had grown too large.
func (e *encoder) begin() (emptied bool) {
	e.rejected = nil
	emptied = e.resources.Full(intern.MaxContainers) || e.scopes.Full(intern.MaxContainers)
	if emptied {
		e.resources.Reset()
		e.scopes.Reset()
	}
	return emptied
}

func (e *encoder) end(err error) error {
	e.countRefs()
	if err == nil && len(e.rejected) > 0 {
		return e.rejected
	}
	return err
}

// enterResource returns the id of resource i of the batch. It returns false for a
// resource that has no scopes or cannot be written; items counts its items.
func (e *encoder) enterResource(c *values.Copier, i int, r pcommon.Resource, url string, scopes int, items func() int) (id uint32, ok bool) {
	e.at = mapping.Place{Offset: -1, Resource: i, Scope: -1, Metric: -1, Item: -1}
	if scopes == 0 {
		e.losses.EmptyContainers++
		return 0, false
	}
	id, err := e.resources.Find(c, r, url)
	if err != nil {
		e.reject("resource.", err, items())
		return 0, false
	}
	if !e.features.EntityRefs {
		if n := values.CountEntityRefs(r); n > 0 {
			e.lostRefs = append(e.lostRefs, lostRefs{resource: i, refs: n, items: items()})
		}
	}
	return id, true
}

// lostRefs are the entity references of a resource of the batch. The schema of the stream has no
// field for them.
type lostRefs struct {
	resource int // index in the batch
	refs     uint64
	items    int // number of items of the resource
}

// countRefs counts the lost entity references of all resources with at least one written item. Call
// it at the end of the batch: until then, further items of a resource can be omitted.
func (e *encoder) countRefs() {
	if len(e.lostRefs) == 0 {
		return
	}
	omitted := map[int]int{}
	for _, r := range e.rejected {
		omitted[r.Resource] += r.Items
	}
	for _, l := range e.lostRefs {
		if omitted[l.resource] < l.items {
			e.losses.EntityRefs += l.refs
		}
	}
	e.lostRefs = e.lostRefs[:0]
}

// enterScope is like enterResource, but for scope i of the resource. n is the number of
// metrics, spans or log records of the scope.
func (e *encoder) enterScope(c *values.Copier, i int, s pcommon.InstrumentationScope, url string, n int, items func() int) (id uint32, ok bool) {
	e.at.Scope, e.at.Metric, e.at.Item = i, -1, -1
	if n == 0 {
		e.losses.EmptyContainers++
		return 0, false
	}
	id, err := e.scopes.Find(c, s, url)
	if err != nil {
		e.reject("scope.", err, items())
		return 0, false
	}
	return id, true
}

// rejectItem notes that item i of the current scope or metric is not written.
func (e *encoder) rejectItem(i int, err error) {
	e.at.Item = i
	e.reject("", err, 1)
}

// reject notes that the n items at e.at are not written: one item, or all items of a resource,
// scope or metric.
func (e *encoder) reject(prefix string, err error, n int) {
	if n > 0 {
		e.rejected = mapping.AddItems(e.rejected, e.at, prefix, err, n)
	}
}
