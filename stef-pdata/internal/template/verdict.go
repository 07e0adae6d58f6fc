// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

// verdict says whether templates make compressed bodies so much smaller that splitting them
// is worth its time. It is reached by samples, which are weighed as texts and as templates.
// Until then bodies are texts, except for those of samples. Each resource and scope has a
// verdict, and so has the stream: it counts for those that have had too few samples.
//
// A change of the verdict makes the next bodies larger, because they cannot refer to
// earlier bodies of the stream. So it needs several samples.
type verdict struct {
	on    bool
	rest  int // size of the texts before the next sample, each at least minText
	span  int // length of the last rest, in samples
	size  int // size of the texts in the sample
	gain  int // bits that templates saved in the sample
	spent int // bits of the texts in the sample
	count int // number of samples since the verdict changed
	share int // average of what templates saved in recent samples, as parts of whole
}

const (
	// sampleBytes is the size of the texts of a sample. A text counts as minText or more, so
	// that samples of short texts have 64.
	sampleBytes = 8 << 10
	minText     = 128
	// While the verdict stays the same, each rest is twice as long as the one before it, up
	// to maxRest samples.
	maxRest = 32
	// minSamples is the number of samples before templates are given up, and fewSamples if
	// they lose clearLoss. The first of them teaches templates, and is not counted. A resource
	// and scope with fewer than fewSamples has the verdict of the stream.
	minSamples = 6
	fewSamples = 3
	// A sample makes up 1/memory of the average, and 1/offMemory while templates are off:
	// then most bodies are not in samples.
	memory    = 4
	offMemory = 2
	whole     = 1 << 10
	// Templates are used if they save minGain, or clearGain in one sample, and given up if
	// they lose maxLoss. In large frames, they save more than was weighed. While they save
	// clearGain, the rest before the next sample is long.
	maxLoss      = whole / 16
	maxLossLarge = whole / 8
	minGain      = whole / 16
	clearGain    = whole / 8
	clearLoss    = whole / 6
)

// samples counts a text and reports whether it belongs to a sample.
func (v *verdict) samples(size int) bool {
	if v.rest > 0 {
		v.rest -= max(size, minText)
		return false
	}
	if v.full() || size > MaxTemplate {
		return false
	}
	v.size += max(size, minText)
	return true
}

// full reports whether the sample is complete.
func (v *verdict) full() bool { return v.size >= sampleBytes }

// judge counts the sizes of a sample, or of a part of it, as texts and as templates. At
// the end of a sample it updates the verdict.
func (v *verdict) judge(text, split int, large bool) {
	v.gain += text - split
	v.spent += text
	if !v.full() {
		return
	}
	share := min(max(whole*v.gain/max(v.spent, 1), -whole), whole)
	v.size, v.gain, v.spent = 0, 0, 0
	v.count++
	switch {
	case v.count <= 2:
		v.share = share
	case v.on:
		v.share += (share - v.share) / memory
	default:
		v.share += (share - v.share) / offMemory
	}
	loss := maxLoss
	if large {
		loss = maxLossLarge
	}
	switch {
	case !v.on && (v.count > 1 && v.share > minGain || share > clearGain):
		*v = verdict{on: true, share: v.share}
	case v.on && (v.count >= minSamples && v.share < -loss || v.count >= fewSamples && v.share < -clearLoss):
		*v = verdict{share: v.share, count: fewSamples}
		v.pause(fewSamples)
	case !v.on && v.count < fewSamples, !v.on && share > minGain, v.on && share < -loss:
		v.pause(0) // the first samples, or the data may have changed
	case v.on && v.count > 1 && v.share > clearGain:
		v.pause(maxRest)
	case !v.on || v.count >= minSamples:
		v.pause(max(2*v.span, 1))
	}
}

// pause lets texts of the size of so many samples pass before the next sample.
func (v *verdict) pause(samples int) {
	v.span = min(samples, maxRest)
	v.rest = v.span * sampleBytes
}
