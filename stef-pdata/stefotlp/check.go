// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"bytes"
	"fmt"
)

// checker looks through a whole message before anything is written of it, so
// that a damaged one leaves no half of itself in the stream, and so that what
// parses it afterwards need not look for damage.
type checker struct {
	b       []byte
	unknown uint64 // fields that OTLP did not have when this was written

	// pairs are attributes found good, by their index in an item. Attributes of
	// the next item that have the same bytes are good too.
	pairs []extent
	n     int // attributes of the item so far

	reason string // why the last check failed
	at     int    // and where
	path   []string
}

// extent is a range of a message.
type extent struct{ from, to int }

// What a field of a known message must be.
const (
	actUnknown = iota
	actWrong   // a known field with a wire type it cannot have
	actFixed64
	actVarint
	actFixed32
	actBytes
	actMessage
	actNested // a message that counts as a step down
	actPair   // an attribute of an item
	actRuns   // packed fixed64
	actRun    // packed varints
	actIgnored
)

// shape is what a message may hold.
type shape struct {
	item  bool
	acts  [136]uint8 // by tag
	subs  [17]*shape // by field number
	names [17]string
}

// check looks through a message. The error is a *WireError.
func (c *checker) check(b []byte, s *shape) error {
	if len(b) > maxMessageBytes {
		return &WireError{Err: fmt.Errorf("%w: a message of %d bytes", errTooLong, len(b))}
	}
	c.b, c.pairs, c.path = b, c.pairs[:0], c.path[:0]
	if c.message(s, 0, len(b), 0) {
		return nil
	}
	path := ""
	for i := len(c.path) - 1; i >= 0; i-- {
		if path != "" {
			path += "."
		}
		path += c.path[i]
	}
	return &WireError{Offset: c.at, Field: path, Err: fmt.Errorf("%w: %s", ErrDamaged, c.reason)}
}

func (c *checker) fail(at int, reason string) bool {
	c.at, c.reason = at, reason
	return false
}

// message checks the message at b[at:end], which depth arrays and maps enclose.
func (c *checker) message(s *shape, at, end, depth int) bool {
	b := c.b[:end]
	if s.item {
		c.n = 0
	}
	for at < end {
		start := at
		tag := uint64(b[at])
		if at++; tag >= 0x80 {
			if tag, at = longVarint(b, start); at < 0 || tag > maxTag {
				return c.fail(start, "a field has no tag")
			}
		}
		act := uint8(actUnknown)
		if tag < uint64(len(s.acts)) {
			act = s.acts[tag]
		}
		switch act {
		case actFixed64:
			at += 8
		case actFixed32:
			at += 4
		case actVarint, actIgnored:
			_, at = varint(b, at)
			if act == actIgnored {
				c.unknown++
			}
		case actUnknown, actWrong:
			if act == actWrong {
				c.path = append(c.path, s.names[tag>>3])
			}
			if act == actWrong || tag&7 == wireEndGroup || tag&7 > wireFixed32 {
				return c.fail(start, fmt.Sprintf("a field has wire type %d", tag&7))
			}
			if tag>>3 == 0 {
				return c.fail(start, "a field has the number 0")
			}
			at = skip(b, at, tag)
			c.unknown++
		default:
			var from int
			if from, at = run(b, at); at >= 0 && act != actBytes && !c.content(s, act, int(tag>>3), from, at, depth) {
				c.path = append(c.path, s.names[tag>>3])
				return false
			}
		}
		if uint(at) > uint(end) {
			if tag < uint64(len(s.acts)) && s.names[tag>>3] != "" {
				c.path = append(c.path, s.names[tag>>3])
			}
			return c.fail(start, "a field goes beyond the end of its message")
		}
	}
	return true
}

// content checks what a field with a length has.
func (c *checker) content(s *shape, act uint8, number, from, to, depth int) bool {
	switch act {
	case actMessage:
		return c.message(s.subs[number], from, to, depth)
	case actNested:
		// Deeper than that an item is refused without another look.
		return depth >= MaxDepth || c.message(s.subs[number], from, to, depth+1)
	case actPair:
		return c.pair(s.subs[number], from, to)
	case actRuns:
		return (to-from)%8 == 0 || c.fail(from, "packed numbers have a length that is no multiple of 8")
	case actRun:
		return c.varints(from, to)
	}
	return true
}

// pair checks an attribute of an item.
func (c *checker) pair(s *shape, from, to int) bool {
	i := c.n
	c.n++
	if i < len(c.pairs) {
		if x := c.pairs[i]; to-from == x.to-x.from && bytes.Equal(c.b[from:to], c.b[x.from:x.to]) {
			return true
		}
	}
	unknown := c.unknown
	if !c.message(s, from, to, 0) {
		return false
	}
	switch {
	case i < len(c.pairs):
		c.pairs[i] = extent{from, to}
	case i == len(c.pairs):
		c.pairs = append(c.pairs, extent{from, to})
	}
	if unknown != c.unknown {
		c.pairs = c.pairs[:min(i, len(c.pairs))] // so that they are counted again
	}
	return true
}

func (c *checker) varints(at, end int) bool {
	b := c.b[:end]
	for at < end {
		start := at
		if _, at = varint(b, at); at < 0 {
			return c.fail(start, "a packed number is cut off or too long")
		}
	}
	return true
}
