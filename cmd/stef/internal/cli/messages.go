// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// streamMessage is a stream in a file of format stef-parts.
type streamMessage struct {
	number int   // from 1
	offset int64 // where the length of the message begins in the file
	data   []byte
	root   *stream.Root
	src    io.Reader
}

// eachMessage calls f for each message of a file of format stef-parts.
func (s *opened) eachMessage(f func(m *streamMessage) error) error {
	messages := convert.NewMessages(s.src, s.Packed != "")
	for n := 1; ; n++ {
		data, err := messages.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m := &streamMessage{number: n, offset: messages.Offset(), data: data, root: s.root, src: bytes.NewReader(data)}
		if m.root == nil {
			if m.root, m.src, err = s.o.roots.Recognise(m.src); err != nil {
				return messages.At(err)
			}
		}
		if err := f(m); err != nil {
			return messages.At(err)
		}
	}
}

// inspectMessages prints each message below a line with its number and its offset in the file.
// The offsets within a message count from the start of the message.
func (s *opened) inspectMessages(out io.Writer, show shown) error {
	most := show.frames
	show.frames = 0 // --frames limits the messages here, not the frames within a message
	err := s.eachMessage(func(m *streamMessage) error {
		if most > 0 && uint(m.number) > most {
			return errStopped
		}
		fmt.Fprintf(out, "# message %d at offset %d: 4 bytes of length, %d bytes of %s\n", m.number, m.offset, len(m.data), m.root.Name)
		return inspect(out, m.src, m.root, show)
	})
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// repairMessages copies the messages before the first truncated or damaged message.
func repairMessages(env *Env, in *opened, out *file.Output) error {
	kept, messages, records, checksums := int64(0), 0, uint64(0), true
	damage := in.eachMessage(func(m *streamMessage) error {
		whole, err := stream.Keep(io.Discard, m.src, m.root)
		if err == nil {
			err = whole.Damage
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(m.data)))); err != nil {
			return err
		}
		if _, err := out.Write(m.data); err != nil {
			return err
		}
		checksums = checksums && whole.Checksums
		kept, messages, records = kept+4+int64(len(m.data)), messages+1, records+whole.Records
		return nil
	})
	var failed *file.Error
	if err := in.explainError(damage); errors.As(err, &failed) || errors.Is(damage, dynamic.ErrReaderLimit) || errors.Is(damage, dynamic.ErrZstdDict) {
		return err
	}
	if _, err := io.Copy(io.Discard, in.src); err != nil { // read the rest of the content, so that Content counts its bytes as lost
		if err := in.explainError(err); errors.As(err, &failed) {
			return err
		}
	}
	if err := out.Commit(); err != nil {
		return err
	}
	result := fmt.Sprintf("%s: %s with %s in %s bytes", in.Name, figure.Count(messages, "whole message"), figure.Count(records, "record"), figure.Grouped(kept))
	if damage == nil && !checksums {
		fmt.Fprintln(env.Stderr, result+unchecked)
		return nil
	}
	if damage == nil {
		fmt.Fprintln(env.Stderr, result+"; nothing is lost")
		return nil
	}
	missed := ""
	if !checksums && messages > 0 {
		missed = "; " + noChecksums
	}
	if in.Content() == kept && in.Packed != "" && !in.Each {
		fmt.Fprintln(env.Stderr, result+withoutEnd(in.Input)+missed)
		if in.WholeBlocks() {
			return nil
		}
		return errLost
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", in.Name, message(damage))
	if lost := in.Content() - kept; lost > 0 {
		fmt.Fprintf(env.Stderr, "%s; lost: the %s bytes after them%s\n", result, figure.Grouped(lost), missed)
	} else {
		fmt.Fprintf(env.Stderr, "%s; lost: what cannot be decompressed after them%s\n", result, missed)
	}
	return errLost
}
