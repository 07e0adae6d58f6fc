// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"strings"

	"github.com/otelstef/stef/stef-go/codec"
)

// texts makes strings from bytes of a message. The strings are copies, because the memory
// of the message belongs to the caller. A recently seen text is reused instead of
// allocated.
type texts [1 << 11]string

// maxText is the length of the longest text to cache.
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
	s := &t[codec.HashPair(head, tail^uint64(n))%uint64(len(t))]
	if *s != string(b) {
		*s = string(b)
	}
	return *s
}

func (t *texts) reset() { clear(t[:]) }

// slab makes strings that are not expected to repeat. Many of these strings share one allocation,
// so a caller that keeps one string also keeps the other strings in memory.
type slab struct{ b strings.Builder }

const (
	slabBytes   = 4 << 10
	maxSlabText = 256
)

func (s *slab) text(b []byte) string {
	if len(b) > maxSlabText {
		return string(b)
	}
	if s.b.Cap()-s.b.Len() < len(b) {
		s.b.Reset()
		s.b.Grow(slabBytes)
	}
	at := s.b.Len()
	s.b.Write(b)
	return s.b.String()[at:]
}
