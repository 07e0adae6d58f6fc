// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"math"
	"unsafe"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/internal/compact"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// metricsForm is the part of the state of the compact form that a writer and a reader of metrics have in
// common.
type metricsForm struct {
	on     bool
	wire   CompactPoint // the fields that were sent last
	number uint64
	index  seriesIndex
	points compact.Points
	point  compact.Point
	fields compact.Fields

	shares    bool  // points of the stream can repeat exemplars of their series
	plain     Point // the exemplars and flags that were sent last, if shares
	exemplars compact.Residual
	restarted bool // share or unshare must run for the next point, even without exemplars

	container container // container of the last record
	stale     bool      // container must be determined even if the record does not change it
}

const (
	metricsContainer = MetricsFieldMetric | MetricsFieldResource | MetricsFieldScope

	pointPlain   = PointFieldExemplars | PointFieldFlags | PointFieldCompactExemplars
	compactPoint = CompactPointFieldTime | CompactPointFieldStart | CompactPointFieldForm |
		CompactPointFieldBits | CompactPointFieldWords | CompactPointFieldFloats
)

func (f *metricsForm) begin(fields MetricsFields) {
	f.wire.init(nil, 0)
	f.plain.init(nil, 0)
	f.index.begin()
	f.on = fields.Metrics&MetricsFieldNumber != 0 && fields.CompactPoint&compactPoint == compactPoint
	f.shares = f.on && fields.Point&PointFieldCompactExemplars != 0
}

// Restart discards the state of the compact form.
func (f *metricsForm) Restart() {
	f.index.forget()
	f.points.Reset()
	f.exemplars.Reset()
	f.stale, f.restarted = true, true
}

// Held returns the memory of the state of the compact form.
func (f *metricsForm) Held() int { return f.index.held() + f.points.Held() }

// Release discards the state of the compact form and releases its memory, except small tables.
func (f *metricsForm) Release() {
	f.Restart()
	f.points.Release()
	if f.Held() > keptForm {
		f.index = seriesIndex{own: f.index.own}
		f.index.begin()
	}
}

// keptForm is the maximum memory that a closed stream keeps for the next stream.
const keptForm = 256 << 10

// metricsWriterForm converts metrics to the compact form.
type metricsWriterForm struct {
	metricsForm
	all  bool // send Number even if it is unchanged
	kept keptMetrics
}

func (f *metricsWriterForm) start(w *MetricsWriter) {
	f.begin(w.fields)
	f.index.own = true
	f.kept.start(w.fields)
	if f.on {
		w.encoder.point.head.Mask &= pointPlain
		stefrt.AtRestart(&w.WriteStream, f)
	}
}

func (f *metricsWriterForm) reset() {
	f.wire.clear()
	f.plain.clear()
	f.number, f.all = 0, false
	// Put does not set fields that a record does not use, so clear them here.
	f.fields = compact.Fields{Words: f.fields.Words[:0], Floats: f.fields.Floats[:0]}
}

func (f *metricsWriterForm) sendAll() {
	f.wire.markAll(new(stefrt.Check))
	f.plain.markAll(new(stefrt.Check))
	f.all = true
}

// encode writes the record. It writes the fields of the compact form last, because they depend on
// the other fields.
func (f *metricsWriterForm) encode(w *MetricsWriter) {
	s, e := &w.record, &w.encoder
	mask := s.node.Take() & e.head.Mask &^ (MetricsFieldPoint | MetricsFieldCompact | MetricsFieldNumber)
	if mask&MetricsFieldEnvelope != 0 {
		e.envelope.Encode(&s.envelope)
	}
	if mask&MetricsFieldMetric != 0 {
		s.metricSent = e.metric.Encode(s.metric, s.metricSent)
	}
	if mask&MetricsFieldResource != 0 {
		s.resourceSent = e.resource.Encode(s.resource, s.resourceSent)
	}
	if mask&MetricsFieldScope != 0 {
		s.scopeSent = e.scope.Encode(s.scope, s.scopeSent)
	}
	changed := uint64(0)
	if mask&MetricsFieldAttributes != 0 {
		changed = s.attributes.node.Modified()
		e.attributes.Encode(&s.attributes)
	}
	moved := mask&metricsContainer != 0 || f.stale
	if moved {
		f.enter(w, mask)
	}
	attributes := &s.attributes
	if f.kept.cutValues {
		attributes = f.kept.attributesOf(attributes)
	}
	x := f.index.find(&f.container, moved, attributes, changed)
	point := &s.point
	if f.shares {
		if point = &f.plain; f.plain.flags != s.point.flags || f.sharing(&s.point, x) {
			f.share(s, x)
		}
	}
	if point.node.Modified()&e.point.head.Mask != 0 {
		mask |= MetricsFieldPoint
		e.point.Encode(point)
	}
	s.point.node.SetModified(0)
	s.point.value.node.SetModified(0)
	f.take(&s.point)
	words := f.points.Put(&x.Series, &f.point, &f.fields)
	f.index.grow(x, words)
	if words != 0 && f.index.words > writtenWords {
		stefrt.RestartNext(&w.WriteStream)
	}
	if !f.fields.Steady { // otherwise wire already has the fields
		f.set()
	}
	if f.wire.node.Modified() != 0 {
		mask |= MetricsFieldCompact
		e.compact.Encode(&f.wire)
	}
	if f.number != f.fields.Number || f.all {
		mask |= MetricsFieldNumber
		f.number, f.all = f.fields.Number, false
		e.number.Encode(f.number)
	}
	e.head.Write(mask, e.head.Fields)
}

// enter determines the container of the record: its metric, resource and scope. mask has the parts
// of the container that the record has just sent. References of other parts do not change, except
// that a restart of the dictionaries makes them invalid.
func (f *metricsWriterForm) enter(w *MetricsWriter, mask uint64) {
	s, e, c := &w.record, &w.encoder, &f.container
	if f.stale {
		*c, f.stale = container{}, false
	}
	if mask&MetricsFieldMetric != 0 {
		c.metric = sentRef(e.metric.dict, s.metricSent, &s.metricSent.slot, (*Metric).hash, (*Metric).Equal)
	}
	if mask&MetricsFieldResource != 0 {
		c.resource = sentRef(e.resource.dict, s.resourceSent, &s.resourceSent.slot, (*Resource).hash, (*Resource).Equal)
	}
	if mask&MetricsFieldScope != 0 {
		c.scope = sentRef(e.scope.dict, s.scopeSent, &s.scopeSent.slot, (*Scope).hash, (*Scope).Equal)
	}
}

// sentRef returns the reference of v, a value that was just sent. s is the slot of v. If another
// writer also sent v, it may have replaced the reference in s. Then sentRef finds v by its
// contents.
func sentRef[T any](d *stefrt.StructDict[T], v *T, s *stefrt.Slot, hash func(*T, *codec.Hash), equal func(a, b *T) bool) uint64 {
	ref, ok := d.Known(s)
	if !ok {
		_, ref, _ = d.Find(v, hash, equal)
	}
	return ref
}

// set copies f.fields to f.wire, and marks the fields that differ.
func (f *metricsWriterForm) set() {
	w, x := &f.wire, &f.fields
	mask := w.node.Modified()
	if w.time != x.Time {
		w.time = x.Time
		mask |= CompactPointFieldTime
	}
	if w.start != x.Start {
		w.start = x.Start
		mask |= CompactPointFieldStart
	}
	if w.form != x.Form {
		w.form = x.Form
		mask |= CompactPointFieldForm
	}
	if math.Float64bits(w.bits) != x.Bits {
		w.bits = math.Float64frombits(x.Bits)
		mask |= CompactPointFieldBits
	}
	w.node.SetModified(mask)
	if !x.Listed {
		return // wire already has the lists
	}
	if len(x.Words)|w.words.Len() != 0 {
		w.words.SetValues(x.Words)
	}
	if len(x.Floats)|w.floats.Len() != 0 {
		w.floats.SetLen(len(x.Floats))
		for i, v := range x.Floats {
			w.floats.Set(i, math.Float64frombits(v))
		}
	}
}

// take sets f.point from the point of a record.
func (f *metricsForm) take(src *Point) {
	p := &f.point
	p.Start, p.Time = src.startTimestamp, src.timestamp
	p.Words, p.Floats = p.Words[:0], p.Floats[:0]
	v := &src.value
	switch v.typ {
	case PointValueTypeInt64:
		p.Kind, p.Scalar = compact.Int, v.num
	case PointValueTypeFloat64:
		p.Kind, p.Scalar = compact.Double, v.num
	case PointValueTypeHistogram:
		f.takeHistogram(&v.box.histogram)
	case PointValueTypeExpHistogram:
		f.takeExponential(&v.box.expHistogram)
	case PointValueTypeSummary:
		f.takeSummary(&v.box.summary)
	default:
		p.Kind, p.Scalar = compact.None, 0
	}
}

func total(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

func presence(sum, least, most bool) uint64 {
	return stefrt.BoolBits(sum) | stefrt.BoolBits(least)<<1 | stefrt.BoolBits(most)<<2
}

// presentBits returns the bits of an optional double. It returns 0 if the double is absent,
// because v is then the value of an earlier record.
func presentBits(v float64, present bool) uint64 {
	if !present {
		return 0
	}
	return math.Float64bits(v)
}

func (f *metricsForm) takeHistogram(h *HistogramValue) {
	p := &f.point
	counts := h.bucketCounts.Values()
	p.Kind, p.Scalar = compact.Histogram, presentBits(h.Sum(), h.HasSum())
	p.Words = append(p.Words, presence(h.HasSum(), h.HasMin(), h.HasMax()), uint64(h.count)-total(counts))
	p.Words = append(p.Words, counts...)
	p.Floats = append(p.Floats, presentBits(h.Min(), h.HasMin()), presentBits(h.Max(), h.HasMax()))
}

func (f *metricsForm) takeExponential(h *ExpHistogramValue) {
	p := &f.point
	above, below := h.positiveBuckets.bucketCounts.Values(), h.negativeBuckets.bucketCounts.Values()
	p.Kind, p.Scalar = compact.Exponential, presentBits(h.Sum(), h.HasSum())
	p.Words = append(p.Words, presence(h.HasSum(), h.HasMin(), h.HasMax()),
		h.count-h.zeroCount-total(above)-total(below), uint64(h.scale), h.zeroCount,
		uint64(h.positiveBuckets.offset), uint64(h.negativeBuckets.offset), uint64(len(below)))
	p.Words = append(append(p.Words, below...), above...)
	p.Floats = append(p.Floats, presentBits(h.Min(), h.HasMin()), presentBits(h.Max(), h.HasMax()), math.Float64bits(h.zeroThreshold))
}

func (f *metricsForm) takeSummary(s *SummaryValue) {
	p := &f.point
	p.Kind, p.Scalar = compact.Summary, math.Float64bits(s.sum)
	p.Words = append(p.Words, s.count)
	p.Floats = append(p.Floats, 0)
	for i := range s.quantileValues.Len() {
		q := s.quantileValues.At(i)
		p.Floats = append(p.Floats, math.Float64bits(q.quantile), math.Float64bits(q.value))
	}
}

// metricsReaderForm converts metrics from the compact form.
type metricsReaderForm struct {
	metricsForm
	held   heldContainers
	reader *MetricsReader

	// inRecord says that the record has exactly the exemplars that were sent last.
	// notInPlain says that plain does not have these exemplars.
	inRecord, notInPlain bool
	// mustUnshare says that unshare must be called for the next point, even if its series has no
	// exemplars.
	mustUnshare bool

	measured measuredMetrics
}

// heldContainers are the metric, resource and scope of the record at the last Restart. Their series
// are found by their addresses. The values are kept, so that no other value gets the same address.
type heldContainers struct {
	metric   *Metric
	resource *Resource
	scope    *Scope
}

// measuredMetrics refers to the values that a reader decodes into, to measure their
// memory.
type measuredMetrics struct {
	record *Metrics
	plain  *Point
	wire   *CompactPoint
	fields *compact.Fields
	point  *compact.Point
	held   *heldContainers
}

func (f *metricsReaderForm) start(r *MetricsReader) {
	f.begin(r.fields)
	f.wire.clear()
	f.plain.clear()
	f.plain.node.SetModified(0)
	f.inRecord, f.notInPlain = true, false // the record has no exemplars yet
	f.fields = compact.Fields{Floats: f.fields.Floats[:0]}
	f.reader = r
	f.Restart()
	if f.on {
		f.measured = measuredMetrics{&r.record, &f.plain, &f.wire, &f.fields, &f.point, &f.held}
		stefrt.Measure(&r.ReadStream, &f.measured)
		stefrt.AtReadRestart(&r.ReadStream, f)
	}
}

// computed returns the fields of the record that the compact form computes. Run returns 0 for them.
func (f *metricsReaderForm) computed() uint64 { return MetricsFieldPoint }

// Restart discards the state of the compact form.
func (f *metricsReaderForm) Restart() {
	f.metricsForm.Restart()
	f.mustUnshare = f.shares
	f.point.Words, f.point.Floats = nil, nil // they belong to a series, whose memory another series may use now
	s := &f.reader.record
	f.held = heldContainers{s.metric, s.resource, s.scope}
}

func (f *metricsReaderForm) decode(r *MetricsReader) {
	s, d := &r.record, &r.decoder
	mask := d.head.Read(d.head.Fields)
	s.point.node.SetModified(0)
	x, codes := f.index.last, uint64(0)
	if mask&^MetricsFieldNumber != 0 || x == nil {
		if mask&(MetricsFieldEnvelope|metricsContainer) != 0 {
			d.decodeContainer(s, mask)
		}
		changed := uint64(0)
		if mask&MetricsFieldAttributes != 0 {
			d.attributes.Decode(&s.attributes)
			changed = s.attributes.node.Modified()
		}
		if mask&(MetricsFieldPoint|MetricsFieldCompact) != 0 {
			codes = f.decodePoint(r, mask)
		}
		if stefrt.Faulty(&r.ReadStream) {
			return
		}
		if mask&metricsContainer != 0 || x == nil {
			x = f.find(r, mask, changed)
		} else if changed != 0 {
			if next := x.next; next != nil && next.seriesContainer == x.seriesContainer && x.precedes(next, &s.attributes, changed) {
				f.index.last, x = next, next
			} else {
				x = f.find(r, mask, changed)
			}
		}
	}
	code := uint64(0)
	if codes != 0 || !x.Steady() {
		// Call TimeCode even if Time is not marked: after a restart, an unchanged Time
		// has another code.
		code = f.points.TimeCode(f.fields.Time)
		if codes&^CompactPointFieldTime != 0 || !x.Steady() || !compact.IsNear(code) {
			f.undo(r, x, mask, code, codes&^CompactPointFieldTime == 0)
			return
		}
	}
	// Most points belong to a steady series (see compact.Series.Steady). For them, do the same as
	// the method undo, but without a compact.Point and without a call, which would take time for
	// each point. code is the code of the time.
	residual := uint64(0)
	if mask&MetricsFieldNumber != 0 {
		f.fields.Number = d.number.Decode()
		residual = f.points.Residual(f.fields.Number)
	}
	start, time, scalar := f.points.TakeSteady(&x.Series, residual, code)
	dst := &s.point
	typ := PointValueType(x.Kind()) // Int64 or Float64, whose numbers are those of compact.Int and compact.Double
	differs := stefrt.BoolBits((dst.value.num^scalar)|uint64(dst.value.typ^typ) != 0)
	dst.value.typ, dst.value.num = typ, scalar
	dst.value.node.SetModified(differs)
	marks := dst.node.Modified() | differs*PointFieldValue |
		stefrt.If(dst.startTimestamp != start, PointFieldStartTimestamp) |
		stefrt.If(dst.timestamp != time, PointFieldTimestamp)
	dst.startTimestamp, dst.timestamp = start, time
	dst.node.SetModified(marks)
	s.node.SetModified(mask&^(MetricsFieldCompact|MetricsFieldNumber) | stefrt.If(marks != 0, MetricsFieldPoint))
	if (f.mustUnshare || x.exemplars != nil) && !f.unshare(s, x) {
		d.head.NoSuchForm()
	}
}

// decodeContainer reads the fields before the attributes.
func (d *metricsDecoder) decodeContainer(s *Metrics, mask uint64) {
	if mask&MetricsFieldEnvelope != 0 {
		d.envelope.Decode(&s.envelope)
	}
	if mask&MetricsFieldMetric != 0 {
		s.metric = d.metric.Decode(s.metric)
	}
	if mask&MetricsFieldResource != 0 {
		s.resource = d.resource.Decode(s.resource)
	}
	if mask&MetricsFieldScope != 0 {
		s.scope = d.scope.Decode(s.scope)
	}
}

// decodePoint decodes the fields of the point, and stores those of the compact form in f.fields. It returns
// which of the fields Time, Start and Form were sent, as a mask. A field that was not sent equals that of
// the previous record.
func (f *metricsReaderForm) decodePoint(r *MetricsReader, mask uint64) (codes uint64) {
	if mask&MetricsFieldPoint != 0 {
		if f.shares {
			f.decodePlain(&r.decoder.point)
		} else {
			r.decoder.point.Decode(&r.record.point)
		}
	}
	if mask&MetricsFieldCompact == 0 {
		return 0
	}
	d, x := &r.decoder.compact, &f.fields
	mask = d.head.Read(d.head.Fields)
	if mask&CompactPointFieldTime != 0 {
		x.Time = d.time.Decode()
	}
	if mask&CompactPointFieldStart != 0 {
		x.Start = d.start.Decode()
	}
	if mask&CompactPointFieldForm != 0 {
		x.Form = d.form.Decode()
	}
	if mask&CompactPointFieldBits != 0 {
		x.Bits = d.bits.DecodeBits()
	}
	if mask&CompactPointFieldWords != 0 {
		words := &f.wire.words
		words.Decoded(d.words.Decode(words.Values()))
		x.Words = words.Values()
	}
	if mask&CompactPointFieldFloats != 0 {
		floats := &f.wire.floats
		floats.Decoded(d.floats.Decode(floats.Values()))
		x.Floats = x.Floats[:0]
		for _, v := range floats.Values() {
			x.Floats = append(x.Floats, math.Float64bits(v))
		}
	}
	return mask & (CompactPointFieldTime | CompactPointFieldStart | CompactPointFieldForm)
}

// find returns the series of the record. mask has the fields of the record, and changed are the
// marks of its attributes.
func (f *metricsReaderForm) find(r *MetricsReader, mask, changed uint64) *series {
	moved := mask&metricsContainer != 0
	if f.index.last == nil {
		moved = moved || f.stale // stale is false if a series is known
	}
	if moved {
		f.enter(&r.record)
	}
	if last := f.index.last; last != nil && moved && changed != 0 {
		if next := last.next; next != nil && next.container == f.container && last.precedes(next, &r.record.attributes, changed) {
			f.index.last = next
			return next
		}
	}
	x := f.index.find(&f.container, moved, &r.record.attributes, changed)
	stefrt.Worked(&r.ReadStream, f.index.work)
	f.index.work = 0
	return x
}

// enter determines the container of the record: its metric, resource and scope.
func (f *metricsReaderForm) enter(s *Metrics) {
	f.stale = false
	f.container = container{
		uint64(uintptr(unsafe.Pointer(s.metric))),
		uint64(uintptr(unsafe.Pointer(s.resource))),
		uint64(uintptr(unsafe.Pointer(s.scope))),
	}
}

// undo sets the point of the record. x is its series, and code is the code of its time.
// known says that the fields Start and Form equal those of the previous record.
func (f *metricsReaderForm) undo(r *MetricsReader, x *series, mask, code uint64, known bool) {
	s, d := &r.record, &r.decoder
	s.node.SetModified(mask &^ (MetricsFieldCompact | MetricsFieldNumber))
	if mask&MetricsFieldNumber != 0 {
		f.fields.Number = d.number.Decode()
		if stefrt.Faulty(&r.ReadStream) {
			return
		}
	}
	f.fields.Known = known
	words, ok := f.points.TakeCode(&x.Series, &f.fields, &f.point, code)
	f.index.grow(x, words)
	if words != 0 && f.index.words > readWords {
		d.head.TooMuchState()
		return
	}
	if !ok || !f.restore(s) ||
		(f.mustUnshare || x.exemplars != nil) && !f.unshare(s, x) {
		d.head.NoSuchForm()
	}
}
