// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package slab

import (
	"reflect"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/xpdata"
)

// box is an allocator for values of one type, such as text. pdata keeps such a value in an object of
// its own, and a field of type any points to this object.
type box struct {
	chunk
	typ uintptr // the dynamic type of the field; a uintptr is enough, because types are not in the heap
}

// set sets the field at p to a new object and returns the object.
func (b *box) set(p unsafe.Pointer) unsafe.Pointer {
	object := b.one()
	(*dynamic)(p).typ, (*dynamic)(p).data = b.typ, object
	return object
}

// boxOf returns an allocator for values of the same type as the value in a field of type any. ok is
// false unless the value is a pointer to a struct with a single field of this kind.
func boxOf(field reflect.Value, kind reflect.Kind) (b box, ok bool) {
	if field.Kind() != reflect.Interface || field.NumMethod() != 0 || field.Elem().Kind() != reflect.Pointer {
		return b, false
	}
	t := field.Elem().Type().Elem()
	if t.Kind() != reflect.Struct || t.NumField() != 1 || t.Field(0).Type.Kind() != kind {
		return b, false
	}
	return box{chunkOf(t), (*dynamic)(field.Addr().UnsafePointer()).typ}, true
}

// layout describes the types of pdata and holds the chunks of their objects.
type layout struct {
	known                         bool
	pair                          chunk // pairs of a key and a value
	key, value                    uintptr
	strings, ints, doubles, bools box
	number                        uintptr // offset of the value in a number point
	pointInts, pointDoubles       box
	exemplar                      uintptr // offset of the value in an exemplar
	exemplarInts, exemplarDoubles box
	data                          uintptr // offset of the data in a metric
	gauge, sum, histogram         box
	gauges, sums, histograms      chunk
	shares                        bool   // values can share the object of a text
	texts                         *boxed // finds objects with texts of the batch; nil if there are none
}

// boxed finds an object of the batch that already holds a text, by the address of the text.
type boxed struct {
	boxes [256]*string
	// set contains the indexes of the first elements of boxes that were set. After a small batch
	// only these elements are cleared, because clearing all elements takes much longer.
	set [32]uint8
	n   int // number of elements that were set
}

func (b *boxed) put(at uint64, text *string) {
	b.boxes[at] = text
	if b.n < len(b.set) {
		b.set[b.n] = uint8(at)
	}
	b.n++
}

func (b *boxed) clear() {
	if b.n > len(b.set) {
		clear(b.boxes[:])
	} else {
		for _, at := range b.set[:b.n] {
			b.boxes[at] = nil
		}
	}
	b.n = 0
}

// theLayout is the layout of the linked version of pdata.
var theLayout = func() (l layout) {
	m := pcommon.NewMap()
	m.PutStr("key", "text")
	pairs := reflect.ValueOf(m)
	if inside(pairs.Type()) == nil || inside(reflect.TypeFor[pcommon.Value]()) == nil {
		return l
	}
	if pairs = sample(m); pairs.Kind() != reflect.Slice || pairs.Len() != 1 || pairs.Index(0).Kind() != reflect.Struct {
		return l
	}
	key, ok := pairs.Index(0).Type().FieldByName("Key")
	value, ok2 := pairs.Index(0).Type().FieldByName("Value")
	if !ok || !ok2 || key.Type.Kind() != reflect.String || value.Type != inside(reflect.TypeFor[pcommon.Value]()) ||
		value.Type.Kind() != reflect.Struct || value.Type.NumField() != 1 {
		return l
	}
	l.pair, l.key, l.value = chunkOf(pairs.Type().Elem()), key.Offset, value.Offset
	all := true
	// boxOfField returns the allocator for the values of a field of the object in v, and the offset of the field.
	boxOfField := func(v any, name string, kind reflect.Kind) (b box, offset uintptr) {
		if t := inside(reflect.TypeOf(v)); t != nil && t.Kind() == reflect.Struct {
			if f, ok := t.FieldByName(name); ok {
				if b, ok = boxOf(sample(v).FieldByIndex(f.Index), kind); ok {
					return b, f.Offset
				}
			}
		}
		all = false
		return b, 0
	}
	l.strings, _ = boxOfField(pcommon.NewValueStr("text"), "Value", reflect.String)
	l.ints, _ = boxOfField(pcommon.NewValueInt(1), "Value", reflect.Int64)
	l.doubles, _ = boxOfField(pcommon.NewValueDouble(1), "Value", reflect.Float64)
	l.bools, _ = boxOfField(pcommon.NewValueBool(true), "Value", reflect.Bool)
	p := pmetric.NewNumberDataPoint()
	p.SetIntValue(1)
	l.pointInts, l.number = boxOfField(p, "Value", reflect.Int64)
	p.SetDoubleValue(1)
	l.pointDoubles, _ = boxOfField(p, "Value", reflect.Float64)
	x := pmetric.NewExemplar()
	x.SetIntValue(1)
	l.exemplarInts, l.exemplar = boxOfField(x, "Value", reflect.Int64)
	x.SetDoubleValue(1)
	l.exemplarDoubles, _ = boxOfField(x, "Value", reflect.Float64)
	metric := pmetric.NewMetric()
	data := func() (b box, c chunk) {
		b, l.data = boxOfField(metric, "Data", reflect.Pointer)
		if all {
			c = chunkOf(b.slice.Elem().Field(0).Type.Elem())
		}
		return b, c
	}
	metric.SetEmptyGauge()
	l.gauge, l.gauges = data()
	metric.SetEmptySum()
	l.sum, l.sums = data()
	metric.SetEmptyHistogram()
	l.histogram, l.histograms = data()
	l.known, l.shares = all, all
	for _, change := range changes {
		l.shares = l.shares && l.keepsBox(change)
	}
	return l
}()

// changes are functions that each change a value, which is in a map under the key "key".
var changes = []func(pcommon.Value, pcommon.Map){
	func(v pcommon.Value, _ pcommon.Map) { v.SetInt(1) },
	func(v pcommon.Value, _ pcommon.Map) { v.SetStr("other") },
	func(v pcommon.Value, _ pcommon.Map) { pcommon.NewValueStr("other").CopyTo(v) },
	func(v pcommon.Value, _ pcommon.Map) { pcommon.NewValueStr("other").MoveTo(v) },
	func(_ pcommon.Value, m pcommon.Map) { m.PutStr("key", "other") },
	func(_ pcommon.Value, m pcommon.Map) { m.Remove("key") },
	func(_ pcommon.Value, m pcommon.Map) { m.Clear() },
}

// keepsBox reports whether a change of a value leaves the object that holds its content (see box)
// unchanged, so that another value may share this object. By default pdata allocates a new object
// for new content. If a feature gate enables the pools of pdata, pdata clears and reuses the
// object.
func (l *layout) keepsBox(change func(pcommon.Value, pcommon.Map)) bool {
	m := pcommon.NewMap()
	v, other := m.PutEmpty("key"), pcommon.NewValueEmpty()
	box := reflect.MakeSlice(l.strings.slice, 1, 1).UnsafePointer()
	*(*string)(box) = "text"
	for _, v := range []pcommon.Value{v, other} {
		*(*dynamic)((*wrapper)(unsafe.Pointer(&v)).orig) = dynamic{l.strings.typ, box}
	}
	change(v, m)
	return other.Str() == "text"
}

// Values allocates the values of attributes, bodies and points. The zero value is
// ready for use.
type Values struct{ *layout }

// use returns the layout with the chunks of this Values, or nil if the layout is not
// known.
func (v *Values) use() *layout {
	if v.layout == nil {
		own := theLayout
		own.shares = own.shares && own.keepsBox(changes[0]) // the pools of pdata may have been switched on
		v.layout = &own
	}
	if !v.known {
		return nil
	}
	return v.layout
}

// Renew begins new chunks, so that later batches share no memory with earlier batches: the
// objects of a chunk keep each other and their texts in memory.
func (v *Values) Renew() { v.layout = nil }

// EndBatch makes later values share no objects with the values that were set before, so that
// batches do not refer to each other.
func (v *Values) EndBatch() {
	if v.layout != nil && v.texts != nil {
		v.texts.clear()
	}
}

// SetStr sets dst, which is empty, to a text. Values of a batch that have the same dictionary text
// share an object (see box), which is found by the address of the text.
func (v *Values) SetStr(dst pcommon.Value, text string) {
	l := v.use()
	if l == nil {
		dst.SetStr(text)
		return
	}
	if !l.shares {
		v.SetNewStr(dst, text)
		return
	}
	if l.texts == nil {
		l.texts = new(boxed)
	}
	p := (*wrapper)(unsafe.Pointer(&dst)).orig
	// The constant and the slot are those of mapping.TextSlot: the multiplication spreads addresses
	// over the high bits. They are repeated here because internal/arch allows this package to import
	// only pdata, not packages mapping and codec.
	const goldenRatio = 0x9e3779b97f4a7c15
	at := uint64(uintptr(unsafe.Pointer(unsafe.StringData(text)))) * goldenRatio >> 56
	if s := l.texts.boxes[at]; s != nil && len(*s) == len(text) && unsafe.StringData(*s) == unsafe.StringData(text) {
		(*dynamic)(p).typ, (*dynamic)(p).data = l.strings.typ, unsafe.Pointer(s)
		return
	}
	s := (*string)(l.strings.set(p))
	*s = text
	l.texts.put(at, s)
}

// SetNewStr is like SetStr, but does not look for an object to share. Use it if no other value has
// the same text.
func (v *Values) SetNewStr(dst pcommon.Value, text string) {
	if l := v.use(); l != nil {
		*(*string)(l.strings.set((*wrapper)(unsafe.Pointer(&dst)).orig)) = text
		return
	}
	dst.SetStr(text)
}

// SetInt sets dst, which is empty, to a number.
func (v *Values) SetInt(dst pcommon.Value, n int64) {
	if l := v.use(); l != nil {
		*(*int64)(l.ints.set((*wrapper)(unsafe.Pointer(&dst)).orig)) = n
		return
	}
	dst.SetInt(n)
}

// SetDouble sets dst, which is empty, to a number.
func (v *Values) SetDouble(dst pcommon.Value, n float64) {
	if l := v.use(); l != nil {
		*(*float64)(l.doubles.set((*wrapper)(unsafe.Pointer(&dst)).orig)) = n
		return
	}
	dst.SetDouble(n)
}

// SetBool sets dst, which is empty, to a boolean.
func (v *Values) SetBool(dst pcommon.Value, b bool) {
	if l := v.use(); l != nil {
		*(*bool)(l.bools.set((*wrapper)(unsafe.Pointer(&dst)).orig)) = b
		return
	}
	dst.SetBool(b)
}

// SetPointInt sets dst, a point without a value, to an integer.
func (v *Values) SetPointInt(dst pmetric.NumberDataPoint, n int64) {
	if l := v.use(); l != nil {
		*(*int64)(l.pointInts.set(unsafe.Add((*wrapper)(unsafe.Pointer(&dst)).orig, l.number))) = n
		return
	}
	dst.SetIntValue(n)
}

// SetPointDouble sets dst, a point without a value, to a double.
func (v *Values) SetPointDouble(dst pmetric.NumberDataPoint, n float64) {
	if l := v.use(); l != nil {
		*(*float64)(l.pointDoubles.set(unsafe.Add((*wrapper)(unsafe.Pointer(&dst)).orig, l.number))) = n
		return
	}
	dst.SetDoubleValue(n)
}

// SetExemplarInt sets dst, an exemplar without a value, to an integer.
func (v *Values) SetExemplarInt(dst pmetric.Exemplar, n int64) {
	if l := v.use(); l != nil {
		*(*int64)(l.exemplarInts.set(unsafe.Add((*wrapper)(unsafe.Pointer(&dst)).orig, l.exemplar))) = n
		return
	}
	dst.SetIntValue(n)
}

// SetExemplarDouble sets dst, an exemplar without a value, to a double.
func (v *Values) SetExemplarDouble(dst pmetric.Exemplar, n float64) {
	if l := v.use(); l != nil {
		*(*float64)(l.exemplarDoubles.set(unsafe.Add((*wrapper)(unsafe.Pointer(&dst)).orig, l.exemplar))) = n
		return
	}
	dst.SetDoubleValue(n)
}

// SetGauge makes dst, which has no data, a gauge.
func (v *Values) SetGauge(dst pmetric.Metric) pmetric.Gauge {
	l := v.use()
	if l == nil {
		return dst.SetEmptyGauge()
	}
	*(*unsafe.Pointer)(l.gauge.set(unsafe.Add((*wrapper)(unsafe.Pointer(&dst)).orig, l.data))) = l.gauges.one()
	return dst.Gauge()
}

// SetSum makes dst, which has no data, a sum.
func (v *Values) SetSum(dst pmetric.Metric) pmetric.Sum {
	l := v.use()
	if l == nil {
		return dst.SetEmptySum()
	}
	*(*unsafe.Pointer)(l.sum.set(unsafe.Add((*wrapper)(unsafe.Pointer(&dst)).orig, l.data))) = l.sums.one()
	return dst.Sum()
}

// SetHistogram makes dst, which has no data, a histogram.
func (v *Values) SetHistogram(dst pmetric.Metric) pmetric.Histogram {
	l := v.use()
	if l == nil {
		return dst.SetEmptyHistogram()
	}
	*(*unsafe.Pointer)(l.histogram.set(unsafe.Add((*wrapper)(unsafe.Pointer(&dst)).orig, l.data))) = l.histograms.one()
	return dst.Histogram()
}

// Pairs are the pairs of a map that is being filled.
type Pairs struct {
	dst    pcommon.Map
	layout *layout
	base   unsafe.Pointer
	slow   *xpdata.MapBuilder // used if the layout is not known
}

// Begin prepares p to fill dst, which is empty, with n pairs.
func (v *Values) Begin(p *Pairs, dst pcommon.Map, n int) {
	if p.layout = v.use(); p.layout == nil {
		p.dst, p.slow = dst, new(xpdata.MapBuilder)
		p.slow.EnsureCapacity(n)
		return
	}
	p.base = p.layout.pair.run(n)
	w := (*wrapper)(unsafe.Pointer(&dst))
	*(*list)(w.orig) = list{p.base, n, n}
	p.dst = dst
}

// At sets the key of pair i and returns its value. Call it once for each pair, in the order 0, 1,
// 2, …
func (p *Pairs) At(i int, key string) (v pcommon.Value) {
	l := p.layout
	if l == nil {
		return p.slow.AppendEmpty(key)
	}
	pair := unsafe.Add(p.base, uintptr(i)*l.pair.size)
	*(*string)(unsafe.Add(pair, l.key)) = key
	*(*wrapper)(unsafe.Pointer(&v)) = wrapper{unsafe.Add(pair, l.value), (*wrapper)(unsafe.Pointer(&p.dst)).state}
	return v
}

// End completes the map.
func (p *Pairs) End() {
	if p.layout == nil {
		p.slow.UnsafeIntoMap(p.dst)
	}
}
