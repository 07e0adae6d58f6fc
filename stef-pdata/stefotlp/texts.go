// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import "math/bits"

// texts makes strings of bytes of a message, whose memory is not ours. Records
// and dictionaries keep the strings they are given, so a text that was seen
// lately is given out again instead of being allocated.
type texts [1 << 11]string

// maxText is how long texts are kept at most.
const maxText = 128

func (t *texts) text(b []byte) string {
	n := len(b)
	if n == 0 {
		return ""
	}
	if n > maxText {
		return string(b)
	}
	var head, tail uint64
	if n >= 8 {
		head, tail = fixed64(b, 0), fixed64(b, n-8)
	} else {
		for _, c := range b {
			head = head<<8 | uint64(c)
		}
	}
	hi, lo := bits.Mul64(head^0x9e3779b97f4a7c15, tail^uint64(n)^0xc2b2ae3d27d4eb4f)
	s := &t[(hi^lo)%uint64(len(t))]
	if *s != string(b) {
		*s = string(b)
	}
	return *s
}

func (t *texts) forget() { clear(t[:]) }
