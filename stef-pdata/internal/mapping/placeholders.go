// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"strings"
	"unsafe"

	"github.com/otelstef/stef/stef-go/codec"
)

// Placeholders counts the placeholders of templates. It caches the counts of large templates,
// because a short stream can refer to large templates in many records, and counting reads the whole
// template. The limits of a batch do not bound this time. If the number of parameters of a record
// differs from the count, the record is dropped: it costs the time to count, but adds nothing to the
// batch, so such records never bring the batch nearer to its limits.
type Placeholders struct {
	counts []placeholders // allocated at the first large template
}

type placeholders struct {
	template string
	n        int
}

const (
	// rememberedTemplate is the size of the smallest template whose count is cached.
	rememberedTemplate = 4 << 10
	placeholderBits    = 8
)

// Count returns the number of placeholders of a template.
func (p *Placeholders) Count(template string) int {
	if len(template) < rememberedTemplate {
		return strings.Count(template, "\x00")
	}
	if p.counts == nil {
		p.counts = make([]placeholders, 1<<placeholderBits)
	}
	c := &p.counts[TextSlot(template, placeholderBits)]
	if !SameText(c.template, template) {
		*c = placeholders{template, strings.Count(template, "\x00")}
	}
	return c.n
}

// Reset forgets all templates.
func (p *Placeholders) Reset() { clear(p.counts) }

// TextSlot returns the slot for text, an entry of a dictionary, in a table of 1<<bits slots. Each
// text in a dictionary has its own address. The multiplication spreads the addresses over the high
// bits.
func TextSlot(text string, bits int) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.StringData(text)))) * codec.GoldenRatio >> (64 - bits)
}

// SameText reports whether two texts are the same memory. Equal texts in different memory count as
// different, which only costs time.
func SameText(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}
