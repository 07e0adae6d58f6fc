// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// traceID returns the id in b, which is already checked.
func traceID(b []byte) (id pcommon.TraceID) {
	mapping.DecodeID(id[:], b)
	return id
}

// spanID is like traceID, but for span ids.
func spanID(b []byte) (id pcommon.SpanID) {
	mapping.DecodeID(id[:], b)
	return id
}

// Resource sets dst, which is empty, to a resource that is already checked.
func (b *Builder) Resource(dst pcommon.Resource, src *otelstef.Resource) {
	b.Spent += builtContainerBytes
	b.attributes(dst.Attributes(), src.Attributes())
	dst.SetDroppedAttributesCount(uint32(src.DroppedAttributesCount()))
	refs := src.EntityRefs()
	if refs.Len() == 0 {
		return
	}
	to := entity.ResourceEntityRefs(dst)
	to.EnsureCapacity(refs.Len())
	for i := range refs.Len() {
		from, ref := refs.At(i), to.AppendEmpty()
		ref.SetSchemaUrl(b.Text(from.SchemaURL()))
		ref.SetType(b.Text(from.Type()))
		b.texts(ref.IdKeys(), from.IDKeys().Values())
		b.texts(ref.DescriptionKeys(), from.DescriptionKeys().Values())
		b.Spent += builtValueBytes
	}
}

func (b *Builder) texts(dst pcommon.StringSlice, src []string) {
	dst.FromRaw(src)
	for _, text := range src {
		b.Spent += builtValueBytes + len(text)
	}
}

// Scope sets dst, which is empty, to a scope that is already checked.
func (b *Builder) Scope(dst pcommon.InstrumentationScope, src *otelstef.Scope) {
	b.Spent += builtContainerBytes
	dst.SetName(b.Text(src.Name()))
	dst.SetVersion(b.Text(src.Version()))
	b.attributes(dst.Attributes(), src.Attributes())
	dst.SetDroppedAttributesCount(uint32(src.DroppedAttributesCount()))
}
