// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxEach bounds a message that is compressed alone, before and after decompression.
const maxEach = 256 << 20

// eachPacked reports whether a file that begins with head has messages that are
// compressed alone with zstd, each after its length in 4 bytes, as the Collector's file
// exporter writes them with compression: zstd.
func eachPacked(head []byte) bool {
	return len(head) == 8 && bytes.HasPrefix(head[4:], zstdMagic) && binary.BigEndian.Uint32(head) <= maxEach
}

// eachUnpacker decompresses such a file. JSON messages become lines, and others parts
// that have their length in 4 bytes before them, as in files without compression.
type eachUnpacker struct {
	r       *bufio.Reader
	zstd    *zstd.Decoder
	number  int
	message []byte
	rest    []byte // bytes to deliver
}

func newEachUnpacker(r *bufio.Reader) (*eachUnpacker, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxEach))
	return &eachUnpacker{r: r, zstd: z}, err
}

// Read implements io.Reader.
func (u *eachUnpacker) Read(b []byte) (int, error) {
	for len(u.rest) == 0 {
		if err := u.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

func (u *eachUnpacker) next() error {
	if _, err := u.r.Peek(1); err != nil {
		return err
	}
	u.number++
	if err := u.unpack(); err != nil {
		return fmt.Errorf("message %d, which is compressed alone with zstd: %w", u.number, unexpected(err))
	}
	return nil
}

func (u *eachUnpacker) unpack() error {
	var length [4]byte
	if _, err := io.ReadFull(u.r, length[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > maxEach {
		return fmt.Errorf("%d bytes, at most %d", size, maxEach)
	}
	var packed bytes.Buffer // grows with the bytes that arrive, not with a damaged length
	packed.Grow(min(int(size), 64<<10))
	if _, err := io.CopyN(&packed, u.r, int64(size)); err != nil {
		return err
	}
	const room = len(length)
	var err error
	u.message, err = u.zstd.DecodeAll(packed.Bytes(), append(u.message[:0], length[:]...))
	if err != nil {
		return err
	}
	if bytes.HasPrefix(u.message[room:], []byte("{")) {
		u.message = append(u.message, '\n')
		u.rest = u.message[room:]
		return nil
	}
	binary.BigEndian.PutUint32(u.message, uint32(len(u.message)-room))
	u.rest = u.message
	return nil
}
