// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/otelstef/stef/internal/messages"
	stef "github.com/otelstef/stef/stef-go"
)

const (
	messageHead = messages.HeadBytes
	signature   = "STEF"
)

// layout says whether a file contains one stream or many streams.
type layout uint8

const (
	undecided    layout = iota // the file has too few bytes to decide
	oneStream                  // the file is one stream
	manyMessages               // the file has a stream for each message
)

// layoutOf determines the layout from the first bytes of a file.
func layoutOf(file io.ReaderAt, size int64) (layout, error) {
	var head [messageHead + len(signature)]byte
	n, err := file.ReadAt(head[:min(int64(len(head)), size)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return undecided, err
	}
	first, second := head[:min(n, messageHead)], head[min(n, messageHead):n]
	switch {
	case string(first) == signature[:len(first)] && n < messageHead:
		return undecided, nil
	case string(first) == signature:
		return oneStream, nil
	case string(second) != signature[:len(second)] || n >= messageHead && binary.BigEndian.Uint32(first) > messages.MaxBytes:
		return oneStream, nil // a damaged file is read like one stream
	case n < len(head):
		return undecided, nil
	}
	return manyMessages, nil
}

// beginsAsSTEF reports whether a file begins with the signature of a stream, or with a length and
// the signature of a message. A file that is shorter must be a prefix of one of these beginnings.
func beginsAsSTEF(file io.ReaderAt) bool {
	var head [messageHead + len(signature)]byte
	n, err := file.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	first, second := head[:min(n, len(signature))], head[min(n, messageHead):n]
	return string(first) == signature[:len(first)] || len(second) > 0 && string(second) == signature[:len(second)]
}

// section is the part of a file that contains a stream.
type section struct {
	file       io.ReaderAt
	begin, end int64 // end is -1 for the end of the file
}

// ReadAt implements io.ReaderAt.
func (s section) ReadAt(p []byte, at int64) (int, error) { return s.file.ReadAt(p, s.begin+at) }

// size returns the number of bytes of the stream that are in a file of the given size.
func (s section) size(file int64) int64 {
	if s.end >= 0 {
		file = min(file, s.end)
	}
	return max(file-s.begin, 0)
}

// nextMessage returns the message whose length prefix begins at an offset. It reports false
// if the message is incomplete.
func nextMessage(file io.ReaderAt, offset, size int64) (section, bool, error) {
	var head [messageHead]byte
	if offset+messageHead > size {
		return section{}, false, nil
	}
	if _, err := file.ReadAt(head[:], offset); err != nil {
		return section{}, false, err
	}
	length, err := messages.Length(head)
	if err != nil {
		return section{}, false, fmt.Errorf("offset %d: %w", offset, err)
	}
	s := section{file, offset + messageHead, offset + messageHead + length}
	return s, s.end <= size, nil
}

// begin starts to read the message at the checkpoint of the file. It reports false if the
// message is not complete.
func (t *openFile[T]) begin() (bool, error) {
	s, ok, err := nextMessage(t.File, t.checkpoint.Message, t.size)
	if err != nil || !ok {
		return false, judge(err)
	}
	t.enter(s)
	t.inMessage = true
	return true, nil
}

// endMessage moves on to the next message after the last frame of a message was read.
func (f *follower[T]) endMessage(t *openFile[T]) (bool, error) {
	if t.whole() < t.section.end {
		return false, fmt.Errorf("offset %d: %w: %w: a message ends within a frame", t.whole(), errDamaged, stef.ErrCorrupt)
	}
	p := t.checkpoint
	p.Message, p.Earlier, p.Records = t.section.end, p.Earlier+p.Records, 0
	if p.Message > p.Offset {
		f.meter.read(p.Message - p.Offset)
		p.Offset = p.Message
	}
	t.rewind()
	return true, nil
}
