// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"math"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// The kinds of values.
//
// spec: #compact-points
const (
	kindNone = iota
	kindInt64
	kindFloat64
	kindHistogram
	kindExpHistogram
	kindSummary
)

// parts holds a value as the compact form sends it: its kind, a scalar, and lists of words
// and floats. Doubles are stored as their bits.
//
// spec: #compact-points
type parts struct {
	kind          int64
	scalar        uint64
	words, floats []uint64
}

// The bits of p, the first word of histograms.
const (
	hasSum = 1 << iota
	hasMin
	hasMax
)

// oneof returns the value, which is a oneof of type typ.
func (p *parts) oneof(typ *schema.Struct) (*dynamic.Oneof, error) {
	switch p.kind {
	case kindNone:
		return &dynamic.Oneof{}, nil
	case kindInt64:
		return chosen(typ, "Int64", int64(p.scalar)), nil
	case kindFloat64:
		return chosen(typ, "Float64", math.Float64frombits(p.scalar)), nil
	case kindHistogram:
		v, err := p.histogram(structOf(typ, "Histogram"))
		return chosen(typ, "Histogram", v), err
	case kindExpHistogram:
		v, err := p.expHistogram(structOf(typ, "ExpHistogram"))
		return chosen(typ, "ExpHistogram", v), err
	default:
		v, err := p.summary(structOf(typ, "Summary"))
		return chosen(typ, "Summary", v), err
	}
}

func (p *parts) histogram(typ *schema.Struct) (*dynamic.Struct, error) {
	if len(p.words) < 2 || len(p.floats) != 2 {
		return nil, p.wrongNumber()
	}
	counts := p.words[2:]
	h := newStruct(typ)
	h.set("Count", int64(p.words[1]+total(counts)))
	h.set("BucketCounts", array(counts))
	return h.val, h.setOptional(p.words[0], p.scalar, p.floats[0], p.floats[1])
}

func (p *parts) expHistogram(typ *schema.Struct) (*dynamic.Struct, error) {
	if len(p.words) < 7 || len(p.floats) != 3 {
		return nil, p.wrongNumber()
	}
	counts := p.words[7:]
	if p.words[6] > uint64(len(counts)) {
		return nil, corrupt("the value has %d negative counts, but only %d counts in all", p.words[6], len(counts))
	}
	negative, positive := counts[:p.words[6]], counts[p.words[6]:]
	h := newStruct(typ)
	h.set("Count", p.words[1]+p.words[3]+total(counts))
	h.set("Scale", int64(p.words[2]))
	h.set("ZeroCount", p.words[3])
	h.set("PositiveBuckets", buckets(structOf(typ, "PositiveBuckets"), p.words[4], positive))
	h.set("NegativeBuckets", buckets(structOf(typ, "NegativeBuckets"), p.words[5], negative))
	h.set("ZeroThreshold", math.Float64frombits(p.floats[2]))
	return h.val, h.setOptional(p.words[0], p.scalar, p.floats[0], p.floats[1])
}

func buckets(typ *schema.Struct, offset uint64, counts []uint64) *dynamic.Struct {
	b := newStruct(typ)
	b.set("Offset", int64(offset))
	b.set("BucketCounts", array(counts))
	return b.val
}

func (p *parts) summary(typ *schema.Struct) (*dynamic.Struct, error) {
	if len(p.words) != 1 || len(p.floats)%2 == 0 {
		return nil, p.wrongNumber()
	}
	quantiles := &dynamic.Array{}
	for i := 1; i < len(p.floats); i += 2 {
		q := newStruct(elemOf(typ, "QuantileValues"))
		q.set("Quantile", math.Float64frombits(p.floats[i]))
		q.set("Value", math.Float64frombits(p.floats[i+1]))
		quantiles.Elems = append(quantiles.Elems, q.val)
	}
	s := newStruct(typ)
	s.set("Count", p.words[0])
	s.set("Sum", math.Float64frombits(p.scalar))
	s.set("QuantileValues", quantiles)
	if p.floats[0] != 0 {
		return nil, undefined("the first element of Floats of a summary is not 0")
	}
	return s.val, nil
}

func (p *parts) wrongNumber() error {
	return corrupt("%d words and %d floats do not fit a value of kind %d", len(p.words), len(p.floats), p.kind)
}

func total(counts []uint64) (sum uint64) {
	for _, c := range counts {
		sum += c
	}
	return sum
}

func newStruct(typ *schema.Struct) view { return view{typ, dynamic.NewStruct(typ)} }

// set sets a field of a new struct and makes the field present.
func (v view) set(name string, value any) {
	i := indexOf(v.typ, name)
	v.val.Fields[i], v.val.Present[i] = value, true
}

// setOptional sets Sum, Min and Max of a histogram, if they are present. The bits of an
// absent field have no meaning.
func (v view) setOptional(present, sum, least, most uint64) error {
	for i, field := range []struct {
		name string
		bits uint64
	}{{"Sum", sum}, {"Min", least}, {"Max", most}} {
		if present>>i&1 == 1 {
			v.set(field.name, math.Float64frombits(field.bits))
		}
	}
	if present > hasSum|hasMin|hasMax {
		return undefined("the first word %#x of a histogram has bits that are not defined", present)
	}
	return nil
}
