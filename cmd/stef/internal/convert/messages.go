// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/messages"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

// Messages reads the messages of a file of format stef-parts. Each message is a whole STEF
// stream. Its length precedes it in 4 bytes, big-endian.
type Messages struct {
	src      io.Reader
	unpacked bool
	offset   int64 // where the next message begins
	n        int   // number of whole messages so far
	buf      []byte
}

// NewMessages returns a reader of the messages in src. unpacked says that src is the content of a
// compressed file, so that offsets are not those of the file.
func NewMessages(src io.Reader, unpacked bool) *Messages {
	return &Messages{src: src, unpacked: unpacked}
}

// Offset returns the offset of the last message, where its length begins.
func (m *Messages) Offset() int64 { return m.offset - int64(len(m.buf)) - messages.HeadBytes }

// Next returns the next message, valid until the next call, or io.EOF.
func (m *Messages) Next() ([]byte, error) {
	var length [messages.HeadBytes]byte
	if _, err := io.ReadFull(m.src, length[:]); err != nil {
		if err == io.EOF {
			return nil, err
		}
		return nil, m.at("the file ends within the length of a message", err)
	}
	size, err := messages.Length(length)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.place(m.offset, m.n+1), err)
	}
	got := bytes.NewBuffer(m.buf[:0])
	n, err := io.CopyN(got, m.src, size)
	m.buf = got.Bytes()
	if err != nil {
		return nil, m.at(fmt.Sprintf("the file ends after %d of the %d bytes of a message", n, size), err)
	}
	m.offset += messages.HeadBytes + size
	m.n++
	return m.buf, nil
}

// at returns an error about the next message. Messages count from 1, like frames and lines.
func (m *Messages) at(text string, err error) error {
	if each := (*file.EachError)(nil); errors.As(err, &each) {
		// Report the offset in the file: m.offset is an offset in the decompressed content.
		bad := fmt.Errorf("offset %d, message %d, which is compressed separately with zstd: %w: %w", each.Offset, m.n+1, stef.ErrCorrupt, each.Err)
		if errors.Is(each.Err, io.ErrUnexpectedEOF) {
			return &cutError{bad, m.offset}
		}
		return bad
	}
	if err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		bad := fmt.Errorf("%s: %w: %s", m.place(m.offset, m.n+1), stef.ErrCorrupt, text)
		if err != nil {
			return &cutError{bad, m.offset}
		}
		return bad
	}
	return fmt.Errorf("%s: %w", m.place(m.offset, m.n+1), err)
}

// place returns the offset and the number of a message as text, for an error.
func (m *Messages) place(offset int64, n int) string {
	of := ""
	if m.unpacked {
		of = " of the decompressed content"
	}
	return fmt.Sprintf("offset %d%s, message %d", offset, of, n)
}

// At adds the offset and the number of the last message to an error.
func (m *Messages) At(err error) error {
	return fmt.Errorf("%s: %w", m.place(m.Offset(), m.n), err)
}

// cutError is the error of a file that ends within a message.
type cutError struct {
	error
	whole int64 // where the message begins in the content
}

func (e *cutError) Unwrap() error { return e.error }

// Is reports that the file ends too early.
func (e *cutError) Is(target error) bool { return target == io.ErrUnexpectedEOF }

// framed reports whether content begins with a message of format stef-parts. The content may be cut in
// the signature of the stream.
func framed(head []byte) bool {
	n := min(len(head), 8)
	return n > 4 && string(head[4:n]) == "STEF"[:n-4]
}

// messageBatches yields the batches of messages. It finds the root of each message. If
// the options have a root, it skips messages of other roots.
type messageBatches struct {
	m       *Messages
	o       *Options
	dec     decoder      // decoder of the last message, or nil
	root    *stream.Root // root of the last message
	wanted  bool         // whether any message had the root of the options
	skipped map[otlpfile.Signal]uint64
}

func newMessageBatches(in *file.Input, o *Options) *messageBatches {
	return &messageBatches{m: NewMessages(in, in.Packed != ""), o: o, skipped: map[otlpfile.Signal]uint64{}}
}

// count returns how many items of a signal were skipped.
func (b *messageBatches) count(s otlpfile.Signal) uint64 { return b.skipped[s] }

func (b *messageBatches) next() (otlpfile.Batch, error) {
	for {
		if b.dec == nil {
			if err := b.open(); err != nil {
				return otlpfile.Batch{}, err
			}
		}
		batch, err := b.dec.Decode()
		if err == io.EOF {
			b.dec = nil
			continue
		}
		if err = b.m.withPosition(err); b.o.Root == nil || b.root == b.o.Root {
			return batch, err
		}
		if err != nil {
			return otlpfile.Batch{}, err
		}
		b.skipped[batch.Signal] += uint64(batch.Items())
	}
}

// open opens the next message.
func (b *messageBatches) open() error {
	message, err := b.m.Next()
	if err == io.EOF {
		return b.end()
	}
	if err != nil {
		return &messageError{err, b.m.n}
	}
	b.root = b.o.Root
	var in io.Reader = bytes.NewReader(message)
	if b.root == nil {
		if b.root, in, err = stream.Recognise(in); err != nil {
			return b.m.withPosition(err)
		}
	} else if other, all := stream.Roots().Other(in, b.root); other != nil {
		b.root, in = other, all
	} else {
		in, b.wanted = all, true
	}
	if b.dec, err = pdataDecoder(b.root.Signal, in, b.o.readerOptions()); err != nil {
		b.dec = nil
		return b.m.withPosition(err)
	}
	return nil
}

// end returns the error after the last message.
func (b *messageBatches) end() error {
	var names []string
	for _, s := range otlpfile.Signals() {
		if b.skipped[s] > 0 {
			names = append(names, s.String())
		}
	}
	if b.wanted || len(names) == 0 {
		return io.EOF
	}
	return OtherSignal(strings.Join(names, " and "), b.o.Root.Signal, b.o.RootFlag)
}

// withPosition adds the offset and the number of the last message to a read error.
func (m *Messages) withPosition(err error) error {
	var items *skipped
	if err == nil || errors.As(err, &items) {
		return err
	}
	return &messageError{m.At(err), m.n - 1}
}

// messageError is an error of reading a file of format stef-parts.
type messageError struct {
	error
	whole int // number of whole messages before the error
}

func (e *messageError) Unwrap() error { return e.error }
