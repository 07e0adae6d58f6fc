// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal/anysignal"
)

// MaxFrameItems is the maximum of Options.FrameItems. It bounds the memory: the items of
// a frame are in memory until the frame is written.
const MaxFrameItems = 1 << 20

// maxFrameBytes bounds the OTLP bytes of a combined batch, if it has OTLP bytes.
const maxFrameBytes = 64 << 20

// combiner combines consecutive batches of one signal to batches of at most c.most items. It does
// not split larger batches. If c.most is 0, the combiner returns each batch unchanged. It also
// returns batches without items unchanged, because no limit would end a frame of such batches. The
// zero Batch means that there is no batch.
type combiner struct {
	most  int // maximum number of items of a combined batch
	held  otlpfile.Batch
	items int
	size  int // bytes of the held batches that have OTLP bytes
	parts int // number of parts of the input in held
	large int // number of parts with too many items for a combined batch
}

// add adds a batch of n items and returns a batch to write, or the zero Batch. The returned
// batch is valid until the next call.
func (c *combiner) add(b otlpfile.Batch, n int) otlpfile.Batch {
	if c.most == 0 || n == 0 {
		return b
	}
	if n > c.most {
		c.large++
	}
	var full otlpfile.Batch
	if c.items > 0 && (c.items+n > c.most || c.size+len(b.OTLP) > maxFrameBytes) {
		full = c.rest()
	}
	c.items += n
	c.size += len(b.OTLP)
	c.parts++
	if c.held.Signal == otlpfile.SignalUnknown {
		c.held = b
		c.held.OTLP = append([]byte(nil), b.OTLP...) // the reader reuses the memory of b
		return full
	}
	// All fields of the message are repeated, so the concatenation of two messages is a
	// message with the fields of both messages.
	c.held.OTLP = append(c.held.OTLP, b.OTLP...)
	if b.HasPdata() {
		anysignal.Of(b.Signal).MoveTo(b, c.held)
	}
	return full
}

// rest returns the held batch, or the zero Batch.
func (c *combiner) rest() otlpfile.Batch {
	b := c.held
	c.held, c.items, c.size, c.parts = otlpfile.Batch{}, 0, 0, 0
	return b
}

// place names the frame or part that could not be written after part n of the input was read.
func (c *combiner) place(noun string, n int) string {
	if c.most == 0 {
		return fmt.Sprintf("%s %d", noun, n)
	}
	return fmt.Sprintf("the frame that ends with %s %d", noun, n-c.parts)
}
