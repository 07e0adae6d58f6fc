// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/dynamic/plain"
	"github.com/otelstef/stef/stef-go/schema"
)

// codes generates streams in the compact form whose numbers are random codes. Writers never send most of
// these streams. Tests compare how the two readers interpret each code, and which codes they refuse.
type codes struct {
	*rand.Rand
	root *schema.Struct
	// A residual field carries a signed integer, such as a difference. residuals has the codec state,
	// value and delta, of each residual field. The key is the name of the field.
	residuals map[string]*[2]uint64
}

// code returns a random residual: the signed integer that a residual field carries. About half of all
// results are 0.
func (c *codes) code() uint64 {
	switch c.IntN(12) {
	case 0, 1:
		return uint64(c.IntN(4))
	case 2:
		return -uint64(c.IntN(6))
	case 3, 4:
		return uint64(4 + c.IntN(100))
	case 5:
		x := 4*(c.Uint64N(1000)) + c.Uint64N(4)
		if c.IntN(2) == 0 {
			x = -x
		}
		return x
	case 6:
		if c.IntN(4) == 0 {
			return c.Uint64() >> c.IntN(64)
		}
	}
	return 0
}

// value converts the signed integer r to the number to set in a residual field: from this number, a reader
// computes r. It updates the codec state of the field.
//
// spec: #compact-residual
func (c *codes) value(field string, r uint64) uint64 {
	s := c.residuals[field]
	if s == nil {
		s = &[2]uint64{}
		c.residuals[field] = s
	}
	if r == 0 {
		return s[0]
	}
	if r == -s[1] {
		r = 0
	}
	s[1] += r
	s[0] += s[1]
	return s[0]
}

// elements returns an array of at most most numbers that carry random residuals.
func (c *codes) elements(field string, most int) *dynamic.Array {
	a := &dynamic.Array{}
	for range c.IntN(most + 1) {
		s := c.residuals[field]
		if s == nil {
			s = &[2]uint64{}
			c.residuals[field] = s
		}
		s[1] += c.code()
		s[0] += s[1]
		a.Elems = append(a.Elems, s[0])
	}
	return a
}

func (c *codes) bits() float64 {
	return math.Float64frombits([]uint64{0, 1, 2, 3, math.Float64bits(1), c.Uint64()}[c.IntN(6)])
}

// at returns the last field of a path in rec, the struct value with this field, and the index of the
// field.
func at(root *schema.Struct, rec *dynamic.Struct, path ...string) (*schema.Field, *dynamic.Struct, int) {
	for i, name := range path {
		for at, f := range root.Fields {
			if f.Name != name {
				continue
			}
			if i == len(path)-1 {
				return f, rec, at
			}
			root, rec = f.Type.Struct, rec.Fields[at].(*dynamic.Struct)
			break
		}
	}
	panic("no field " + fmt.Sprint(path))
}

func (c *codes) set(rec *dynamic.Struct, v any, path ...string) {
	_, s, at := at(c.root, rec, path...)
	s.Fields[at], s.Present[at] = v, true
}

func (c *codes) typ(rec *dynamic.Struct, path ...string) *schema.Type {
	f, _, _ := at(c.root, rec, path...)
	return &f.Type
}

// next changes rec, which has the content of the last record, to a random next record.
func (c *codes) next(rec *dynamic.Struct) {
	switch c.root.Name {
	case "Metrics":
		c.point(rec)
	case "Spans":
		c.span(rec)
	default:
		c.log(rec)
	}
}

func oneofOf(t *schema.Struct, name string, v any) *dynamic.Oneof {
	for i, f := range t.Fields {
		if f.Name == name {
			return &dynamic.Oneof{Choice: i + 1, Value: v}
		}
	}
	return &dynamic.Oneof{}
}

func (c *codes) attributes(typ *schema.Type) *dynamic.Multimap {
	m := &dynamic.Multimap{}
	value := typ.Multimap.Value.Struct
	switch c.IntN(8) {
	case 0:
		m.Pairs = []dynamic.Pair{{Key: "bytes", Value: oneofOf(value, "Bytes", []byte{1})}}
	case 1:
		m.Pairs = []dynamic.Pair{{Key: "key", Value: oneofOf(value, "String", "text")}}
	case 2, 3, 4, 5:
		m.Pairs = []dynamic.Pair{{Key: "key", Value: oneofOf(value, "Int64", int64(c.IntN(3)))}}
	}
	return m
}

func (c *codes) exemplars(typ *schema.Type) *dynamic.Array {
	a := &dynamic.Array{}
	for range c.IntN(3) {
		e := dynamic.NewStruct(typ.Elem.Struct)
		e.Fields[0] = c.Uint64N(100)
		if c.IntN(8) == 0 {
			e.Fields[2] = []byte("odd")
		}
		a.Elems = append(a.Elems, e)
	}
	return a
}

func (c *codes) point(rec *dynamic.Struct) {
	if c.IntN(4) == 0 {
		c.set(rec, []string{"", "first", "second"}[c.IntN(3)], "Metric", "Name")
		c.set(rec, uint64(c.IntN(3)), "Metric", "AggregationTemporality")
	}
	if c.IntN(6) == 0 {
		c.set(rec, []string{"", "here", "there"}[c.IntN(3)], "Resource", "SchemaURL")
	}
	if c.IntN(2) == 0 {
		c.set(rec, c.attributes(c.typ(rec, "Attributes")), "Attributes")
	}
	c.set(rec, c.value("Time", c.code()), "Compact", "Time")
	c.set(rec, c.value("Start", c.code()), "Compact", "Start")
	form := uint64(0)
	if c.IntN(3) == 0 {
		form = uint64([]int64{1, -1, 14, 15, 28, 29, 42, -14, -15, 70, int64(c.code())}[c.IntN(11)])
	}
	c.set(rec, c.value("Form", form), "Compact", "Form")
	c.set(rec, c.value("Number", c.code()), "Number")
	c.set(rec, c.bits(), "Compact", "Bits")
	words, floats := c.elements("Words", 10), &dynamic.Array{}
	if c.IntN(2) == 0 {
		words = &dynamic.Array{}
	}
	if c.IntN(2) == 0 {
		for range c.IntN(4) {
			floats.Elems = append(floats.Elems, c.bits())
		}
	}
	c.set(rec, words, "Compact", "Words")
	c.set(rec, floats, "Compact", "Floats")
	c.set(rec, c.exemplars(c.typ(rec, "Point", "Exemplars")), "Point", "Exemplars")
	code := c.code()
	if c.IntN(2) == 0 {
		code = uint64(c.IntN(7)) - 3
	}
	c.set(rec, c.value("CompactExemplars", code), "Point", "CompactExemplars")
}

func (c *codes) trace() uint64 { return uint64(c.IntN(7)) - 3 }

func (c *codes) span(rec *dynamic.Struct) {
	c.set(rec, []string{"", "get", "put"}[c.IntN(3)], "Span", "Name")
	apart := c.IntN(10) == 0
	c.set(rec, apart, "Compact", "Apart")
	for _, id := range []string{"TraceID", "SpanID", "ParentSpanID"} {
		c.set(rec, []byte("0123456789abcdef")[:c.IntN(17)], "Span", id)
	}
	if c.IntN(3) == 0 {
		c.set(rec, c.value("Trace", c.trace()), "Compact", "Trace")
	}
	if c.IntN(2) == 0 {
		c.set(rec, c.value("Known", uint64(c.IntN(5))-2), "Compact", "Known")
	}
	if c.IntN(2) == 0 {
		c.set(rec, c.value("Parent", uint64(c.IntN(5))-2), "Compact", "Parent")
	}
	for _, id := range []string{"TraceHigh", "TraceLow", "ParentID"} {
		c.set(rec, c.bits(), "Compact", id)
	}
	c.set(rec, c.bits(), "ID")
	c.set(rec, c.value("Start", c.code()), "Start")
	duration := c.code()
	c.set(rec, c.value("Duration", uint64(int64(duration>>1)^-int64(duration&1))), "Duration")
	events := &dynamic.Array{}
	for range c.IntN(3) * c.IntN(2) {
		events.Elems = append(events.Elems, dynamic.NewStruct(c.typ(rec, "Span", "Events").Elem.Struct))
	}
	c.set(rec, events, "Span", "Events")
	c.set(rec, c.elements("Times", 3), "Compact", "Times")
}

// texts has texts that the compact form interprets as references, and texts that look similar.
var texts = []string{"", "text", "\x00", "\x00t", "\x00s", "\x00tt", "\x00T", "\x00T0", "\x00T3", "\x00T6", "\x00T9", "\x00TC", "\x00T1", "\x00LT3+D", "\x00L c:\x08", "\x00LA60y", "\x00LT0", "\x00d\x000", "\x00d\x013", "\x00d\x02",
	"\x00a", "\x00a\x00", "\x00a\x01", "\x00a\x02", "\x00a\x03", "\x00a\xff", "\x00k", "\x00ka", "\x00kb", "\x00kc", "\x00kk", "\x00x"}

func (c *codes) text() string { return texts[c.IntN(len(texts))] }

var keys = []string{"", "a", "b", "c", "k", "text"}

func (c *codes) log(rec *dynamic.Struct) {
	c.set(rec, c.value("CompactTime", c.code()), "Record", "CompactTime")
	c.set(rec, c.value("CompactObserved", c.code()), "Record", "CompactObserved")
	if c.IntN(4) == 0 {
		c.set(rec, uint64(c.IntN(4)), "Record", "CompactForm")
	}
	if c.IntN(200) == 0 {
		c.set(rec, uint64(4), "Record", "CompactForm")
	}
	for _, id := range []string{"TraceID", "SpanID"} {
		c.set(rec, []byte("0123456789abcdef")[:c.IntN(17)], "Record", id)
	}
	for _, time := range []string{"Time", "ObservedTime"} {
		c.set(rec, c.Uint64()>>c.IntN(64), "Record", time)
	}
	c.set(rec, int64(c.IntN(3)), "Record", "ObservedDelta")
	_, record, delta := at(c.root, rec, "Record", "ObservedDelta")
	record.Present[delta] = c.IntN(5) == 0
	if c.IntN(3) == 0 {
		c.set(rec, c.value("Trace", c.trace()), "Trace")
		c.set(rec, c.value("Known", uint64(c.IntN(4))-1), "Known")
	}
	c.set(rec, c.bits(), "Compact", "TraceHigh")
	c.set(rec, c.bits(), "Compact", "TraceLow")
	c.set(rec, c.bits(), "ID")
	c.set(rec, c.IntN(3) > 0, "Compact", "Refers")
	attributes, value := &dynamic.Multimap{}, c.typ(rec, "Record", "Attributes").Multimap.Value.Struct
	for range c.IntN(4) {
		attributes.Pairs = append(attributes.Pairs, dynamic.Pair{Key: keys[c.IntN(len(keys))], Value: c.any(value, "KVList", 2)})
	}
	c.set(rec, attributes, "Record", "Attributes")
	body := c.typ(rec, "Record", "Body").Struct
	switch c.IntN(4) {
	case 0:
		template := body.Fields[2].Type.Struct
		params := &dynamic.Multimap{}
		for range c.IntN(4) {
			params.Pairs = append(params.Pairs, dynamic.Pair{Key: c.IntN(3) > 0, Value: c.text()})
		}
		v := dynamic.NewStruct(template)
		v.Fields[0], v.Fields[1] = string(make([]byte, len(params.Pairs))), params
		c.set(rec, oneofOf(body, "Template", v), "Record", "Body")
	case 1:
		c.set(rec, oneofOf(body, "String", c.text()), "Record", "Body")
	case 2:
		c.set(rec, oneofOf(body, "Value", c.any(body.Fields[1].Type.Struct, "Map", 3)), "Record", "Body")
	case 3:
		c.set(rec, &dynamic.Oneof{}, "Record", "Body")
	}
}

// any returns a random value of a oneof: an AnyValue or a BodyValue.
func (c *codes) any(typ *schema.Struct, mapName string, depth int) *dynamic.Oneof {
	switch n := c.IntN(8); {
	case n == 0:
		return oneofOf(typ, "Int64", int64(c.IntN(5))-2)
	case n == 7 && c.IntN(2) == 0:
		return oneofOf(typ, "Float64", []float64{0, math.Copysign(0, -1), 4.18, -7, 1e300, 1e-7, math.NaN()}[c.IntN(7)])
	case n == 1 && depth > 0:
		a := &dynamic.Array{}
		for range c.IntN(3) {
			a.Elems = append(a.Elems, c.any(typ, mapName, depth-1))
		}
		return oneofOf(typ, "Array", a)
	case n < 5 && mapName == "Map" && depth > 0 || n == 2 && depth > 0:
		m := &dynamic.Multimap{}
		for range c.IntN(5) {
			m.Pairs = append(m.Pairs, dynamic.Pair{Key: keys[c.IntN(len(keys))], Value: c.any(typ, mapName, depth-1)})
		}
		return oneofOf(typ, mapName, m)
	}
	return oneofOf(typ, "String", c.text())
}

// stream returns a stream of records. The records are already in the compact form.
func (c *codes) stream(t testing.TB, recs []*dynamic.Struct, options ...dynamic.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, c.root, append(options, dynamic.WithSchemaHeader())...)
	require.NoError(t, err)
	for _, rec := range recs {
		require.NoError(t, w.Write(rec))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// grow returns a stream of n random records. Package plain accepts all of them, except perhaps the last
// one.
func (c *codes) grow(t testing.TB, n int) []byte {
	t.Helper()
	options := []dynamic.WriterOption{
		dynamic.WithFrameBytes(1 + c.IntN(400)), dynamic.WithDictBytes(1 + c.IntN(400)),
		dynamic.WithRestart([]dynamic.FrameFlags{0, 0, dynamic.RestartCodecs, dynamic.RestartDictionaries, dynamic.RestartAll}[c.IntN(5)]),
	}
	if c.IntN(3) == 0 {
		options = append(options, dynamic.WithSchema(c.older(t)))
	}
	recs := []*dynamic.Struct{}
	last := dynamic.NewStruct(c.root)
	for len(recs) < n {
		before := map[string]*[2]uint64{}
		for name, state := range c.residuals {
			before[name] = &[2]uint64{state[0], state[1]}
		}
		rec := dynamic.Clone(last).(*dynamic.Struct)
		c.next(rec)
		stream := c.stream(t, append(recs, rec), options...)
		r, err := open(bytes.NewReader(stream), c.root.Name)
		require.NoError(t, err)
		for r.Next() {
		}
		if err = r.Err(); err == nil {
			recs, last = append(recs, rec), rec
			continue
		}
		if !errors.Is(err, plain.ErrUndefined) && c.IntN(20*n) == 0 {
			return stream
		}
		c.residuals = before
	}
	return c.stream(t, recs, options...)
}

// older returns a wire schema with all fields that the compact form needs, but without some of the other
// fields.
func (c *codes) older(t testing.TB) schema.WireSchema {
	kept, err := schema.Keep(c.root, schema.WireOf(c.root))
	require.NoError(t, err)
	var reduced []*schema.Struct
	for s := range kept {
		if s != c.root && s.Name != "Point" && s.Name != "LogRecord" && !strings.HasPrefix(s.Name, "Compact") {
			reduced = append(reduced, s)
		}
	}
	slices.SortFunc(reduced, func(a, b *schema.Struct) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range reduced {
		if c.IntN(3) == 0 {
			kept[s] = c.IntN(len(s.Fields) + 1)
		}
	}
	return kept.Wire(c.root)
}

// TestRandomCodes reads streams of random codes.
func TestRandomCodes(t *testing.T) {
	for _, name := range roots {
		f := fastOf(name)
		refused, read := 0, uint64(0)
		for seed := range seeds(40) {
			c := &codes{rand.New(rand.NewPCG(seed, 22)), compactRoot(name), map[string]*[2]uint64{}}
			stream := c.grow(t, 1+c.IntN(30))
			n, err := requireSame(t, f, stream)
			read += n
			if err != nil {
				refused++
			}
		}
		t.Log(name, read, "records,", refused, "streams refused")
		require.NotZero(t, read)
	}
}

// TestAbsentBits reads a histogram without Sum, Min and Max, although the field Floats still has their
// values. A writer can send such a record after one in which they were present.
func TestAbsentBits(t *testing.T) {
	c := &codes{root: compactRoot("Metrics"), residuals: map[string]*[2]uint64{}}
	rec := dynamic.NewStruct(c.root)
	c.set(rec, c.value("Form", 14*3+1), "Compact", "Form")
	c.set(rec, c.value("Number", 125), "Number")
	c.set(rec, &dynamic.Array{Elems: []any{uint64(0), uint64(0)}}, "Compact", "Words")
	c.set(rec, &dynamic.Array{Elems: []any{1.5, 2.5}}, "Compact", "Floats")
	c.set(rec, c.value("CompactExemplars", 0), "Point", "CompactExemplars")
	stream := c.stream(t, []*dynamic.Struct{rec})
	n, err := requireSame(t, fastOf("Metrics"), stream)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	r, err := open(bytes.NewReader(stream), "Metrics")
	require.NoError(t, err)
	all, err := lines(r)
	require.NoError(t, err)
	require.Contains(t, all[0], `"histogram":{"count":"0","sum":null,"min":null,"max":null,`)
}
