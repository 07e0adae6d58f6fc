// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// resourcePool holds the resources seen, as values that records can share.
type resourcePool struct {
	lineup
	entries []resourceEntry // by id
	refs    bool            // entity references are kept

	// alike has the last value that came of each hash that is the same in any order
	// of attributes. Some producers send them in another order each time.
	alike map[uint64]uint32
	spare *otelstef.Resource // was not needed
}

type resourceEntry struct {
	value *otelstef.Resource
	// arrival are the attributes as they came, which value may have in the
	// order of their keys. Entries that differ in nothing else share a value.
	arrival *otelstef.Attributes
	as      uint32 // the first entry of that value
	next    uint32 // the value that is next in alike
}

func (p *resourcePool) reset() {
	p.lineup.reset()
	clear(p.alike)
	clear(p.entries)
	p.entries = p.entries[:0]
}

// find returns the id of a resource, which it adds if it is new.
func (p *resourcePool) find(c *copier, r pcommon.Resource, url string) (uint32, error) {
	if p.last != 0 && p.same(p.last, r, url) {
		return p.last, nil
	}
	if id := p.guess(); id != 0 && p.same(id, r, url) {
		p.came(id)
		return id, nil
	}
	var h hash
	h.text(url)
	h.attributes(r.Attributes())
	for id := p.byHash[uint64(h)]; id != 0; id = p.chain[id] {
		if p.same(id, r, url) {
			p.came(id)
			return id, nil
		}
	}
	e, err := p.make(c, r, url)
	if err != nil {
		return 0, err
	}
	p.held += mapping.MaxItemBytes - c.Left
	id := p.add(h)
	p.share(&e, id, r.Attributes())
	p.entries = append(slices.Grow(p.entries, 1)[:id], e)
	p.came(id)
	return id, nil
}

// share gives an entry, which is to be that of id, the value of the first one whose
// value is the same.
func (p *resourcePool) share(e *resourceEntry, id uint32, attributes pcommon.Map) {
	var h hash
	h.pairs(attributes)
	for first := p.alike[uint64(h)]; first != 0; first = p.entries[first].next {
		if known := &p.entries[first]; known.value.Equal(e.value) {
			if e.arrival != e.value.Attributes() {
				p.spare = e.value
			}
			e.value, e.as = known.value, first
			return
		}
	}
	if p.alike == nil {
		p.alike = map[uint64]uint32{}
	}
	e.as, e.next = id, p.alike[uint64(h)]
	p.alike[uint64(h)] = id
}

func (p *resourcePool) same(id uint32, r pcommon.Resource, url string) bool {
	e := &p.entries[id]
	return e.value.SchemaURL() == url &&
		e.value.DroppedAttributesCount() == uint64(r.DroppedAttributesCount()) &&
		sameAttributes(e.arrival, r.Attributes()) &&
		(!p.refs || sameEntityRefs(e.value, entity.ResourceEntityRefs(r)))
}

func (p *resourcePool) make(c *copier, r pcommon.Resource, url string) (resourceEntry, error) {
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
	arrival, err := c.container(v.Attributes(), r.Attributes())
	if err != nil {
		return resourceEntry{}, err
	}
	if p.refs {
		if err := c.entityRefs(v, entity.ResourceEntityRefs(r)); err != nil {
			return resourceEntry{}, mapping.InField("entity_refs", err)
		}
	}
	return resourceEntry{value: v, arrival: arrival}, nil
}

// container gives dst the attributes of a container and returns them as they
// came.
func (c *copier) container(dst *otelstef.Attributes, src pcommon.Map) (arrival *otelstef.Attributes, err error) {
	if err := c.attributes(dst, src); err != nil {
		return nil, mapping.InField("attributes", err)
	}
	if sameAttributes(dst, src) {
		return dst, nil
	}
	arrival = otelstef.NewAttributes()
	asTheyCame := copier{}
	asTheyCame.Begin()
	return arrival, asTheyCame.attributes(arrival, src)
}

func (c *copier) entityRefs(dst *otelstef.Resource, src entity.EntityRefSlice) error {
	n := src.Len()
	if err := c.Take(n * mapping.ValueBytes); err != nil {
		return err
	}
	dst.EntityRefs().SetLen(n)
	for i := range n {
		to, from := dst.EntityRefs().At(i), src.At(i)
		to.SetSchemaURL(from.SchemaUrl())
		to.SetType(from.Type())
		c.Left -= len(from.SchemaUrl()) + len(from.Type())
		to.IDKeys().SetValues(c.texts(from.IdKeys()))
		to.DescriptionKeys().SetValues(c.texts(from.DescriptionKeys()))
		if err := c.Take(0); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) texts(s pcommon.StringSlice) []string {
	texts := s.AsRaw()
	for _, t := range texts {
		c.Left -= mapping.ValueBytes + len(t)
	}
	return texts
}

func sameEntityRefs(r *otelstef.Resource, refs entity.EntityRefSlice) bool {
	if r.EntityRefs().Len() != refs.Len() {
		return false
	}
	for i := range refs.Len() {
		a, b := r.EntityRefs().At(i), refs.At(i)
		if a.SchemaURL() != b.SchemaUrl() || a.Type() != b.Type() ||
			!sameTexts(a.IDKeys().Values(), b.IdKeys()) ||
			!sameTexts(a.DescriptionKeys().Values(), b.DescriptionKeys()) {
			return false
		}
	}
	return true
}

func sameTexts(a []string, b pcommon.StringSlice) bool {
	if len(a) != b.Len() {
		return false
	}
	for i, s := range a {
		if b.At(i) != s {
			return false
		}
	}
	return true
}

// scopePool holds the scopes seen.
type scopePool struct {
	lineup
	entries []scopeEntry
}

type scopeEntry struct {
	value   *otelstef.Scope
	arrival *otelstef.Attributes
}

func (p *scopePool) reset() {
	p.lineup.reset()
	clear(p.entries)
	p.entries = p.entries[:0]
}

// find returns the id of a scope, which it adds if it is new.
func (p *scopePool) find(c *copier, s pcommon.InstrumentationScope, url string) (uint32, error) {
	if p.last != 0 && p.same(p.last, s, url) {
		return p.last, nil
	}
	if id := p.guess(); id != 0 && p.same(id, s, url) {
		p.came(id)
		return id, nil
	}
	var h hash
	h.text(s.Name())
	h.text(s.Version())
	h.attributes(s.Attributes())
	for id := p.byHash[uint64(h)]; id != 0; id = p.chain[id] {
		if p.same(id, s, url) {
			p.came(id)
			return id, nil
		}
	}
	e, err := p.make(c, s, url)
	if err != nil {
		return 0, err
	}
	p.held += mapping.MaxItemBytes - c.Left
	id := p.add(h)
	p.entries = append(slices.Grow(p.entries, 1)[:id], e)
	p.came(id)
	return id, nil
}

func (p *scopePool) same(id uint32, s pcommon.InstrumentationScope, url string) bool {
	e := &p.entries[id]
	return e.value.Name() == s.Name() &&
		e.value.Version() == s.Version() &&
		e.value.SchemaURL() == url &&
		e.value.DroppedAttributesCount() == uint64(s.DroppedAttributesCount()) &&
		sameAttributes(e.arrival, s.Attributes())
}

func (p *scopePool) make(c *copier, s pcommon.InstrumentationScope, url string) (scopeEntry, error) {
	v := otelstef.NewScope()
	c.Begin()
	v.SetName(s.Name())
	v.SetVersion(s.Version())
	v.SetSchemaURL(url)
	v.SetDroppedAttributesCount(uint64(s.DroppedAttributesCount()))
	if err := c.Take(len(s.Name()) + len(s.Version()) + len(url)); err != nil {
		return scopeEntry{}, mapping.InField("name, version or schema_url", err)
	}
	arrival, err := c.container(v.Attributes(), s.Attributes())
	return scopeEntry{v, arrival}, err
}

func countEntityRefs(r pcommon.Resource) uint64 { return uint64(entity.ResourceEntityRefs(r).Len()) }
