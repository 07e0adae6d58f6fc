// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

// verdict says whether templates make the compressed bodies of one resource and scope so much
// smaller that splitting the bodies is worth the time. Samples of bodies decide this: the size of
// a sample as texts is compared with its size as templates. While a verdict is off, only the
// bodies of samples are split.
//
// A change of the verdict makes the next bodies larger, because they cannot refer to earlier
// bodies of the stream. Therefore templates are disabled only after several samples.
type verdict struct {
	known bool // there is a verdict
	on    bool
	rest  int // bytes of text before the next sample; each text counts as at least minText
	span  int // length of the last rest, in samples
	size  int // size of the texts in the sample
	gain  int // bits that templates saved in the sample
	spent int // bits of the texts in the sample
	count int // number of samples since the verdict changed
	saved int // bits that templates saved in recent samples
	total int // bits of the texts in recent samples
}

const (
	// sampleBytes is the size of the texts of a sample. A text counts as at least minText, so a
	// sample of short texts has 64 of them.
	sampleBytes = 8 << 10
	minText     = 128
	// maxRest is the longest pause before the next sample, in samples. While the verdict stays
	// the same, each pause is twice as long as the pause before it.
	maxRest = 32
	// minSamples is the number of samples before templates are disabled. If templates lose more
	// than clearLoss, fewSamples are enough. The sizes of the first sample of a verdict are
	// dropped: its templates are still new to the meter.
	minSamples = 6
	fewSamples = 3
	// Each new sample reduces the earlier values of saved and total by 1/memory. saved and
	// total are sums, not averages of shares, so that samples that compress well have little
	// weight.
	memory = 4
	whole  = 1 << 10
	// The losses and gains are shares of the size of the texts; whole is 100 %. Templates are
	// disabled if they lose more than maxLoss, and enabled if they save more than minGain. If they
	// save more than clearGain, the pause before the next sample is long.
	maxLoss   = whole / 16
	minGain   = 0
	clearGain = whole / 8
	clearLoss = whole / 3
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

func (v *verdict) full() bool { return v.size >= sampleBytes }

// judge counts the sizes of a sample, or of a part of it, as texts and as templates. At
// the end of a sample it updates the verdict.
func (v *verdict) judge(text, split int) {
	v.gain += text - split
	v.spent += text
	if !v.full() {
		return
	}
	sample := v.gain * whole / max(v.spent, 1)
	if v.count++; v.count <= 2 {
		v.saved, v.total = 0, 0
	}
	v.saved += v.gain - v.saved/memory
	v.total += v.spent - v.total/memory
	share := v.saved * whole / max(v.total, 1)
	v.size, v.gain, v.spent = 0, 0, 0
	loses := v.count >= fewSamples && share < -clearLoss || v.count >= minSamples && share < -maxLoss
	switch {
	case !v.on && v.count > 1 && share > minGain:
		*v = verdict{known: true, on: true}
	case (v.on || !v.known) && loses:
		*v = verdict{known: true, count: fewSamples}
		v.pause(fewSamples)
	case !v.on && sample > minGain, v.on && sample < -maxLoss:
		v.pause(0) // the data may have changed
	case v.on && v.count > 1 && share > clearGain:
		v.pause(maxRest)
	case v.on && v.count >= minSamples, !v.on && v.count >= fewSamples:
		v.pause(max(2*v.span, 1))
	}
}

// pause starts a pause before the next sample. The pause ends when the skipped texts have the total
// size of the given number of samples, or of maxRest samples if the number is larger.
func (v *verdict) pause(samples int) {
	v.span = min(samples, maxRest)
	v.rest = v.span * sampleBytes
}
