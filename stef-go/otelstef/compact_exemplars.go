// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"bytes"
	"math/bits"
	"strings"
	"sync"
	"unsafe"

	"github.com/otelstef/stef/stef-go/stefrt"
)

// Cumulative points repeat the exemplars of earlier points until new measurements
// replace them. The compact form sends an exemplar only if the last point of the series
// does not have the same exemplar at the same place.
//
// spec: #compact-exemplars

const (
	// maxSharedExemplars is the maximum number of exemplars that a series keeps.
	maxSharedExemplars = 62
	// maxExemplarBytes bounds the counted size of the exemplars of all series: the size by the rule
	// of the specification, see countExemplar.
	maxExemplarBytes = 1 << 23
	// exemplarBytes and exemplarPairBytes are the counted sizes of an exemplar and of a
	// pair of its attributes, without text.
	exemplarBytes     = 80
	exemplarPairBytes = 48
)

// exemplarTotals are sums over the exemplars of all series.
type exemplarTotals struct {
	counted int // size by the rule of the specification
	held    int // memory in bytes
}

// seriesExemplars are the exemplars of the last point of a series.
type seriesExemplars struct {
	list    []exemplarCopy
	counted int
	held    int
	shares  bool // the last point that could repeat exemplars repeated at least one
}

// freeExemplars pools the exemplars of discarded series for new series. Their lists are
// empty.
var freeExemplars = sync.Pool{New: func() any { return new(seriesExemplars) }}

// keptExemplars is the largest capacity of a list that release keeps.
const keptExemplars = 4

func (x *seriesExemplars) release() {
	if list := x.list[:cap(x.list)]; len(list) <= keptExemplars {
		clear(list)
		*x = seriesExemplars{list: list[:0]}
		freeExemplars.Put(x)
	}
}

// exemplarCopy is a copy of an exemplar for which countExemplar returns true: each id has
// its usual length or is empty, and no attribute is an array, a map or bytes.
type exemplarCopy struct {
	time, num   uint64
	pairs       []pairCopy
	typ         ExemplarValueType
	trace, span uint8 // the lengths of the ids
	counted     uint32
	traceID     [16]byte
	spanID      [8]byte
}

// codeOf returns the code that stands for kept and for n, the number of exemplars of a point. Bit i
// of kept says that exemplar i equals exemplar i of the series.
func (x *seriesExemplars) codeOf(kept uint64, n int) int64 {
	if n == len(x.list) && (n > 0 && kept != 0 || n == 0 && x.shares) {
		return int64(^kept & (1<<n - 1))
	}
	return ^int64(kept)
}

// sharing reports whether share or unshare must be called for a point: the point, its series or
// f.plain has exemplars, or the state was discarded after the last point.
func (f *metricsForm) sharing(p *Point, s *series) bool {
	return s.exemplars != nil || p.exemplars.Len()|f.plain.exemplars.Len() != 0 || f.restarted
}

// share sets f.plain to the exemplars and flags that are sent for the point of a record, and
// updates the exemplars of the series.
func (f *metricsWriterForm) share(rec *Metrics, s *series) {
	src := &rec.point
	if f.kept.cutExemplars {
		src = f.kept.exemplarsOf(src)
	}
	f.restarted = false
	f.plain.SetFlags(src.flags)
	n, x := src.exemplars.Len(), s.exemplars
	if x == nil {
		x = &noExemplars
	}
	kept := uint64(0)
	for i := range min(n, len(x.list)) {
		if x.list[i].equals(src.exemplars.At(i)) {
			kept |= 1 << i
		}
	}
	code := x.codeOf(kept, n)
	f.plain.SetCompactExemplars(f.exemplars.Put(x.residual(code)))
	if code != 0 {
		sent := &f.plain.exemplars
		sent.SetLen(n - bits.OnesCount64(kept))
		to := 0
		for i := range n {
			if kept>>i&1 == 0 {
				sent.At(to).CopyFrom(src.exemplars.At(i))
				to++
			}
		}
	}
	delta := rec.metric.aggregationTemporality == AggregationTemporalityDelta && !f.kept.cutTemporality
	if keeper := f.index.keeper(s, n, kept, code, delta); keeper != nil {
		counted, ok := 0, n <= maxSharedExemplars && !delta
		if ok {
			counted, ok = keeper.countNew(src, kept)
		}
		f.index.keep(keeper, src, kept, counted, ok)
	}
}

// noExemplars is the empty list of a series without exemplars. It must not be changed.
var noExemplars seriesExemplars

// residual returns the difference between a code and its prediction. The function is its own inverse: for
// a residual it returns the code.
func (x *seriesExemplars) residual(code int64) uint64 {
	if x.shares {
		return uint64(code)
	}
	return ^uint64(code)
}

// decodePlain decodes the fields of the point into f.plain, except the exemplars. unshare decodes
// the exemplars, because it can decode them directly into the record.
func (f *metricsReaderForm) decodePlain(d *pointDecoder) {
	p := &f.plain
	mask := d.head.Read(d.head.Fields)
	p.node.SetModified(mask)
	f.mustUnshare = f.mustUnshare || mask != 0
	if mask&PointFieldFlags != 0 {
		p.flags = d.flags.Decode()
	}
	if mask&PointFieldCompactExemplars != 0 {
		p.compactExemplars = d.compactExemplars.Decode()
	}
	if mask&^pointPlain != 0 {
		d.skipReplaced(p, mask)
	}
}

// skipReplaced consumes the fields that the compact form replaces, and ignores their values. Writers of
// the compact form do not send these fields, but a stream may have them.
func (d *pointDecoder) skipReplaced(p *Point, mask uint64) {
	if mask&PointFieldStartTimestamp != 0 {
		p.startTimestamp = d.startTimestamp.Decode()
	}
	if mask&PointFieldTimestamp != 0 {
		p.timestamp = d.timestamp.Decode()
	}
	if mask&PointFieldValue != 0 {
		d.value.Decode(&p.value)
	}
}

// unshare sets the exemplars and flags of the point of a record. It returns false if the decoded
// fields are invalid for the exemplars of the series.
func (f *metricsReaderForm) unshare(rec *Metrics, s *series) bool {
	ok := f.unshareSent(rec, s)
	f.plain.node.SetModified(0)
	f.mustUnshare = rec.point.exemplars.Len()|f.plain.exemplars.Len() != 0
	return ok
}

// unshareSent does the work of unshare, except that unshare itself sets f.mustUnshare and clears the marks of
// f.plain after the call: unshareSent has many returns.
func (f *metricsReaderForm) unshareSent(rec *Metrics, s *series) bool {
	dst := &rec.point
	f.restarted = false
	mask := f.plain.node.Modified()
	if mask&PointFieldFlags != 0 {
		dst.SetFlags(f.plain.flags)
	}
	x := s.exemplars
	if x == nil {
		x = &noExemplars
	}
	code := int64(x.residual(int64(f.exemplars.Take(f.plain.compactExemplars))))
	sent := f.plain.exemplars.Len()
	if f.inRecord {
		sent = dst.exemplars.Len()
	}
	if mask&PointFieldExemplars != 0 {
		d := &f.reader.decoder.point.exemplars
		sent = d.length.Decode(d.elem.head.Room())
	}
	n, kept := len(x.list), uint64(0)
	switch {
	case code == 0:
		kept = 1<<n - 1
	case code > 0:
		kept = ^uint64(code) & (1<<n - 1)
		if bits.Len64(uint64(code)) > n || bits.OnesCount64(uint64(code)) != sent {
			return false
		}
	default:
		kept = uint64(^code)
		n = bits.OnesCount64(kept) + sent
		if bits.Len64(kept) > min(n, len(x.list)) {
			return false
		}
	}
	direct := f.inRecord && kept == 0 && n == sent
	if !direct && f.inRecord {
		f.leaveRecord(&dst.exemplars)
	}
	if mask&PointFieldExemplars != 0 && !f.decodeExemplars(rec, sent, direct) {
		return true // the fault is already recorded
	}
	delta := rec.metric.aggregationTemporality == AggregationTemporalityDelta
	keeper := f.index.keeper(s, n, kept, code, delta)
	if direct && keeper == nil {
		return true
	}
	var copies []exemplarCopy
	same := keeper != nil && n == len(keeper.list)
	if keeper != nil && !delta && n <= cap(keeper.list) {
		// The list of the series has space for the exemplars, so copying them needs no
		// allocation.
		keeper.list = keeper.list[:max(n, len(keeper.list))]
		copies = keeper.list[:n]
	}
	counted, ok := 0, true
	switch {
	case direct:
		counted, ok = f.copySent(&dst.exemplars, copies)
	case n|dst.exemplars.Len() != 0:
		counted, ok = f.restoreExemplars(&dst.exemplars, x.list, copies, n, kept)
	}
	f.inRecord = kept == 0 && n == sent
	switch {
	case keeper == nil:
	case copies != nil && ok && same && counted == keeper.counted:
		// The number of exemplars and their counted size have not changed, and the new exemplars
		// were copied above. So the list needs no other change.
	default:
		if copies != nil {
			kept = 1<<n - 1
		}
		f.index.keep(keeper, dst, kept, counted, ok && !delta)
	}
	return true
}

// decodeExemplars decodes the n exemplars that were sent for a point: into the record if direct is
// true, otherwise into f.plain. It returns false after a fault.
func (f *metricsReaderForm) decodeExemplars(rec *Metrics, n int, direct bool) bool {
	list, d := &f.plain.exemplars, &f.reader.decoder.point.exemplars
	if direct {
		list.Clear()
		f.notInPlain = true
		list = &rec.point.exemplars
		rec.point.node.SetModified(rec.point.node.Modified() | PointFieldExemplars)
		rec.node.SetModified(rec.node.Modified() | MetricsFieldPoint)
	}
	if !list.BeginDecode(n, d.length.Alloc) {
		d.length.TooLarge()
		return false
	}
	for i := range n {
		d.elem.Decode(list.At(i))
	}
	return !stefrt.Faulty(&f.reader.ReadStream)
}

// leaveRecord copies the exemplars that were sent last from the record to f.plain, before the
// record gets other exemplars. The next exemplars are decoded relative to f.plain.
func (f *metricsReaderForm) leaveRecord(list *stefrt.Array[Exemplar]) {
	f.inRecord = false
	if !f.notInPlain {
		return
	}
	f.notInPlain = false
	to, work := &f.plain.exemplars, 0
	to.SetLen(list.Len())
	for i := range list.Len() {
		count, _ := f.restoreExemplar(to.At(i), list.At(i))
		work += count
	}
	stefrt.Worked(&f.reader.ReadStream, work)
}

// copySent replaces restoreExemplars if all exemplars of the point were sent and decoded into
// list. It copies them to copies, unless copies is nil, and returns the same results as
// restoreExemplars.
func (f *metricsReaderForm) copySent(list *stefrt.Array[Exemplar], copies []exemplarCopy) (counted int, ok bool) {
	ok = true
	for i := range list.Len() {
		e := list.At(i)
		count, flat := countExemplar(e)
		if flat && i < len(copies) {
			copies[i].set(e)
		}
		counted += count
		ok = ok && flat
	}
	stefrt.Worked(&f.reader.ReadStream, counted)
	return counted, ok
}

// restoreExemplars sets list, which is part of the record, to the n exemplars of the
// point. An exemplar with a bit in kept is copied from held, the exemplars of the
// series. The other exemplars were sent; they are also copied to copies unless copies
// is nil. restoreExemplars returns the counted size of the exemplars (see countExemplar), and false
// if the series cannot keep an exemplar.
func (f *metricsReaderForm) restoreExemplars(list *stefrt.Array[Exemplar], held, copies []exemplarCopy, n int, kept uint64) (counted int, ok bool) {
	list.BeginEncode() // clears the marks of the list, so that new marks propagate
	list.SetLen(n)
	sent := &f.plain.exemplars
	ok = true
	from, work := 0, 0
	for i := range n {
		if kept>>i&1 != 0 {
			held[i].copyTo(list.At(i))
			counted += int(held[i].counted)
			work += held[i].counts()
			continue
		}
		src := sent.At(from)
		from++
		count, flat := f.restoreExemplar(list.At(i), src)
		if flat && i < len(copies) {
			copies[i].set(src)
		}
		counted += count
		work += count
		ok = ok && flat
	}
	stefrt.Worked(&f.reader.ReadStream, work)
	return counted, ok
}

// restoreExemplar makes e equal to src, and marks only what changes. It returns the results of
// countExemplar for src.
func (f *metricsReaderForm) restoreExemplar(e, src *Exemplar) (counts int, flat bool) {
	if counts, flat = countExemplar(src); flat {
		e.copyFlat(src)
		return counts, true
	}
	e.node.SetModified(0)
	e.value.node.SetModified(0)
	e.filteredAttributes.clean()
	e.CopyFrom(src)
	// Count the memory of nested values: they need few bytes in a stream, or none if they repeat.
	stefrt.Added(&f.reader.ReadStream, src.filteredAttributes.size())
	return counts, false
}

// keeper returns the exemplars of a series if a point with n exemplars changes them,
// otherwise nil. The series of delta points keep no exemplars, because such points have
// only new exemplars.
func (x *seriesIndex) keeper(s *series, n int, kept uint64, code int64, delta bool) *seriesExemplars {
	e := s.exemplars
	if e == nil {
		if n == 0 || delta || s == &x.none {
			return nil
		}
		e = freeExemplars.Get().(*seriesExemplars)
		s.exemplars = e
	}
	if len(e.list) > 0 {
		e.shares = kept != 0
	}
	if code == 0 || n|len(e.list) == 0 {
		return nil
	}
	return e
}

// countNew returns the counted size of the exemplars of a point (see countExemplar). ok is false if
// the series cannot keep an exemplar. Exemplars with a bit in kept equal the exemplars of the
// series.
func (x *seriesExemplars) countNew(p *Point, kept uint64) (counted int, ok bool) {
	for i := range p.exemplars.Len() {
		if kept>>i&1 != 0 {
			counted += int(x.list[i].counted)
			continue
		}
		count, flat := countExemplar(p.exemplars.At(i))
		if !flat {
			return 0, false
		}
		counted += count
	}
	return counted, true
}

// keep stores the exemplars of a point in e, the exemplars of its series. If the series
// cannot keep them, e becomes empty. Exemplars with a bit in kept are already in e.
// counted is the size of the exemplars by countExemplar.
func (x *seriesIndex) keep(e *seriesExemplars, p *Point, kept uint64, counted int, ok bool) {
	n := p.exemplars.Len()
	if !ok || n > maxSharedExemplars || x.exemplars.counted-e.counted+counted > maxExemplarBytes {
		counted, n = 0, 0
	}
	x.exemplars.counted += counted - e.counted
	e.counted = counted
	if n != len(e.list) {
		e.setLen(n)
	}
	for i := range e.list {
		if kept>>i&1 == 0 {
			e.list[i].set(p.exemplars.At(i))
		}
	}
	held := int(unsafe.Sizeof(*e)) + cap(e.list)*int(unsafe.Sizeof(exemplarCopy{})) + counted - n*exemplarBytes
	x.exemplars.held += held - e.held
	e.held = held
}

func (x *seriesExemplars) setLen(n int) {
	if n > cap(x.list) || cap(x.list) > 4+4*n {
		x.list = append(make([]exemplarCopy, 0, n), x.list[:min(n, len(x.list))]...)
	} else if n < len(x.list) {
		clear(x.list[n:])
	}
	x.list = x.list[:n]
}

// countExemplar returns the counted size of an exemplar, by the rule of the specification. It
// returns false if series do not keep the exemplar.
func countExemplar(e *Exemplar) (n int, ok bool) {
	if len(e.spanID)&^8 != 0 || len(e.traceID)&^16 != 0 {
		return 0, false
	}
	n = exemplarBytes
	for _, p := range e.filteredAttributes.pairs {
		n += exemplarPairBytes + len(p.key)
		switch p.value.typ {
		case AnyValueTypeString:
			n += len(p.value.str)
		case AnyValueTypeArray, AnyValueTypeKVList, AnyValueTypeBytes:
			return 0, false
		}
	}
	return n, true
}

// counts returns the counted size (see countExemplar) of the copy without its text, because copies
// of the exemplar share the text.
func (x *exemplarCopy) counts() int { return exemplarBytes + exemplarPairBytes*len(x.pairs) }

// equals reports whether the copy is equal to an exemplar.
func (x *exemplarCopy) equals(e *Exemplar) bool {
	if x.time != e.timestamp || x.typ != e.value.typ || x.num != e.value.num && x.typ != ExemplarValueTypeNone ||
		!bytes.Equal(x.traceID[:x.trace], e.traceID) || !bytes.Equal(x.spanID[:x.span], e.spanID) ||
		len(x.pairs) != len(e.filteredAttributes.pairs) {
		return false
	}
	for i, p := range e.filteredAttributes.pairs {
		if q := &x.pairs[i]; q.key != p.key || !q.holds(&p.value) {
			return false
		}
	}
	return true
}

// set makes the copy equal to an exemplar. It copies texts, because the text of an exemplar
// can be a part of longer text, which would stay in memory.
func (x *exemplarCopy) set(e *Exemplar) {
	x.time, x.num, x.typ = e.timestamp, e.value.num, e.value.typ
	if x.typ == ExemplarValueTypeNone {
		x.num = 0
	}
	if len(e.traceID) == 16 && len(e.spanID) == 8 {
		x.trace, x.span = 16, 8
		x.traceID = [16]byte(e.traceID) // faster than copy, because this conversion needs no call
		x.spanID = [8]byte(e.spanID)
	} else {
		x.trace, x.span = uint8(copy(x.traceID[:], e.traceID)), uint8(copy(x.spanID[:], e.spanID))
	}
	pairs := e.filteredAttributes.pairs
	if x.counted = exemplarBytes; len(pairs)|len(x.pairs) != 0 {
		x.setPairs(pairs)
	}
}

func (x *exemplarCopy) setPairs(pairs []*attributesPair) {
	if n := len(pairs); n > cap(x.pairs) || cap(x.pairs) > 2*n {
		x.pairs = make([]pairCopy, n)
	} else {
		clear(x.pairs[min(n, len(x.pairs)):])
		x.pairs = x.pairs[:n]
	}
	same, size := true, 0
	for i, p := range pairs {
		q := &x.pairs[i]
		text := ""
		if q.typ, q.num = p.value.typ, p.value.num; q.typ == AnyValueTypeString {
			text, q.num = p.value.str, 0
		}
		same = same && q.key == p.key && q.text == text
		size += len(p.key) + len(text)
	}
	if !same {
		x.setTexts(pairs, size)
	}
	x.counted = uint32(exemplarBytes + exemplarPairBytes*len(pairs) + size)
}

// setTexts copies all texts of pairs into one allocation.
func (x *exemplarCopy) setTexts(pairs []*attributesPair, size int) {
	var b strings.Builder
	b.Grow(size)
	for _, p := range pairs {
		b.WriteString(p.key)
		if p.value.typ == AnyValueTypeString {
			b.WriteString(p.value.str)
		}
	}
	rest := b.String()
	for i, p := range pairs {
		q := &x.pairs[i]
		q.key, rest = rest[:len(p.key)], rest[len(p.key):]
		q.text = ""
		if q.typ == AnyValueTypeString {
			n := len(p.value.str)
			q.text, rest = rest[:n], rest[n:]
		}
	}
}

// copyTo makes an exemplar equal to the copy, and marks only what changes.
func (x *exemplarCopy) copyTo(e *Exemplar) {
	e.node.SetModified(0)
	mask := uint64(0)
	if e.timestamp != x.time {
		e.timestamp = x.time
		mask |= ExemplarFieldTimestamp
	}
	changed := stefrt.BoolBits(e.value.typ != x.typ || e.value.num != x.num)
	e.value.typ, e.value.num = x.typ, x.num
	e.value.node.SetModified(changed)
	mask |= changed * ExemplarFieldValue
	if x.trace|x.span != 0 || len(e.traceID)|len(e.spanID) != 0 {
		mask |= x.copyIDsTo(e)
	}
	if len(x.pairs)|len(e.filteredAttributes.pairs) == 0 {
		e.filteredAttributes.node.SetModified(0)
	} else {
		mask |= x.copyPairsTo(&e.filteredAttributes)
	}
	if mask != 0 {
		e.node.Mark(mask)
	}
}

// copyIDsTo sets the ids of an exemplar, and returns the marks of the ids that differ.
func (x *exemplarCopy) copyIDsTo(e *Exemplar) (mask uint64) {
	if len(e.traceID) == 16 && x.trace == 16 {
		if id := (*[16]byte)(e.traceID); *id != x.traceID {
			*id = x.traceID
			mask = ExemplarFieldTraceID
		}
	} else if string(e.traceID) != string(x.traceID[:x.trace]) {
		e.traceID = append(e.traceID[:0], x.traceID[:x.trace]...)
		mask = ExemplarFieldTraceID
	}
	if len(e.spanID) == 8 && x.span == 8 {
		if id := (*[8]byte)(e.spanID); *id != x.spanID {
			*id = x.spanID
			mask |= ExemplarFieldSpanID
		}
	} else if string(e.spanID) != string(x.spanID[:x.span]) {
		e.spanID = append(e.spanID[:0], x.spanID[:x.span]...)
		mask |= ExemplarFieldSpanID
	}
	return mask
}

// copyPairsTo sets the attributes, and returns the mark of the field if they differ.
func (x *exemplarCopy) copyPairsTo(a *Attributes) (mask uint64) {
	marks := a.resizeFlat(len(x.pairs))
	for i := range x.pairs {
		q := &x.pairs[i]
		marks |= a.setFlat(i, q.key, q.text, q.num, q.typ)
	}
	a.node.SetModified(marks)
	return stefrt.If(marks != 0, ExemplarFieldFilteredAttributes)
}
