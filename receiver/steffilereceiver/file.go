// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// openFile is a file that is being read.
type openFile[T any] struct {
	*os.File
	checkpoint *checkpoint
	layout     layout
	section    section // the stream being read
	inMessage  bool    // the field section is a message
	frames     rotate.Frames
	size       int64 // size of the file at the last pass
	// modified is the modification time of the file when size was first seen.
	modified time.Time
	source   window
	dec      *signal.Decoder[T] // nil before the headers
	digest   digest             // digest of the bytes that were read
	rereads  int
	idle     int    // the number of frames when the decoder ended; -1: it did not end
	lastPass uint64 // number of the last pass that read the file
}

// window is the part of a file that contains whole frames. At the end of the window, Read uses
// the function more to find the next whole frame.
type window struct {
	file    io.ReaderAt
	at, end int64
	more    func() bool
}

// Read implements io.Reader.
func (w *window) Read(p []byte) (int, error) {
	if w.at >= w.end && !w.more() {
		return 0, io.EOF
	}
	n, err := w.file.ReadAt(p[:min(int64(len(p)), w.end-w.at)], w.at)
	w.at += int64(n)
	if n > 0 {
		return n, nil
	}
	return n, err
}

func newOpenFile[T any](file *os.File, place *checkpoint) *openFile[T] {
	t := &openFile[T]{File: file, checkpoint: place}
	t.rewind()
	return t
}

// rewind begins to read a stream again: the whole file or, in a file of messages, the
// message at t.checkpoint.
func (t *openFile[T]) rewind() {
	t.release()
	t.inMessage, t.idle = false, -1
	if t.layout == manyMessages {
		t.enter(section{t.File, t.checkpoint.Message, t.checkpoint.Message})
	} else {
		t.enter(section{t.File, 0, -1})
	}
}

// enter begins to read a stream.
func (t *openFile[T]) enter(s section) {
	t.section, t.frames = s, rotate.Frames{}
	t.source = window{file: s, more: func() bool {
		ok, err := t.frames.Next(s, s.size(t.size))
		t.source.end = t.frames.End()
		return ok && err == nil
	}}
}

// whole returns the offset in the file after the last whole frame.
func (t *openFile[T]) whole() int64 { return t.section.begin + t.frames.End() }

// mayBeOverwritten reports whether bytes that were read may have been overwritten, though the file did
// not shrink. Either bytes that look like an incomplete frame follow the last whole frame, or the
// file was modified and kept its size.
func (t *openFile[T]) mayBeOverwritten() bool {
	info, err := t.Stat()
	return err == nil && (t.size > t.whole() || !info.ModTime().Equal(t.modified))
}

// read returns the checkpoint with checksums of the bytes up to the last whole frame.
func (t *openFile[T]) read() (checkpoint, error) {
	p := *t.checkpoint
	err := errors.Join(p.identify(t.File, t.whole()), p.setDigest(t.File, &t.digest, t.whole()))
	return p, err
}

// hasFewerRecords reports whether the file has fewer records than the receiver has delivered from it. Call it
// when the file was read to its end.
func (t *openFile[T]) hasFewerRecords() bool {
	if t.checkpoint.Records == 0 {
		return false
	}
	if t.dec == nil { // the file ends in its headers, or with frames without records
		return t.frames.Count() < 0
	}
	return t.dec.Reader.Stats().Records < t.checkpoint.Records
}

// release frees the memory of the decoder.
func (t *openFile[T]) release() {
	if t.dec != nil {
		t.dec.Reader.Close()
		t.dec = nil
	}
}

func (t *openFile[T]) close() error {
	t.release()
	return t.File.Close()
}

// errDamaged means that a file cannot be read further.
var errDamaged = errors.New("damaged")

// errTruncated means that a file is shorter than the part that was already read, or that this part
// was overwritten.
var errTruncated = errors.New("the file was truncated or overwritten")

// drain delivers the whole frames of a file. It returns nil after the last whole frame.
// Otherwise it returns errStopped, errTruncated, an error that wraps errDamaged or errNoDict,
// or an error of the file system.
func (f *follower[T]) drain(t *openFile[T]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.meter.failed("panic")
			f.log.Error("Panic while a file was decoded", zap.String("file", t.Name()), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = fmt.Errorf("%w: panic: %v", errDamaged, p)
		}
	}()
	for {
		info, err := t.Stat()
		if err != nil {
			return err
		}
		if t.size > 0 && info.Size() > t.size {
			t.checkpoint.grewAt = time.Now()
		}
		if info.Size() != t.size {
			t.modified = info.ModTime()
		}
		if t.size = info.Size(); t.size < t.whole() {
			return errTruncated
		}
		if more, err := f.step(t); err != nil || !more {
			return err
		}
	}
}

// shrank reports whether the file was truncated after its size was read.
func (t *openFile[T]) shrank() bool {
	info, err := t.Stat()
	return err == nil && info.Size() < t.size
}

// step does the next one of these steps: find the next message, find the next whole frame, read
// the headers, or deliver the records of a frame. It returns false if the file must grow before the
// next step.
func (f *follower[T]) step(t *openFile[T]) (bool, error) {
	if t.layout == undecided {
		var err error
		if t.layout, err = layoutOf(t.File, t.size); err != nil || t.layout == undecided {
			return false, err
		}
		t.rewind()
	}
	switch {
	case f.stopping():
		return false, errStopped
	case t.layout == manyMessages && !t.inMessage:
		return t.begin()
	case t.dec != nil && t.dec.Reader.Stats().Frames < t.frames.Count():
		return f.frame(t)
	case t.dec == nil && t.frames.Count() > t.idle:
		dec, err := f.sig.NewDecoder(&t.source, f.decoderOptions, f.readerOptions...)
		if err != nil {
			return false, judge(err)
		}
		t.dec = dec
		return true, nil
	}
	ok, err := t.frames.Next(t.section, t.section.size(t.size))
	t.source.end = t.frames.End()
	if !ok && err == nil && t.inMessage {
		return f.endMessage(t)
	}
	return ok && err == nil, judge(err)
}

// errNoDict means that a dictionary of the file is not in read_dictionaries. The file stays
// in the folder until a receiver has the dictionary.
var errNoDict = errors.New("set read_dictionaries to a list with the dictionary file of the sender")

// judge adds errDamaged to errors that mean damage, and errNoDict to errors about a missing
// dictionary. It does not change other errors, such as errors of the file system.
func judge(err error) error {
	if errors.Is(err, stef.ErrZstdDict) {
		return fmt.Errorf("%w: %w", stef.ErrZstdDict, errNoDict)
	}
	for _, kind := range []error{stef.ErrCorrupt, stef.ErrLimit, stef.ErrSchema, stef.ErrVersion} {
		if errors.Is(err, kind) {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return err
}

// frame delivers the records of a frame, except those that were delivered earlier.
func (f *follower[T]) frame(t *openFile[T]) (bool, error) {
	// Compute the checksums now: the file may be overwritten while the pipeline refuses the batch. Then
	// the checksums must not describe the new content.
	read, readErr := t.read()
	for first := true; first || t.dec.Reader.BufferedRecords() > 0; first = false {
		if f.stopping() {
			return false, errStopped
		}
		if t.dec.Reader.Stats().Records < t.checkpoint.Records {
			// Skip the records that were delivered earlier. The decoder does not need them: it has
			// no state that depends on earlier records.
			if !t.dec.Reader.Next() {
				return f.ended(t)
			}
			continue
		}
		batch, err := t.dec.Decode()
		var bad stefpdata.RecordErrors
		if errors.As(err, &bad) {
			f.meter.rejected(int(bad.Records()), "conversion")
			f.log.Warn("OTLP cannot represent records of a file", zap.String("file", t.Name()), zap.Error(bad))
			err = nil
			if t.dec.Reader.Err() != nil || t.dec.Records() < t.dec.Reader.Stats().Records {
				_, err = t.dec.Decode() // the error that ended the stream after these records
			}
		}
		if e := f.deliver(batch); e != nil {
			return false, e
		}
		if t.whole() > read.Read && readErr == nil { // the decoder also read frames without records
			read, readErr = t.read()
		}
		f.advance(t, read, readErr)
		if err == io.EOF {
			return f.ended(t)
		}
		if err != nil {
			return false, judge(err)
		}
	}
	return true, nil
}

// ended handles a decoder that reached the end of the window while it skipped frames without
// records. Such a decoder cannot continue, so ended begins to read the file again: when the file
// has more data, only the records that were not delivered before are delivered.
func (f *follower[T]) ended(t *openFile[T]) (bool, error) {
	if err := t.dec.Reader.Err(); err != nil {
		return false, judge(err)
	}
	if t.inMessage {
		return f.endMessage(t)
	}
	if t.rereads++; t.rereads > maxRereads {
		return false, fmt.Errorf("%w: the file has too many frames without records at its end: it was read again %d times because of them", errDamaged, maxRereads)
	}
	t.rewind()
	for ok := true; ok; { // move the window to the position where the decoder ended
		ok = t.source.more()
	}
	t.idle = t.frames.Count()
	return false, nil
}

// maxRereads bounds how often a file is read again because of frames without records.
// The writers of this repository do not write such frames.
const maxRereads = 100
