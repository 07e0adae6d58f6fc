// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package parquetrow

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"

	"github.com/otelstef/stef/benchmarks/nested"
)

// Attributes are the attributes of a row. Most values are text, and each column
// of a repeated group costs a level per element, so other values have their own
// group.
type Attributes struct {
	Texts  []Text  `parquet:"text"`
	Others []Other `parquet:"other"`
}

// Text is an attribute with a text value.
type Text struct {
	Key   string `parquet:"key,dict"`
	Value string `parquet:"value,dict"`
}

// Other is an attribute of any other type. The column of its kind holds the
// value; a null there means the zero of the kind.
type Other struct {
	Key    string   `parquet:"key,dict"`
	Kind   int32    `parquet:"kind,dict"`
	Int    int64    `parquet:"int,optional,dict"`
	Double *float64 `parquet:"double,optional"`
	// Bytes holds bytes, arrays and maps.
	Bytes []byte `parquet:"bytes,optional"`
}

// Resource is the resource of a row.
type Resource struct {
	ID         int32      `parquet:"id,delta"`
	SchemaURL  string     `parquet:"schema_url,optional,dict"`
	Attributes Attributes `parquet:"attributes"`
	Dropped    uint32     `parquet:"dropped,optional"`
}

// Scope is the scope of a row. Its number is unique within the batch.
type Scope struct {
	ID         int32      `parquet:"id,delta"`
	SchemaURL  string     `parquet:"schema_url,optional,dict"`
	Name       string     `parquet:"name,optional,dict"`
	Version    string     `parquet:"version,optional,dict"`
	Attributes Attributes `parquet:"attributes"`
	Dropped    uint32     `parquet:"dropped,optional"`
}

// slab allocates many values at a time for the pointers in rows.
type slab struct {
	doubles []float64
	texts   []Text
	bytes   []byte
}

const slabSize = 4096

func (s *slab) double(v float64) *float64 {
	if len(s.doubles) == cap(s.doubles) {
		s.doubles = make([]float64, 0, slabSize)
	}
	s.doubles = append(s.doubles, v)
	return &s.doubles[len(s.doubles)-1]
}

// other converts a value that is not text.
func (s *slab) other(key string, v pcommon.Value) Other {
	out := Other{Key: key, Kind: int32(v.Type())}
	switch v.Type() {
	case pcommon.ValueTypeBool:
		if v.Bool() {
			out.Int = 1
		}
	case pcommon.ValueTypeInt:
		out.Int = v.Int()
	case pcommon.ValueTypeDouble:
		out.Double = s.double(v.Double())
	case pcommon.ValueTypeBytes:
		out.Bytes = v.Bytes().AsRaw()
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		begin := len(s.bytes)
		s.bytes = nested.Append(s.bytes, v)
		out.Bytes = s.bytes[begin:len(s.bytes):len(s.bytes)]
	}
	return out
}

func (s *slab) attributes(m pcommon.Map) (out Attributes) {
	if m.Len() == 0 {
		return out
	}
	if cap(s.texts)-len(s.texts) < m.Len() {
		s.texts = make([]Text, 0, max(slabSize, m.Len()))
	}
	begin := len(s.texts)
	for k, v := range m.All() {
		if v.Type() == pcommon.ValueTypeStr {
			s.texts = append(s.texts, Text{k, v.Str()})
		} else {
			out.Others = append(out.Others, s.other(k, v))
		}
	}
	out.Texts = s.texts[begin:len(s.texts):len(s.texts)]
	return out
}

func (s *slab) resource(id int, r pcommon.Resource, schemaURL string) Resource {
	return Resource{int32(id), schemaURL, s.attributes(r.Attributes()), r.DroppedAttributesCount()}
}

func (s *slab) scope(id int, sc pcommon.InstrumentationScope, schemaURL string) Scope {
	return Scope{int32(id), schemaURL, sc.Name(), sc.Version(), s.attributes(sc.Attributes()), sc.DroppedAttributesCount()}
}

func (o *Other) to(dst pcommon.Value) error {
	switch pcommon.ValueType(o.Kind) {
	case pcommon.ValueTypeEmpty:
	case pcommon.ValueTypeBool:
		dst.SetBool(o.Int != 0)
	case pcommon.ValueTypeInt:
		dst.SetInt(o.Int)
	case pcommon.ValueTypeDouble:
		dst.SetDouble(deref(o.Double))
	case pcommon.ValueTypeBytes:
		dst.SetEmptyBytes().FromRaw(o.Bytes)
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		return nested.Parse(o.Bytes, dst)
	default:
		return fmt.Errorf("parquetrow: value of kind %d", o.Kind)
	}
	return nil
}

func deref(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

func (a *Attributes) to(m pcommon.Map) error {
	// A builder does not check for equal keys, which is slow for many
	// attributes.
	var pairs xpdata.MapBuilder
	pairs.EnsureCapacity(len(a.Texts) + len(a.Others))
	for i := range a.Texts {
		pairs.AppendEmpty(a.Texts[i].Key).SetStr(a.Texts[i].Value)
	}
	for i := range a.Others {
		if err := a.Others[i].to(pairs.AppendEmpty(a.Others[i].Key)); err != nil {
			return err
		}
	}
	pairs.UnsafeIntoMap(m)
	return nil
}

func (r *Resource) to(dst pcommon.Resource) error {
	dst.SetDroppedAttributesCount(r.Dropped)
	return r.Attributes.to(dst.Attributes())
}

func (s *Scope) to(dst pcommon.InstrumentationScope) error {
	dst.SetName(s.Name)
	dst.SetVersion(s.Version)
	dst.SetDroppedAttributesCount(s.Dropped)
	return s.Attributes.to(dst.Attributes())
}
