// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/order"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// Resources caches resources as values that records can share.
type Resources struct {
	pool[resourceEntry]
	KeepEntityRefs bool // entity references are kept

	// alike maps the hash of a value to the id of the last value with that hash. It finds resources
	// that differ only in the order of attributes: some producers change the order each time.
	alike map[codec.Hash]uint32
	spare *otelstef.Resource // an unused value for the next new resource
}

type resourceEntry struct {
	value *otelstef.Resource
	// arrival has the attributes in their original order. The attributes in value may be sorted
	// by key: entries that differ only in the order of attributes share a value.
	arrival *otelstef.Attributes
	first   uint32 // the first entry with this value
	next    uint32 // the next value with the same hash in alike
}

// Value returns the value of an id.
func (p *Resources) Value(id uint32) *otelstef.Resource { return p.entries[id].value }

// First returns the first id with the same value as id.
func (p *Resources) First(id uint32) uint32 { return p.entries[id].first }

// RankByValue ranks all ids by the order of their values, so that items can be sorted by rank.
func (p *Resources) RankByValue() {
	p.Rank(p.Size(), func(a, b uint32) int { return order.CompareResources(p.entries[a].value, p.entries[b].value) })
}

// Reset empties the pool.
func (p *Resources) Reset() {
	p.pool.Reset()
	p.alike = emptied(p.alike)
}

// Find returns the id of a resource. It adds the resource if it is new.
func (p *Resources) Find(c *values.Copier, r pcommon.Resource, url string) (uint32, error) {
	if p.last != 0 && p.same(p.last, r, url) {
		return p.last, nil
	}
	if id := p.predict(); id != 0 && p.same(id, r, url) {
		p.observe(id)
		return id, nil
	}
	var h hash
	h.String(url)
	h.Uint64(uint64(r.DroppedAttributesCount()))
	h.attributes(r.Attributes())
	if p.KeepEntityRefs {
		h.entityRefs(entity.ResourceEntityRefs(r))
	}
	for id := p.byHash[h.Hash]; id != 0; id = p.chain[id] {
		if p.same(id, r, url) {
			p.observe(id)
			return id, nil
		}
	}
	e, err := p.make(c, r, url)
	if err != nil {
		return 0, err
	}
	p.HeldBytes += mapping.MaxItemBytes - c.Left
	id := p.insert(h, e)
	p.share(&p.entries[id], id, r)
	p.observe(id)
	return id, nil
}

// share looks for an earlier entry with a value that is equal to the value of e. id is the id of e.
// If there is such an entry, e uses its value, so that both entries share one value.
func (p *Resources) share(e *resourceEntry, id uint32, r pcommon.Resource) {
	var h hash
	h.String(e.value.SchemaURL())
	h.Uint64(e.value.DroppedAttributesCount())
	h.stored(e.value.Attributes())
	if p.KeepEntityRefs {
		h.entityRefs(entity.ResourceEntityRefs(r))
	}
	for first := p.alike[h.Hash]; first != 0; first = p.entries[first].next {
		if known := &p.entries[first]; known.value.Equal(e.value) {
			if e.arrival != e.value.Attributes() {
				p.spare = e.value
			}
			e.value, e.first = known.value, first
			return
		}
	}
	if p.alike == nil {
		p.alike = map[codec.Hash]uint32{}
	}
	e.first, e.next = id, p.alike[h.Hash]
	p.alike[h.Hash] = id
}

func (p *Resources) same(id uint32, r pcommon.Resource, url string) bool {
	e := &p.entries[id]
	return e.value.SchemaURL() == url &&
		e.value.DroppedAttributesCount() == uint64(r.DroppedAttributesCount()) &&
		values.SameAttributes(e.arrival, r.Attributes()) &&
		(!p.KeepEntityRefs || values.SameEntityRefs(e.value, entity.ResourceEntityRefs(r)))
}

func (p *Resources) make(c *values.Copier, r pcommon.Resource, url string) (resourceEntry, error) {
	v := p.spare
	if p.spare = nil; v == nil {
		v = otelstef.NewResource()
	}
	c.Begin()
	v.SetSchemaURL(url)
	if err := c.Take(len(url)); err != nil {
		return resourceEntry{}, mapping.InField("schema_url", err)
	}
	v.SetDroppedAttributesCount(uint64(r.DroppedAttributesCount()))
	arrival, err := c.Container(v.Attributes(), r.Attributes())
	if err != nil {
		return resourceEntry{}, err
	}
	if p.KeepEntityRefs {
		if err := c.EntityRefs(v, entity.ResourceEntityRefs(r)); err != nil {
			return resourceEntry{}, mapping.InField("entity_refs", err)
		}
	}
	return resourceEntry{value: v, arrival: arrival}, nil
}

// Scopes caches scopes.
type Scopes struct{ pool[scopeEntry] }

type scopeEntry struct {
	value   *otelstef.Scope
	arrival *otelstef.Attributes
}

// Value returns the value of an id.
func (p *Scopes) Value(id uint32) *otelstef.Scope { return p.entries[id].value }

// RankByValue ranks all ids by the order of their values, so that items can be sorted by rank.
func (p *Scopes) RankByValue() {
	p.Rank(p.Size(), func(a, b uint32) int { return order.CompareScopes(p.entries[a].value, p.entries[b].value) })
}

// Find returns the id of a scope. It adds the scope if it is new.
func (p *Scopes) Find(c *values.Copier, s pcommon.InstrumentationScope, url string) (uint32, error) {
	if p.last != 0 && p.same(p.last, s, url) {
		return p.last, nil
	}
	if id := p.predict(); id != 0 && p.same(id, s, url) {
		p.observe(id)
		return id, nil
	}
	var h hash
	h.String(s.Name())
	h.String(s.Version())
	h.String(url)
	h.Uint64(uint64(s.DroppedAttributesCount()))
	h.attributes(s.Attributes())
	for id := p.byHash[h.Hash]; id != 0; id = p.chain[id] {
		if p.same(id, s, url) {
			p.observe(id)
			return id, nil
		}
	}
	e, err := p.make(c, s, url)
	if err != nil {
		return 0, err
	}
	p.HeldBytes += mapping.MaxItemBytes - c.Left
	id := p.insert(h, e)
	p.observe(id)
	return id, nil
}

func (p *Scopes) same(id uint32, s pcommon.InstrumentationScope, url string) bool {
	e := &p.entries[id]
	return e.value.Name() == s.Name() &&
		e.value.Version() == s.Version() &&
		e.value.SchemaURL() == url &&
		e.value.DroppedAttributesCount() == uint64(s.DroppedAttributesCount()) &&
		values.SameAttributes(e.arrival, s.Attributes())
}

func (p *Scopes) make(c *values.Copier, s pcommon.InstrumentationScope, url string) (scopeEntry, error) {
	v := otelstef.NewScope()
	c.Begin()
	v.SetName(s.Name())
	v.SetVersion(s.Version())
	v.SetSchemaURL(url)
	v.SetDroppedAttributesCount(uint64(s.DroppedAttributesCount()))
	if err := c.Take(len(s.Name()) + len(s.Version()) + len(url)); err != nil {
		return scopeEntry{}, mapping.InField("name, version or schema_url", err)
	}
	arrival, err := c.Container(v.Attributes(), s.Attributes())
	return scopeEntry{v, arrival}, err
}
