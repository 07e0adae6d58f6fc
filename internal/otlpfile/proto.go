// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// protoDecoder reads a file that is one message. The message has one repeated
// field, so it can be split between entries without reading it whole.
type protoDecoder struct {
	src   *source
	limit int // maximum size of one entry
	batch int // maximum size of all entries of a piece
	entry int
	// failed is the error after the returned entries. at is where the entry with this error begins.
	failed error
	at     int64
}

func (d *protoDecoder) next(buf []byte) (piece, error) {
	p := piece{part: d.entry + 1, offset: d.src.offset, buf: buf[:0]}
	if d.failed != nil {
		p.offset = d.at
		return p, d.failed
	}
	for {
		d.at = d.src.offset
		head, size, err := d.peek()
		if err == io.EOF {
			break
		}
		if err == nil && size > d.limit {
			err = fmt.Errorf("%w: an entry has %d bytes, at most %d are allowed", ErrTooLarge, size, d.limit)
		}
		whole := len(p.buf)
		if err == nil {
			if whole > 0 && whole+head+size > d.batch {
				break
			}
			p.buf, err = d.src.read(p.buf, head+size)
		}
		if err = d.inside(err); err != nil {
			if p.buf = p.buf[:whole]; whole > 0 { // whole entries before the error
				d.failed = err
				break
			}
			return piece{part: d.entry + 1, offset: d.at, buf: p.buf}, err
		}
		d.entry++
	}
	if len(p.buf) == 0 {
		return p, io.EOF
	}
	p.body = p.buf
	return p, nil
}

// inside adds advice to the error of a file that ends inside the entry at d.at. It returns other
// errors unchanged, for example the error of a compressed file that is cut between two entries.
func (d *protoDecoder) inside(err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) || d.src.offset == d.at && d.src.Buffered() == 0 {
		return err
	}
	rest := ""
	if d.entry > 0 {
		rest = d.src.keepAdvice(d.at, "entries")
	}
	return fmt.Errorf("the file ends inside the entry that begins here%s: %w", rest, err)
}

// peek returns the size of the next entry: of its tag and length, and of its
// value.
func (d *protoDecoder) peek() (head, size int, err error) {
	b, err := d.src.peek(2 * binary.MaxVarintLen64)
	if err != nil {
		return 0, 0, err
	}
	if len(b) == 0 {
		return 0, 0, io.EOF
	}
	tag, n := uvarint(b)
	var w walk
	if n <= 0 {
		return 0, 0, w.varintFault(0, n).err
	}
	size, m, ft := w.extent(b[n:], tag&7, 0)
	if ft != nil {
		return 0, 0, ft.err
	}
	return n + m, size, nil
}

// entriesBefore counts the entries of a batch that end at or before an offset.
func entriesBefore(body []byte, offset int) (entries int) {
	var w walk
	for pos := 0; pos < len(body); entries++ {
		tag, n := uvarint(body[pos:])
		if n <= 0 {
			break
		}
		size, head, ft := w.extent(body[pos+n:], tag&7, 0)
		if pos += n + head + size; ft != nil || pos > offset {
			break
		}
	}
	return entries
}
