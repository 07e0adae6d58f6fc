// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// partsDecoder reads a file of format Parts. Each part is a big-endian length and a message.
type partsDecoder struct {
	src   *source
	limit int
	part  int
}

func (d *partsDecoder) next(buf []byte) (piece, error) {
	d.part++
	p := piece{part: d.part, offset: d.src.offset, buf: buf[:0]}
	head, err := d.src.peek(4)
	if err != nil {
		return p, err
	}
	if len(head) == 0 {
		return p, io.EOF
	}
	if len(head) < 4 {
		return p, fmt.Errorf("the file ends after %d of the 4 bytes of a length%s: %w", len(head), d.advice(p.offset), io.ErrUnexpectedEOF)
	}
	size := binary.BigEndian.Uint32(head)
	if uint64(size) > uint64(d.limit) {
		return p, fmt.Errorf("%w: a part has %d bytes, at most %d are allowed", ErrTooLarge, size, d.limit)
	}
	d.src.skip(4)
	begin := p.offset
	p.offset = d.src.offset
	p.buf, err = d.src.read(p.buf, int(size))
	p.body = p.buf
	if errors.Is(err, io.ErrUnexpectedEOF) {
		p.offset = begin // where to cut the file
		err = fmt.Errorf("the file ends after %d of the %d bytes of a part%s: %w", len(p.buf), size, d.advice(begin), err)
	}
	return p, err
}

// advice returns how to recover the parts before a part that begins at an offset.
func (d *partsDecoder) advice(offset int64) string {
	if d.part == 1 {
		return ", and nothing is before it"
	}
	return d.src.keepAdvice(offset, "parts")
}
