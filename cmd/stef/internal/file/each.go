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

// eachPacked reports whether head is the beginning of a file whose messages are
// compressed alone with zstd. The length of each message precedes it in 4 bytes. The
// Collector's file exporter writes such files with compression: zstd.
func eachPacked(head []byte) bool {
	return len(head) == 8 && bytes.HasPrefix(head[4:], zstdMagic) && binary.BigEndian.Uint32(head) <= maxEach
}

// eachUnpacker decompresses a file whose messages are compressed alone. Its output is the same as
// a file without compression: a message in JSON is a line, and any other message follows its
// length in 4 bytes.
type eachUnpacker struct {
	r       *bufio.Reader
	zstd    *zstd.Decoder
	name    string
	number  int   // number of the current message, from 1
	offset  int64 // where the length of the message begins in the file
	size    int64 // size of the message and its length in the file
	message []byte
	rest    []byte // bytes to deliver
}

func newEachUnpacker(r *bufio.Reader, name string) (*eachUnpacker, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxEach))
	return &eachUnpacker{r: r, name: name, zstd: z}, err
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
	u.offset += u.size
	if err := u.unpack(); err != nil {
		return &EachError{Name: u.name, Number: u.number, Offset: u.offset, Err: unexpected(err)}
	}
	return nil
}

// EachError is the error of a message that is compressed alone.
type EachError struct {
	Name   string // of the file
	Number int    // of the message, from 1
	Offset int64  // where the length of the message begins in the file
	Err    error
}

// Error suggests a command that cuts the file before the message, because no other program
// can repair such files.
func (e *EachError) Error() string {
	keeps := ""
	if e.Number > 1 {
		messages := "message"
		if e.Number > 2 {
			messages = fmt.Sprintf("%d messages", e.Number-1)
		}
		keeps = fmt.Sprintf(" (head -c %d %s keeps the %s before it)", e.Offset, Quoted(e.Name), messages)
	}
	return fmt.Sprintf("message %d, which is compressed separately with zstd: %v%s", e.Number, e.Err, keeps)
}

// Unwrap returns the cause.
func (e *EachError) Unwrap() error { return e.Err }

func (u *eachUnpacker) unpack() error {
	var length [4]byte
	if _, err := io.ReadFull(u.r, length[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(length[:])
	u.size = int64(len(length)) + int64(size)
	if size > maxEach {
		return fmt.Errorf("the message has %d bytes, at most %d are allowed", size, maxEach)
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
