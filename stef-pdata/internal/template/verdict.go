// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

// verdict says whether templates make the compressed bodies of one resource and scope
// so much smaller that splitting them is worth its time. It is reached by samples, which are
// weighed as texts and as templates. If it is off, only the bodies of samples are split.
//
// A change of the verdict makes the next bodies larger, because they cannot refer to
// earlier bodies of the stream. So it needs several samples.
type verdict struct {
	off   bool
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
	// they lose clearLoss. The first of them teaches templates, and is not counted.
	minSamples = 6
	fewSamples = 3
	// A sample makes up 1/memory of the average, and 1/offMemory while templates are off:
	// then most bodies are not in samples.
	memory    = 4
	offMemory = 2
	whole     = 1 << 10
	// Templates are not used any more if they lose maxLoss, and used again if they save
	// minGain. In large frames, they save more than was weighed. If they save clearGain,
	// the pause before the next sample is long.
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
	if v.full() || size > sampleBytes {
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
	case v.off:
		v.share += (share - v.share) / offMemory
	case v.count <= 2:
		v.share = share
	default:
		v.share += (share - v.share) / memory
	}
	loss := maxLoss
	if large {
		loss = maxLossLarge
	}
	switch {
	case v.off && v.share > minGain:
		*v = verdict{share: v.share}
	case !v.off && (v.count >= minSamples && v.share < -loss || v.count >= fewSamples && v.share < -clearLoss):
		*v = verdict{off: true, share: v.share}
		v.pause(fewSamples)
	case v.off && share > minGain, !v.off && share < -loss:
		v.pause(0) // the data may have changed
	case !v.off && v.count > 1 && v.share > clearGain:
		v.pause(maxRest)
	case v.off || v.count >= minSamples:
		v.pause(max(2*v.span, 1))
	}
}

// pause postpones the next sample until texts of the size of so many samples have passed.
func (v *verdict) pause(samples int) {
	v.span = min(samples, maxRest)
	v.rest = v.span * sampleBytes
}
