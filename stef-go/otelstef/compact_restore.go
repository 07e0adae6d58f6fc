// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"math"

	"github.com/otelstef/stef/stef-go/internal/compact"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// restore sets the point of a record from f.point. It returns false if f.point is invalid.
func (f *metricsReaderForm) restore(s *Metrics) bool {
	p, dst := &f.point, &s.point
	mask := dst.node.Modified()
	if dst.startTimestamp != p.Start {
		dst.startTimestamp = p.Start
		mask |= PointFieldStartTimestamp
	}
	if dst.timestamp != p.Time {
		dst.timestamp = p.Time
		mask |= PointFieldTimestamp
	}
	v := &dst.value
	typ := PointValueTypeFloat64
	switch p.Kind {
	case compact.Int:
		typ = PointValueTypeInt64
	case compact.Double:
	default:
		f.mark(s, mask)
		if p.Kind != compact.None {
			// Count the work, because a point that repeats the counts of the last point has no
			// bytes for them in the stream.
			stefrt.Worked(&f.reader.ReadStream, 8*(len(p.Words)+len(p.Floats)))
		}
		return f.restoreOther(v)
	}
	changed := stefrt.BoolBits(v.num != p.Scalar || v.typ != typ)
	v.typ, v.num = typ, p.Scalar
	v.node.SetModified(changed)
	f.mark(s, mask|changed*PointFieldValue)
	return true
}

func (f *metricsReaderForm) mark(s *Metrics, mask uint64) {
	s.point.node.SetModified(mask)
	if mask != 0 {
		s.node.SetModified(s.node.Modified() | MetricsFieldPoint)
	}
}

// restoreOther sets the value of a point that is neither an integer nor a double.
func (f *metricsReaderForm) restoreOther(v *PointValue) bool {
	v.unmark()
	switch f.point.Kind {
	case compact.Histogram:
		return f.restoreHistogram(v.SetHistogram())
	case compact.Exponential:
		return f.restoreExponential(v.SetExpHistogram())
	case compact.Summary:
		return f.restoreSummary(v.SetSummary())
	}
	v.SetType(PointValueTypeNone)
	return true
}

// unmark clears the marks of the last record, so that new marks propagate to the root.
func (v *PointValue) unmark() {
	v.node.SetModified(0)
	switch v.typ {
	case PointValueTypeHistogram:
		h := &v.box.histogram
		h.node.SetModified(0)
		h.bucketCounts.Encoding()
	case PointValueTypeExpHistogram:
		h := &v.box.expHistogram
		h.node.SetModified(0)
		h.positiveBuckets.node.SetModified(0)
		h.positiveBuckets.bucketCounts.Encoding()
		h.negativeBuckets.node.SetModified(0)
		h.negativeBuckets.bucketCounts.Encoding()
	case PointValueTypeSummary:
		s := &v.box.summary
		s.node.SetModified(0)
		for i := range s.quantileValues.BeginEncode() {
			s.quantileValues.At(i).node.SetModified(0)
		}
	}
}

// differ sets a double to bits, and returns 1 if that changes it.
func differ(dst *float64, bits uint64) uint64 {
	was := math.Float64bits(*dst)
	*dst = math.Float64frombits(bits)
	return stefrt.BoolBits(was != bits)
}

func (f *metricsReaderForm) restoreHistogram(h *HistogramValue) bool {
	p := &f.point
	if len(p.Words) < 2 || len(p.Floats) != 2 {
		return false
	}
	present := p.Words[0] & 7
	count := int64(p.Words[1] + h.setCounts(p.Words[2:]))
	// Each bit of present stands for an optional field, in the order of the fields. The marks of these
	// fields have the same order, and follow the mark of Count. So a shift converts the bits to the
	// marks.
	differs := present ^ h.present
	h.present = present
	differs |= present & (differ(&h.sum, p.Scalar) | differ(&h.min, p.Floats[0])<<1 | differ(&h.max, p.Floats[1])<<2)
	if marks := differs*HistogramValueFieldSum | stefrt.If(h.count != count, HistogramValueFieldCount); marks != 0 {
		h.node.Mark(marks)
	}
	h.count = count
	return true
}

// setCounts sets the counts of the buckets, and returns their sum. One loop compares, sets
// and adds them, because most points change some of the counts.
func (h *HistogramValue) setCounts(counts []uint64) (sum uint64) {
	dst := h.bucketCounts.Values()
	if len(dst) != len(counts) {
		h.bucketCounts.SetValues(counts)
		return total(counts)
	}
	differs := uint64(0)
	for i, c := range counts {
		sum += c
		differs |= dst[i] ^ c
		dst[i] = c
	}
	if differs != 0 {
		h.bucketCounts.MarkAll(new(stefrt.Check))
		h.node.Mark(HistogramValueFieldBucketCounts)
	}
	return sum
}

func (f *metricsReaderForm) restoreExponential(h *ExpHistogramValue) bool {
	p := &f.point
	const head = 7
	if len(p.Words) < head || len(p.Floats) != 3 || p.Words[6] > uint64(len(p.Words)-head) {
		return false
	}
	counts := p.Words[head:]
	below, above := counts[:p.Words[6]], counts[p.Words[6]:]
	h.SetCount(p.Words[1] + p.Words[3] + total(counts))
	h.SetOptionalSum(math.Float64frombits(p.Scalar), p.Words[0]&1 != 0)
	h.SetOptionalMin(math.Float64frombits(p.Floats[0]), p.Words[0]&2 != 0)
	h.SetOptionalMax(math.Float64frombits(p.Floats[1]), p.Words[0]&4 != 0)
	h.SetScale(int64(p.Words[2]))
	h.SetZeroCount(p.Words[3])
	h.SetZeroThreshold(math.Float64frombits(p.Floats[2]))
	h.positiveBuckets.SetOffset(int64(p.Words[4]))
	h.negativeBuckets.SetOffset(int64(p.Words[5]))
	h.positiveBuckets.bucketCounts.SetValues(above)
	h.negativeBuckets.bucketCounts.SetValues(below)
	return true
}

func (f *metricsReaderForm) restoreSummary(s *SummaryValue) bool {
	p := &f.point
	if len(p.Words) != 1 || len(p.Floats)%2 != 1 {
		return false
	}
	s.SetCount(p.Words[0])
	s.SetSum(math.Float64frombits(p.Scalar))
	quantiles := p.Floats[1:]
	s.quantileValues.SetLen(len(quantiles) / 2)
	for i := range s.quantileValues.Len() {
		q := s.quantileValues.At(i)
		q.SetQuantile(math.Float64frombits(quantiles[2*i]))
		q.SetValue(math.Float64frombits(quantiles[2*i+1]))
	}
	return true
}
