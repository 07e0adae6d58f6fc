// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"encoding/binary"
	"fmt"
	"io"
)

// partsDecoder reads parts of a big-endian length and a message.
type partsDecoder struct {
	src   *source
	limit int
	part  int
	buf   []byte
}

func (d *partsDecoder) next() (piece, error) {
	d.part++
	p := piece{part: d.part, offset: d.src.offset}
	head, err := d.src.peek(4)
	if err != nil {
		return p, err
	}
	if len(head) == 0 {
		return p, io.EOF
	}
	if len(head) < 4 {
		return p, fmt.Errorf("the file ends after %d of the 4 bytes of a length: %w", len(head), io.ErrUnexpectedEOF)
	}
	size := binary.BigEndian.Uint32(head)
	if uint64(size) > uint64(d.limit) {
		return p, fmt.Errorf("%w: a part of %d bytes, the limit is %d", ErrTooLarge, size, d.limit)
	}
	d.src.skip(4)
	p.offset = d.src.offset
	d.buf, err = d.src.read(d.buf[:0], int(size))
	p.body = d.buf
	if err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("the file ends after %d of the %d bytes of a part: %w", len(d.buf), size, err)
	}
	return p, err
}
