// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// signal describes the compact form of one root.
type signal struct {
	root string
	// compact lists the fields that mark the compact form, one PATH TYPE per line; find explains
	// the paths. A stream is in the compact form only if it has all of these fields.
	compact string
	// read lists the other fields that the conversion reads.
	read string
	// first has the first field that compact.stef adds to each struct that it extends.
	first map[string]string
	// form returns the form of a stream. It calls keeps for fields, given as PATH TYPE,
	// that only later versions of the form have. keeps reports whether the stream has
	// the field.
	form func(root *schema.Struct, keeps func(field string) bool) form
}

// extended has the names of root fields whose type is a struct that compact.stef extends.
var extended = []string{"Point", "Record"}

// signals are the forms of stef-spec/compact.stef.
//
// spec: #compact-schema
var signals = []signal{{
	root: "Metrics",
	compact: `
		Compact.Time uint64
		Compact.Start uint64
		Compact.Form uint64
		Compact.Bits float64
		Compact.Words[] uint64
		Compact.Floats[] float64
		Number uint64`,
	read: `
		Metric.AggregationTemporality enum
		Resource struct
		Scope struct
		Attributes: string
		Attributes{} oneof
		Point.StartTimestamp uint64
		Point.Timestamp uint64
		Point.Value|Int64 int64
		Point.Value|Float64 float64
		Point.Value|Histogram.Count int64
		Point.Value|Histogram.Sum float64 optional
		Point.Value|Histogram.Min float64 optional
		Point.Value|Histogram.Max float64 optional
		Point.Value|Histogram.BucketCounts[] uint64
		Point.Value|ExpHistogram.Count uint64
		Point.Value|ExpHistogram.Sum float64 optional
		Point.Value|ExpHistogram.Min float64 optional
		Point.Value|ExpHistogram.Max float64 optional
		Point.Value|ExpHistogram.Scale int64
		Point.Value|ExpHistogram.ZeroCount uint64
		Point.Value|ExpHistogram.PositiveBuckets.Offset int64
		Point.Value|ExpHistogram.PositiveBuckets.BucketCounts[] uint64
		Point.Value|ExpHistogram.NegativeBuckets.Offset int64
		Point.Value|ExpHistogram.NegativeBuckets.BucketCounts[] uint64
		Point.Value|ExpHistogram.ZeroThreshold float64
		Point.Value|Summary.Count uint64
		Point.Value|Summary.Sum float64
		Point.Value|Summary.QuantileValues[].Quantile float64
		Point.Value|Summary.QuantileValues[].Value float64
		Point.Exemplars[].TraceID bytes
		Point.Exemplars[].SpanID bytes
		Point.Exemplars[].FilteredAttributes: string
		Point.Exemplars[].FilteredAttributes{}|String string`,
	first: map[string]string{"": "Compact", "Point": "CompactExemplars"},
	form: func(root *schema.Struct, keeps func(string) bool) form {
		return &metrics{root: root, repeats: keeps("Point.CompactExemplars uint64")}
	},
}, {
	root: "Spans",
	compact: `
		Compact.Trace uint64
		Compact.TraceHigh float64
		Compact.TraceLow float64
		Compact.Known uint64
		Compact.Parent uint64
		Compact.ParentID float64
		Compact.Times[] uint64
		Compact.Apart bool
		ID float64
		Start uint64
		Duration uint64`,
	read: `
		Span.TraceID bytes
		Span.SpanID bytes
		Span.ParentSpanID bytes
		Span.Name string
		Span.StartTimeUnixNano uint64
		Span.EndTimeUnixNano uint64
		Span.Events[].TimeUnixNano uint64`,
	first: map[string]string{"": "Compact"},
	form:  func(root *schema.Struct, _ func(string) bool) form { return &spans{root: root} },
}, {
	root: "Logs",
	compact: `
		Compact.TraceHigh float64
		Compact.TraceLow float64
		Trace uint64
		Known uint64
		ID float64
		Record.CompactTime uint64
		Record.CompactObserved uint64
		Record.CompactForm uint64`,
	read: `
		Record.Time uint64
		Record.ObservedTime uint64
		Record.ObservedDelta int64 optional
		Record.TraceID bytes
		Record.SpanID bytes
		Record.Attributes{}|String string
		Record.Attributes{}|Int64 int64
		Record.Attributes{}|Float64 float64
		Record.Attributes{}|Array[] =Record.Attributes{}
		Record.Body|Value|String string
		Record.Body|Value|Map: string
		Record.Body|Value|Map{} =Record.Body|Value
		Record.Body|Template.Params: bool
		Record.Body|Template.Params{} string`,
	first: map[string]string{"": "Compact", "Record": "CompactTime"},
	form: func(root *schema.Struct, keeps func(string) bool) form {
		refers := keeps("Compact.Refers bool")
		return &logs{root: root, refers: refers, formats: refers && keeps("Compact.Formats bool")}
	},
}}

// recognise returns the root of the full schema and the form of a stream. kept are the fields
// of root that the stream has. The form is nil if the stream is not in the compact form.
//
// spec: #compact-schema
func recognise(root *schema.Struct, kept schema.Kept) (full *schema.Struct, f form) {
	for _, s := range signals {
		if s.root != root.Name || !all(root, nil, s.compact) || !all(root, nil, s.read) {
			continue
		}
		if full = s.without(root); !all(full, nil, s.read) {
			continue
		}
		if all(root, kept, s.compact) {
			f = s.form(full, func(field string) bool { return all(root, kept, field) })
			f.reset()
		}
		return full, f
	}
	return root, nil
}

// all reports whether root has all fields in list, and kept contains them. In the list, the
// type follows the field; =F stands for the type of field F.
func all(root *schema.Struct, kept schema.Kept, list string) bool {
	for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		words := strings.Fields(line)
		path, typ, optional := words[0], words[1], len(words) > 2
		t := find(root, kept, path, optional)
		if t == nil {
			return false
		}
		other, same := strings.CutPrefix(typ, "=")
		if same && t.Struct != find(root, kept, other, false).Struct || !same && t.Kind.String() != typ {
			return false
		}
	}
	return true
}

var pathElements = strings.NewReplacer("[]", ".[]", "{}", ".{}", ":", ".:", "|", ".|")

// find returns the type of a field at a path. In the path |NAME is the choice of a oneof, [] the
// element of an array, : and {} are the key and the value of a multimap. find returns nil if root
// does not have the field or does not keep it. It also returns nil if a field of the path is
// optional. The exception is the last field if the argument optional is true: it must then be
// optional.
func find(root *schema.Struct, kept schema.Kept, path string, optional bool) *schema.Type {
	t := &schema.Type{Kind: schema.KindStruct, Struct: root}
	names := strings.Split(pathElements.Replace(path), ".")
	for i, name := range names {
		name, isChoice := strings.CutPrefix(name, "|")
		switch {
		case name == "[]" && t.Kind == schema.KindArray:
			t = t.Elem
		case name == ":" && t.Kind == schema.KindMultimap:
			t = &t.Multimap.Key
		case name == "{}" && t.Kind == schema.KindMultimap:
			t = &t.Multimap.Value
		case t.Kind == schema.KindStruct && !isChoice, t.Kind == schema.KindOneof && isChoice:
			at := indexOf(t.Struct, name)
			if at < 0 || at >= kept.Of(t.Struct) || t.Struct.Fields[at].Optional != (optional && i == len(names)-1) {
				return nil
			}
			t = &t.Struct.Fields[at].Type
		default:
			return nil
		}
	}
	return t
}

// without returns a copy of root without the fields that compact.stef appends.
func (s *signal) without(root *schema.Struct) *schema.Struct {
	kept := schema.Kept{}
	var keep func(t *schema.Type)
	keep = func(t *schema.Type) {
		if t.Elem != nil {
			keep(t.Elem)
		}
		if t.Multimap != nil {
			keep(&t.Multimap.Key)
			keep(&t.Multimap.Value)
		}
		if t.Struct == nil {
			return
		}
		if _, done := kept[t.Struct]; done {
			return
		}
		kept[t.Struct] = len(t.Struct.Fields)
		for _, f := range t.Struct.Fields {
			keep(&f.Type)
		}
	}
	keep(&schema.Type{Kind: schema.KindStruct, Struct: root})
	for path, field := range s.first {
		t := root
		if path != "" {
			t = structOf(root, path)
		}
		if at := indexOf(t, field); at >= 0 {
			kept[t] = at
		}
	}
	full, err := schema.Cut(root, kept.Wire(root))
	if err != nil {
		return root // never happens: Cut visits the same types as Wire
	}
	return full
}
