// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"fmt"

	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// checker validates a part of a message, and finds the place and reason of damage. Containers,
// points that are not plain number points, events, links and status messages are checked just
// before they are parsed, while they are in the processor cache. Their parsers need not check for
// damage. All other parsers detect damage themselves, and only then run the checker.
type checker struct {
	unknown uint64 // number of fields that this version of OTLP does not have

	reason string // why the last check failed
	at     int    // where the last check failed
	path   []string
}

// extent is a range of a message.
type extent struct{ from, to int }

// Requirements for a field of a known message.
const (
	actUnknown = iota
	actWrong   // a known field with a wire type it cannot have
	actFixed64
	actVarint
	actFixed32
	actBytes   // text, or content that is checked later
	actMessage // a message
	actNested  // a message that adds a level of nesting
	actRuns    // packed fixed64
	actRun     // packed varints
	actIgnored // a varint that is not used
)

// shape is the set of fields that a message may have.
type shape struct {
	acts  [136]uint8 // indexed by tag
	subs  [17]*shape // indexed by field number
	names [17]string
}

// check validates the message in x.
func (c *checker) check(b []byte, x extent, s *shape) error {
	c.path = c.path[:0]
	if c.message(s, b[:x.to], x.from, 0) {
		return nil
	}
	path := ""
	for i := len(c.path) - 1; i >= 0; i-- {
		if path != "" {
			path += "."
		}
		path += c.path[i]
	}
	return mapping.InField(path, &damage{c.at, c.reason})
}

func (c *checker) fail(at int, reason string) bool {
	c.at, c.reason = at, reason
	return false
}

// message checks the message at b[at:]. depth is the number of enclosing arrays and
// maps.
func (c *checker) message(s *shape, b []byte, at, depth int) bool {
	for at < len(b) {
		start := at
		tag := uint64(b[at])
		if at++; tag >= 0x80 {
			if tag, at = longVarint(b, start); at < 0 || tag > maxTag {
				return c.fail(start, "a field has no valid tag")
			}
		}
		act, number := uint8(actUnknown), 0
		if tag < uint64(len(s.acts)) {
			act, number = s.acts[tag], int(tag>>3)
		}
		switch act {
		case actUnknown, actWrong:
			if at = c.skipUnknown(b, at, tag, act); at < 0 && act == actUnknown {
				return c.fail(start, "an unknown field is cut off or has no valid wire type")
			}
		case actFixed64:
			at += 8
		case actFixed32:
			at += 4
		case actVarint:
			_, at = longVarint(b, at)
		case actIgnored:
			_, at = longVarint(b, at)
			c.unknown++
		default:
			var from int
			from, at = bytesAt(b, at)
			if act != actBytes && uint(at) <= uint(len(b)) && !c.content(s.subs[number], act, b[:at], from, depth) {
				c.path = append(c.path, s.names[number])
				return false
			}
		}
		if uint(at) > uint(len(b)) {
			c.path = append(c.path, s.names[number])
			if act == actWrong {
				return c.fail(start, fmt.Sprintf("a field has the wrong wire type %d", tag&7))
			}
			return c.fail(start, "a field goes beyond the end of its message")
		}
	}
	return true
}

// skipUnknown skips an unknown field. It returns -1 if the field is damaged, for field 0, and for a
// known field with a wrong wire type.
func (c *checker) skipUnknown(b []byte, at int, tag uint64, act uint8) int {
	if act == actWrong || tag>>3 == 0 {
		return -1
	}
	c.unknown++
	return skip(b, at, tag)
}

// content checks the content of a field that has a length.
func (c *checker) content(s *shape, act uint8, b []byte, from, depth int) bool {
	switch act {
	case actMessage:
		return c.message(s, b, from, depth)
	case actNested:
		// An item with deeper values is rejected later, so these values are not checked.
		return depth >= MaxDepth || c.message(s, b, from, depth+1)
	case actRuns:
		return (len(b)-from)%8 == 0 || c.fail(from, "packed numbers have a length that is not a multiple of 8")
	}
	return c.varints(b, from)
}

func (c *checker) varints(b []byte, at int) bool {
	for at < len(b) {
		start := at
		if _, at = longVarint(b, at); at < 0 {
			return c.fail(start, "a packed number is cut off or too long")
		}
	}
	return true
}
