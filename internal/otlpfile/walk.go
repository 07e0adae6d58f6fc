// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxValueDepth bounds the nesting of arrays and maps in a value. pdata recurses without a limit
// of its own. A Reader accepts the same values in each format, so a file can be converted to each
// other format and back. The other sources of values have no higher limit: stef-pdata has 200
// (MaxDepth), and the tables of module lake have the same limit as here. A Writer does not check
// the depth.
const MaxValueDepth = 1500

type fault struct {
	offset int
	err    error
}

// A walk traverses a message by its descriptor.
type walk struct {
	strict  bool   // unknown fields and control characters in texts are faults
	cut     bool   // the message may end anywhere: it is the head of a longer message
	items   int    // fields of the fourth level: metrics, spans or log records
	unknown uint64 // fields that OTLP does not have
}

// errCut ends the walk of a head that has no fault before its end.
var errCut = errors.New("cut")

// check returns the number of unknown fields in a message of a signal, and the fault in the
// message, or nil if there is none.
func check(s Signal, b []byte) (unknown uint64, ft *fault) {
	w := walk{}
	ft = w.message(b, 0, roots[s], 0, 0)
	return w.unknown, ft
}

// holdsProfiles reports whether a message contains profiles: it has only fields of ProfilesData,
// and a dictionary, which no other message has.
func holdsProfiles(b []byte) bool {
	w := walk{strict: true}
	if w.message(b, 0, profilesDescriptor, 0, 0) != nil {
		return false
	}
	for len(b) > 0 {
		tag, n := uvarint(b)
		if tag>>3 == 2 {
			return true
		}
		size, head, _ := w.extent(b[n:], tag&7, 0)
		b = b[n+head+size:]
	}
	return false
}

// message walks the bytes of one message, which begins at offset base. level is the number of
// enclosing messages. depth is the number of enclosing arrays and maps of a value.
func (w *walk) message(b []byte, base int, s *descriptor, level, depth int) *fault {
	chosen := ""
	scopes, old := 0, uint64(0)
	for pos := 0; pos < len(b); {
		start := base + pos
		tag, n := uvarint(b[pos:])
		if n <= 0 {
			return w.varintFault(start, n)
		}
		pos += n
		number, wire := tag>>3, tag&7
		if number == 0 || number > 1<<29-1 {
			return &fault{start, corrupt("%s has the invalid field number %d", s.name, number)}
		}
		f := s.field(number)
		if f.kind == unknown {
			if w.strict {
				return &fault{start, corrupt("%s has no field %d", s.name, number)}
			}
			w.unknown++
		}
		if f.choice && !w.cut { // a head is only used to guess the signal
			if chosen != "" {
				return &fault{start, secondOf(s.name, f.name, chosen)}
			}
			chosen = f.name
		}
		size, head, ft := w.extent(b[pos:], wire, base+pos)
		if ft != nil {
			return ft
		}
		pos += head
		value := b[pos:min(pos+size, len(b))]
		clipped := len(value) < size
		if clipped && !w.cut {
			return &fault{start, fmt.Errorf("%s.%s has %d bytes, only %d remain: %w", s.name, f.name, size, len(value), io.ErrUnexpectedEOF)}
		}
		switch level {
		case 2:
			if number == 2 {
				w.items++
			}
		case 1:
			if number == 2 {
				scopes++
			}
			if number == oldScopes {
				old++
			}
		}
		if ft := w.value(value, base+pos, size, wire, s, f, level, depth); ft != nil {
			return ft
		}
		if clipped {
			return &fault{start, errCut}
		}
		pos += size
	}
	if scopes > 0 { // pdata reads oldScopes only in a resource without other scopes
		w.unknown += old
	}
	return nil
}

// value checks the bytes of one field. In a cut message, b may be shorter than
// size.
func (w *walk) value(b []byte, base, size int, wire uint64, s *descriptor, f field, level, depth int) *fault {
	bad := func(format string, args ...any) *fault {
		return &fault{base, corrupt("%s.%s %s", s.name, f.name, fmt.Sprintf(format, args...))}
	}
	want := uint64(wireLen)
	switch f.kind {
	case unknown:
		return nil
	case varint:
		want = wireVarint
	case fixed64:
		want = wireFixed64
	case fixed32:
		want = wireFixed32
	case packedFixed64:
		if wire == wireFixed64 {
			want = wire
		} else if size%8 != 0 {
			return bad("has %d bytes, no multiple of 8", size)
		}
	case packedVarint:
		if wire == wireVarint {
			want = wire
		}
	case traceID:
		if size != 0 && size != 16 {
			return bad("has %d bytes, not 16", size)
		}
	case spanID:
		if size != 0 && size != 8 {
			return bad("has %d bytes, not 8", size)
		}
	}
	if wire != want {
		return bad("has wire type %d, not %d", wire, want)
	}
	if f.kind == text && w.strict && bytes.ContainsFunc(b, isControl) {
		return bad("has control characters")
	}
	switch f.kind {
	case nestingMessage:
		if depth++; depth > MaxValueDepth {
			return &fault{base, fmt.Errorf("%w: values are nested more than %d levels deep", ErrTooLarge, MaxValueDepth)}
		}
		return w.message(b, base, f.descriptor, level+1, depth)
	case message:
		return w.message(b, base, f.descriptor, level+1, depth)
	}
	return nil
}

// isControl reports whether a character is rare in texts but common in the bytes of messages.
// A text with such a character is probably a message, so the content has another signal.
func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }

// extent returns the size of a field's value and the size of the length before
// it.
func (w *walk) extent(b []byte, wire uint64, base int) (size, head int, ft *fault) {
	switch wire {
	case wireVarint:
		_, n := uvarint(b)
		if n <= 0 {
			return 0, 0, w.varintFault(base, n)
		}
		return n, 0, nil
	case wireFixed64:
		return 8, 0, nil
	case wireFixed32:
		return 4, 0, nil
	case wireLen:
		size, n := uvarint(b)
		if n <= 0 {
			return 0, 0, w.varintFault(base, n)
		}
		if size > maxLength {
			return 0, 0, &fault{base, corrupt("a length of %d bytes is over the limit of protobuf", size)}
		}
		return int(size), n, nil
	}
	// Wire types 3 and 4 are groups, which were deprecated before OTLP began. Other wire types do
	// not exist.
	return 0, 0, &fault{base, corrupt("unknown wire type %d", wire)}
}

// varintFault returns the fault of a varint that uvarint could not decode.
func (w *walk) varintFault(base, n int) *fault {
	if n < 0 {
		return &fault{base, corrupt("a varint of more than 64 bits")}
	}
	if w.cut {
		return &fault{base, errCut}
	}
	return &fault{base, fmt.Errorf("the message ends inside a varint: %w", io.ErrUnexpectedEOF)}
}

// maxLength prevents int overflow in sums of lengths.
const maxLength = 1<<31 - 1

// uvarint is like binary.Uvarint, but if the tenth byte has more than one bit, it drops
// the upper bits, as protobuf readers do.
func uvarint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 10 {
			return 0, -1
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
