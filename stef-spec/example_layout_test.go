// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/stef-go/schema"
)

// The labels of the parts of a stream. The label of a column is its path.
const (
	fixedHeaderLabel = "fixed header"
	frameHeaderLabel = "frame header"
	varHeaderLabel   = "VarHeader"
	contentLabel     = "zstd"
	countLabel       = "record count"
	sizesLenLabel    = "length of the size table"
	sizesLabel       = "size table"
)

// splitter splits a stream into parts by sections 2 to 5 of the specification.
// It is independent: it shares no code with the codec that wrote the stream. It
// does not examine the content of columns.
type splitter struct {
	columns []*schema.Column
	in      []byte
	parts   []shownPart
	frame   int
	// zstd decompresses the contents of the frames since the last restart of the compression.
	zstd     *zstd.Decoder
	contents *bytes.Buffer
}

// split returns the parts of a stream that has the given columns.
func split(stream []byte, columns []*schema.Column) ([]shownPart, error) {
	s := &splitter{columns: columns, in: stream, frame: -1}
	if len(stream) < 7 || string(stream[:4]) != "STEF" || stream[4] != 2 {
		return nil, errors.New("no fixed header")
	}
	compressed := stream[6] == 1
	s.take(7, fixedHeaderLabel, false)
	for len(s.in) > 0 {
		s.frame++
		if err := s.splitFrame(compressed); err != nil {
			return s.parts, fmt.Errorf("frame %d: %w", s.frame, err)
		}
	}
	return s.parts, nil
}

// take moves n bytes of the input into a new part.
func (s *splitter) take(n int, label string, derived bool) *shownPart {
	s.parts = append(s.parts, shownPart{partID: partID{s.frame, label, derived}, hex: s.in[:n]})
	s.in = s.in[n:]
	return &s.parts[len(s.parts)-1]
}

func (s *splitter) splitFrame(compressed bool) error {
	flags := s.in[0]
	size, n := binary.Uvarint(s.in[1:])
	length, m := size, 0
	if compressed {
		length, m = binary.Uvarint(s.in[1+n:])
	}
	s.take(1+n+m, frameHeaderLabel, false)
	if length > uint64(len(s.in)) {
		return errors.New("content is cut off")
	}
	if !compressed {
		rest := s.in[length:]
		s.in = s.in[:length]
		err := s.payload(false)
		s.in = rest
		return err
	}
	content := s.take(int(length), contentLabel, false)
	if s.frame == 0 || flags&2 != 0 {
		if err := s.restart(); err != nil {
			return err
		}
	}
	s.contents.Write(content.hex)
	payload := make([]byte, size)
	for got := 0; got < len(payload); {
		n, err := s.zstd.Read(payload[got:])
		if got += n; err != nil {
			return err
		}
	}
	rest := s.in
	s.in = payload
	err := s.payload(true)
	s.in = rest
	return err
}

func (s *splitter) restart() error {
	s.contents = &bytes.Buffer{}
	// The struct hides the type of contents: the decoder would assume that a bytes.Buffer
	// has the whole input.
	d, err := zstd.NewReader(struct{ io.Reader }{s.contents}, zstd.WithDecoderConcurrency(1))
	s.zstd = d
	return err
}

func (s *splitter) payload(derived bool) error {
	if s.frame == 0 {
		s.take(len(s.in), varHeaderLabel, derived)
		return nil
	}
	_, n := binary.Uvarint(s.in)
	s.take(n, countLabel, derived)
	length, n := binary.Uvarint(s.in)
	s.take(n, sizesLenLabel, derived)
	table := s.take(int(length), sizesLabel, derived)
	at := len(s.parts) - 1
	reader := &bitString{text: bitText(table.hex)}
	var spelled strings.Builder
	if err := s.column(s.columns[0], reader, derived, &spelled); err != nil {
		return err
	}
	fill := reader.text
	if strings.Contains(fill, "1") || len(fill) > 7 {
		return fmt.Errorf("size table: %q is left over", fill)
	}
	s.parts[at].bits = []string{strings.TrimSpace(spelled.String() + " " + fill)}
	// The columns follow the whole table.
	for i := at + 1; i < len(s.parts); i++ {
		size := s.parts[i].hex
		s.parts[i].hex = s.in[:len(size)]
		s.in = s.in[len(size):]
	}
	if len(s.in) > 0 {
		return fmt.Errorf("%d bytes after the last column", len(s.in))
	}
	return nil
}

// column reads the sizes of a column and its sub-columns. For each column that is not empty,
// it adds a part that has the size of the column. The method payload sets its bytes later.
func (s *splitter) column(c *schema.Column, table *bitString, derived bool, spelled *strings.Builder) error {
	size, code, err := table.compact()
	if err != nil {
		return fmt.Errorf("size of %s: %w", c.Path(), err)
	}
	spelled.WriteString(code + " ")
	if size == 0 {
		return nil
	}
	s.parts = append(s.parts, shownPart{partID: partID{s.frame, c.Path(), derived}, hex: make([]byte, size)})
	for _, child := range c.Children {
		if child.Shared != nil {
			continue
		}
		if err := s.column(child, table, derived, spelled); err != nil {
			return err
		}
	}
	return nil
}

// bitString is bits as a text of 0 and 1, in the simplest representation.
type bitString struct{ text string }

func bitText(data []byte) string {
	var b strings.Builder
	for _, c := range data {
		fmt.Fprintf(&b, "%08b", c)
	}
	return b.String()
}

// payloadBits has the number of payload bits for each class of compact integer.
var payloadBits = []int{0, 2, 5, 12, 19, 26, 33, 48}

// compact reads a compact integer and returns its code too.
func (b *bitString) compact() (value uint64, code string, err error) {
	class := strings.Index(b.text, "1")
	if class < 0 || class >= len(payloadBits) || len(b.text) < class+1+payloadBits[class] {
		return 0, "", fmt.Errorf("%q is no compact integer", b.text)
	}
	end := class + 1 + payloadBits[class]
	for _, bit := range b.text[class+1 : end] {
		value = value<<1 | uint64(bit-'0')
	}
	code, b.text = b.text[:end], b.text[end:]
	return value, code, nil
}

// compactText is the inverse of compact.
func compactText(value uint64) string {
	for class, width := range payloadBits {
		if bits.Len64(value) > width {
			continue
		}
		code := strings.Repeat("0", class) + "1"
		if width > 0 {
			code += fmt.Sprintf("%0*b", width, value)
		}
		return code
	}
	return ""
}
