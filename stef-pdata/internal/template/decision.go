// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

// decision says whether templates make the compressed bodies of one resource and scope so much
// smaller that splitting the bodies is worth the time. It depends on samples of bodies: the size of
// a sample as texts is compared with its size as templates. While templates are disabled, only the
// bodies of samples are split.
//
// A change of the decision makes the next bodies larger, because they cannot refer to earlier
// bodies of the stream. Therefore templates are disabled only after several samples.
type decision struct {
	known        bool // there is a decision
	enabled      bool
	skipBytes    int // bytes of text before the next sample; each text counts as at least minText
	pauseSamples int // length of the last pause, in samples
	size         int // size of the texts in the sample
	gain         int // bits that templates saved in the sample
	spent        int // bits of the texts in the sample
	count        int // number of samples since the decision changed
	saved        int // bits that templates saved in recent samples
	total        int // bits of the texts in recent samples
}

const (
	// sampleBytes is the size of the texts of a sample. A text counts as at least minText, so a
	// sample has at most 64 texts.
	sampleBytes = 8 << 10
	minText     = 128
	// maxPauseSamples is the longest pause before the next sample, in samples. While the decision stays
	// the same, each pause is twice as long as the pause before it.
	maxPauseSamples = 32
	// minSamples is the number of samples before templates are disabled. If templates lose more
	// than clearLoss, fewSamples are enough. The sizes of the first sample after a change of the
	// decision are dropped: the meter does not know the templates of this sample yet.
	minSamples = 6
	fewSamples = 3
	// Each new sample reduces the earlier values of saved and total by 1/decay. saved and
	// total are sums, not averages of shares, so that samples that compress well have little
	// weight.
	decay     = 4
	fullShare = 1 << 10
	// The losses and gains are shares of the size of the texts; fullShare is 100 %. Templates are
	// disabled if they lose more than maxLoss, and enabled if they save more than minGain. If they
	// save more than clearGain, the pause before the next sample is long.
	maxLoss   = fullShare / 16
	minGain   = 0
	clearGain = fullShare / 8
	clearLoss = fullShare / 3
)

// inSample reports whether a text belongs to a sample, and counts its size.
func (v *decision) inSample(size int) bool {
	if v.skipBytes > 0 {
		v.skipBytes -= max(size, minText)
		return false
	}
	if v.full() || size > sampleBytes {
		return false
	}
	v.size += max(size, minText)
	return true
}

func (v *decision) full() bool { return v.size >= sampleBytes }

// update adds the sizes of some bodies of the sample: text is their size as texts, split their size
// as templates. When the sample is complete, update also updates the decision.
func (v *decision) update(text, split int) {
	v.gain += text - split
	v.spent += text
	if !v.full() {
		return
	}
	sample := v.gain * fullShare / max(v.spent, 1)
	if v.count++; v.count <= 2 {
		v.saved, v.total = 0, 0
	}
	v.saved += v.gain - v.saved/decay
	v.total += v.spent - v.total/decay
	share := v.saved * fullShare / max(v.total, 1)
	v.size, v.gain, v.spent = 0, 0, 0
	loses := v.count >= fewSamples && share < -clearLoss || v.count >= minSamples && share < -maxLoss
	switch {
	case !v.enabled && v.count > 1 && share > minGain:
		*v = decision{known: true, enabled: true}
	case (v.enabled || !v.known) && loses:
		*v = decision{known: true, count: fewSamples}
		v.pause(fewSamples)
	case !v.enabled && sample > minGain, v.enabled && sample < -maxLoss:
		v.pause(0) // the data may have changed
	case v.enabled && v.count > 1 && share > clearGain:
		v.pause(maxPauseSamples)
	case v.enabled && v.count >= minSamples, !v.enabled && v.count >= fewSamples:
		v.pause(max(2*v.pauseSamples, 1))
	}
}

// pause starts a pause before the next sample. The pause ends when the skipped texts have the total
// size of the given number of samples, or of maxPauseSamples samples if the number is larger.
func (v *decision) pause(samples int) {
	v.pauseSamples = min(samples, maxPauseSamples)
	v.skipBytes = v.pauseSamples * sampleBytes
}
