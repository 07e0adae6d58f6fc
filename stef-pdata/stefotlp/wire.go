// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"
	"math/bits"
)

// The wire types of protobuf.
const (
	wireVarint   = 0
	wireFixed64  = 1
	wireBytes    = 2
	wireGroup    = 3
	wireEndGroup = 4
	wireFixed32  = 5
)

// maxTag is the largest tag: field numbers have 29 bits.
const maxTag = 1<<32 - 1

// varint reads the varint at b[at:] of a message that is already checked. It is too
// large to be inlined, so hot code repeats its first two lines.
func varint(b []byte, at int) (uint64, int) {
	if b[at] < 0x80 {
		return uint64(b[at]), at + 1
	}
	return longVarint(b, at)
}

// longVarint reads the varint at b[at:], of up to ten bytes. Bits beyond 64 are
// dropped. It returns the offset after the varint, or -1 if there is none.
//
//go:noinline
func longVarint(b []byte, at int) (v uint64, next int) {
	for shift := 0; shift < 70; shift += 7 {
		if at >= len(b) {
			return 0, -1
		}
		c := b[at]
		at++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, at
		}
	}
	return 0, -1
}

// firmTag reads the tag at b[at:]. It returns the offset after the tag, or -1 if the tag is not
// valid.
func firmTag(b []byte, at int) (tag uint64, next int) {
	if b[at] < 0x80 {
		tag, next = uint64(b[at]), at+1
	} else {
		tag, next = longVarint(b, at)
	}
	if tag < 1<<3 || tag > maxTag {
		return tag, -1
	}
	return tag, next
}

// bytesAt reads the length at b[at:] and returns where the bytes begin and end, or -1 if
// they are truncated.
func bytesAt(b []byte, at int) (from, to int) {
	if at < len(b) && b[at] < 0x80 && int(b[at]) < len(b)-at {
		return at + 1, at + 1 + int(b[at])
	}
	n, from := longVarint(b, at)
	if from < 0 || n > uint64(len(b)-from) {
		return -1, -1
	}
	return from, from + int(n)
}

// extentAt is like bytesAt, but for a message that is already checked.
func extentAt(b []byte, at int) extent {
	n := uint64(b[at])
	if at++; n >= 0x80 {
		n, at = longVarint(b, at-1)
	}
	return extent{at, at + int(n)}
}

func fixed64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
func fixed32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

// skip returns the offset after the field with the given tag, whose content begins at b[at:].
// It returns -1 if the field is truncated or has no valid wire type.
func skip(b []byte, at int, tag uint64) int {
	switch tag & 7 {
	case wireVarint:
		_, at = longVarint(b, at)
	case wireFixed64:
		at += 8
	case wireBytes:
		_, at = bytesAt(b, at)
	case wireFixed32:
		at += 4
	case wireGroup:
		return skipGroup(b, at, tag)
	default:
		return -1
	}
	if at > len(b) {
		return -1
	}
	return at
}

// maxGroups is the maximum depth of nested groups. OTLP has no groups.
const maxGroups = 100

func skipGroup(b []byte, at int, tag uint64) int {
	var open [maxGroups]uint64
	open[0] = tag >> 3
	for depth := 1; depth > 0; {
		tag, at = longVarint(b, at)
		if at < 0 || tag>>3 == 0 || tag > maxTag {
			return -1
		}
		switch tag & 7 {
		case wireGroup:
			if depth == maxGroups {
				return -1
			}
			open[depth] = tag >> 3
			depth++
		case wireEndGroup:
			depth--
			if open[depth] != tag>>3 {
				return -1
			}
		default:
			if at = skip(b, at, tag); at < 0 {
				return -1
			}
		}
	}
	return at
}

// zigzag32 decodes a sint32.
func zigzag32(v uint64) int32 { return int32(uint32(v>>1)) ^ -int32(v&1) }

// varintLen returns the number of bytes of the varint of v.
func varintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

func appendVarint(dst []byte, v uint64) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func appendFixed64(dst []byte, tag byte, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, tag), v)
}

// appendText appends a field of text or bytes.
func appendText[T string | []byte](dst []byte, tag byte, v T) []byte {
	if n := len(v); n < 0x80 {
		dst = append(dst, tag, byte(n))
	} else {
		dst = appendVarint(append(dst, tag), uint64(n))
	}
	return append(dst, v...)
}

// appendNumber appends a varint field unless it is 0.
func appendNumber(dst []byte, tag byte, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return appendVarint(append(dst, tag), v)
}

// appendTime appends a fixed64 field unless it is 0.
func appendTime(dst []byte, tag byte, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return appendFixed64(dst, tag, v)
}

// appendString appends a field of text unless it is empty.
func appendString(dst []byte, tag byte, v string) []byte {
	if v == "" {
		return dst
	}
	return appendText(dst, tag, v)
}

// A room is a number of bytes that are reserved for the length of a message, because the length
// is known only after the message is written. A length that is shorter than its room is padded,
// which protobuf allows. A length that is longer than its room moves the message.
const (
	roomPart      = 1 // messages in items
	roomItem      = 2
	roomContainer = 4
)

var noRoom [roomContainer]byte

// begin appends a tag and reserves room for a length. It returns where the message
// begins.
func begin(dst []byte, tag byte, room int) (grown []byte, at int) {
	dst = append(append(dst, tag), noRoom[:room]...)
	return dst, len(dst)
}

// end writes the length of the message that begins at dst[at]. The function begin has reserved bytes for
// this length directly before dst[at]; the parameter room is their number. If the length needs more
// bytes, end moves the message.
func end(dst []byte, at, room int) []byte {
	n := len(dst) - at
	need := varintLen(uint64(n))
	if more := need - room; more > 0 {
		dst = append(dst, noRoom[:more]...)
		copy(dst[at+more:], dst[at:len(dst)-more])
		room = need
		at += more
	}
	length := dst[at-room : at]
	for i := range length {
		length[i] = byte(n) | 0x80
		n >>= 7
	}
	length[room-1] &= 0x7f
	return dst
}
