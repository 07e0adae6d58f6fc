// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Container sets dst to the attributes of a resource or scope, and returns them in their
// original order.
func (c *Copier) Container(dst *otelstef.Attributes, src pcommon.Map) (arrival *otelstef.Attributes, err error) {
	if err := c.Attributes(dst, src); err != nil {
		return nil, mapping.InField("attributes", err)
	}
	if SameAttributes(dst, src) {
		return dst, nil
	}
	arrival = otelstef.NewAttributes()
	asTheyCame := Copier{}
	asTheyCame.Begin()
	return arrival, asTheyCame.Attributes(arrival, src)
}

func (c *Copier) EntityRefs(dst *otelstef.Resource, src entity.EntityRefSlice) error {
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
			return mapping.InElement(i, err)
		}
	}
	return nil
}

func (c *Copier) texts(s pcommon.StringSlice) []string {
	texts := s.AsRaw()
	for _, t := range texts {
		c.Left -= mapping.ValueBytes + len(t)
	}
	return texts
}

func SameEntityRefs(r *otelstef.Resource, refs entity.EntityRefSlice) bool {
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

func CountEntityRefs(r pcommon.Resource) uint64 { return uint64(entity.ResourceEntityRefs(r).Len()) }
