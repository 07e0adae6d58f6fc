// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package nested converts values that are arrays or maps to bytes and back, for
// formats whose columns have fixed types. The bytes are the protobuf of OTLP's
// AnyValue. OTel Arrow uses CBOR here, which needs another library, and Tempo's
// Parquet format uses JSON, which loses types.
package nested

import (
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of AnyValue, ArrayValue, KeyValueList and KeyValue.
const (
	stringField = 1
	boolField   = 2
	intField    = 3
	doubleField = 4
	arrayField  = 5
	mapField    = 6
	bytesField  = 7

	elementField = 1
	keyField     = 1
	valueField   = 2
)

var errDamaged = errors.New("nested: damaged value")

// Append appends a value.
func Append(dst []byte, v pcommon.Value) []byte {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		dst = protowire.AppendTag(dst, stringField, protowire.BytesType)
		return protowire.AppendString(dst, v.Str())
	case pcommon.ValueTypeBool:
		dst = protowire.AppendTag(dst, boolField, protowire.VarintType)
		return protowire.AppendVarint(dst, protowire.EncodeBool(v.Bool()))
	case pcommon.ValueTypeInt:
		dst = protowire.AppendTag(dst, intField, protowire.VarintType)
		return protowire.AppendVarint(dst, uint64(v.Int()))
	case pcommon.ValueTypeDouble:
		dst = protowire.AppendTag(dst, doubleField, protowire.Fixed64Type)
		return protowire.AppendFixed64(dst, math.Float64bits(v.Double()))
	case pcommon.ValueTypeBytes:
		dst = protowire.AppendTag(dst, bytesField, protowire.BytesType)
		return protowire.AppendBytes(dst, v.Bytes().AsRaw())
	case pcommon.ValueTypeSlice:
		return message(dst, arrayField, func(dst []byte) []byte {
			for _, e := range v.Slice().All() {
				dst = message(dst, elementField, func(dst []byte) []byte { return Append(dst, e) })
			}
			return dst
		})
	case pcommon.ValueTypeMap:
		return message(dst, mapField, func(dst []byte) []byte { return pairs(dst, v.Map()) })
	}
	return dst
}

func pairs(dst []byte, m pcommon.Map) []byte {
	for k, e := range m.All() {
		dst = message(dst, elementField, func(dst []byte) []byte {
			dst = protowire.AppendTag(dst, keyField, protowire.BytesType)
			dst = protowire.AppendString(dst, k)
			return message(dst, valueField, func(dst []byte) []byte { return Append(dst, e) })
		})
	}
	return dst
}

// message appends a field that is a message. Most are shorter than 128 bytes,
// in which case no bytes are moved.
func message(dst []byte, field protowire.Number, content func([]byte) []byte) []byte {
	dst = append(protowire.AppendTag(dst, field, protowire.BytesType), 0)
	begin := len(dst)
	dst = content(dst)
	n := len(dst) - begin
	size := protowire.SizeVarint(uint64(n))
	for range size - 1 {
		dst = append(dst, 0)
	}
	copy(dst[begin-1+size:], dst[begin:begin+n])
	protowire.AppendVarint(dst[:begin-1], uint64(n))
	return dst
}

// Parse sets v to the value that Append encoded.
func Parse(b []byte, v pcommon.Value) error {
	return fields(b, func(field protowire.Number, number uint64, text []byte) error {
		switch field {
		case stringField:
			v.SetStr(string(text))
		case boolField:
			v.SetBool(number != 0)
		case intField:
			v.SetInt(int64(number))
		case doubleField:
			v.SetDouble(math.Float64frombits(number))
		case bytesField:
			v.SetEmptyBytes().FromRaw(text)
		case arrayField:
			slice := v.SetEmptySlice()
			return fields(text, func(_ protowire.Number, _ uint64, e []byte) error { return Parse(e, slice.AppendEmpty()) })
		case mapField:
			var pairs xpdata.MapBuilder
			err := fields(text, func(_ protowire.Number, _ uint64, e []byte) error { return pair(e, &pairs) })
			pairs.UnsafeIntoMap(v.SetEmptyMap())
			return err
		}
		return nil
	})
}

func pair(b []byte, to *xpdata.MapBuilder) error {
	var key string
	var value []byte
	err := fields(b, func(field protowire.Number, _ uint64, text []byte) error {
		switch field {
		case keyField:
			key = string(text)
		case valueField:
			value = text
		}
		return nil
	})
	if err != nil {
		return err
	}
	return Parse(value, to.AppendEmpty(key))
}

// fields calls f for each field of a message.
func fields(b []byte, f func(field protowire.Number, number uint64, text []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errDamaged
		}
		b = b[n:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		default:
			return fmt.Errorf("%w: wire type %d", errDamaged, kind)
		}
		if n < 0 {
			return errDamaged
		}
		b = b[n:]
		if err := f(field, number, text); err != nil {
			return err
		}
	}
	return nil
}
