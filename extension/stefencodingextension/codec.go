// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// codec marshals and unmarshals the messages of one signal. It is safe for use
// by several goroutines at once.
type codec[B any] struct {
	*signal.Descriptor[B]
	config    *Config
	telemetry *telemetry
	writing   []stef.WriterOption
	encoding  []stefpdata.EncoderOption
	reading   []stef.ReaderOption

	writers sync.Pool // of *messageWriter[B], at the start of a message
	readers sync.Pool // of *messageReader[B], closed
}

// messageWriter writes one message after another into its buffer.
type messageWriter[B any] struct {
	*signal.Encoder[B]
	buf bytes.Buffer
}

type messageReader[B any] struct {
	*signal.Decoder[B]
	source bytes.Reader
}

// The maximum sizes of the memory that a pooled writer or reader keeps after a message. Without them, the
// memory of one large message would never be released.
const (
	maxPooledBuffer  = 1 << 20
	maxPooledState   = 1 << 20
	maxPooledRecords = 1 << 14
)

// memoryFactor limits the estimated memory of a message to this multiple of max_decoded_mib. The
// estimate includes invalid records. It is usually 3 to 6 times the size of the items as OTLP,
// but 80 times for empty span events: a few bytes of STEF can repeat such an event very often.
const memoryFactor = 8

var errNoReference = fmt.Errorf("%w: the reference schema has no logs: set schema to full, or use another encoding for logs", stef.ErrSchema)

func newCodec[B any](s *signal.Descriptor[B], c *Config, dicts []*stef.ZstdDict, t *telemetry) (*codec[B], error) {
	level, err := stef.ParseLevel(c.CompressionLevel)
	if err != nil {
		return nil, err
	}
	compression := stef.Zstd
	if c.Compression == stef.None.String() {
		compression = stef.None
	}
	x := &codec[B]{
		Descriptor: s,
		config:     c,
		telemetry:  t,
		writing:    []stef.WriterOption{stef.WithCompression(compression), stef.WithCompressionLevel(level)},
		encoding:   []stefpdata.EncoderOption{c.Mode.Option(s.Name), c.Templates.Option()},
		reading: []stef.ReaderOption{stef.WithLimits(stef.Limits{
			FrameBytes:  c.Limits.MaxFrameMiB * mib,
			RecordBytes: c.Limits.MaxRecordAllocMiB * mib,
			DictBytes:   c.Limits.MaxDictMiB * mib,
		}), stef.WithZstdDicts(dicts...)},
	}
	if c.Dictionary != "" {
		x.writing = append(x.writing, stef.WithZstdDict(dicts[0]))
	}
	switch {
	case c.Schema == SchemaCompact:
		x.writing = append(x.writing, stef.WithSchema(schema.WireOf(s.Compact())))
	case c.Schema == SchemaReference && s.Published != nil:
		x.writing = append(x.writing, s.Published())
	}
	return x, nil
}

// marshal returns a message with the items of batch. It does not change batch. Items
// that exceed a limit of stefpdata are omitted, counted and logged. If no item remains,
// or marshaling fails, marshal counts all items of the batch as rejected. The error is
// permanent: the same batch would fail again.
func (x *codec[B]) marshal(batch B) ([]byte, error) {
	message, err := x.encode(batch)
	if err != nil {
		return nil, x.telemetry.rejected(x.Name, x.Items(batch), err)
	}
	x.telemetry.marshaled(x.Name, len(message))
	return message, nil
}

func (x *codec[B]) encode(batch B) ([]byte, error) {
	if x.config.Schema == SchemaReference && x.Published == nil {
		return nil, errNoReference
	}
	w, err := x.writer()
	if err != nil {
		return nil, fmt.Errorf("marshaling %s: %w", x.Name, err)
	}
	var bad stefpdata.ItemErrors
	if err := w.Encode(batch); err != nil && !errors.As(err, &bad) {
		return nil, fmt.Errorf("marshaling %s: %w", x.Name, err)
	}
	if err := w.Writer.Flush(); err != nil {
		return nil, fmt.Errorf("marshaling %s: %w", x.Name, err)
	}
	if bad != nil {
		if w.Writer.Stats().Records == 0 {
			return nil, fmt.Errorf("marshaling %s: %w", x.Name, bad)
		}
		x.telemetry.dropped(x.Name, bad.Items(), reasonLimit, bad)
	}
	message := bytes.Clone(w.buf.Bytes())
	return message, x.release(w)
}

// writer returns a writer at the start of a message. Earlier messages do not affect its
// bytes.
func (x *codec[B]) writer() (*messageWriter[B], error) {
	if w, ok := x.writers.Get().(*messageWriter[B]); ok {
		return w, nil
	}
	w := new(messageWriter[B])
	var err error
	w.Encoder, err = x.NewEncoder(&w.buf, x.encoding, x.writing...)
	return w, err
}

// release pools a writer, unless its message was large. It resets the writer first, so that a
// pooled writer has neither a zstd encoder nor a frame.
func (x *codec[B]) release(w *messageWriter[B]) error {
	stats := w.Writer.Stats()
	if w.buf.Cap() > maxPooledBuffer || stats.DictBytes > maxPooledState || stats.Records > maxPooledRecords {
		return nil
	}
	w.buf.Reset()
	if err := w.Writer.Reset(&w.buf); err != nil {
		return err
	}
	w.Reset()
	x.writers.Put(w)
	return nil
}

// unmarshal returns the items of a message. Records that are not valid OTLP are
// omitted, counted and logged. If no record remains, unmarshal returns an error. Every
// error is permanent: the same bytes fail again.
func (x *codec[B]) unmarshal(message []byte) (B, error) {
	batch, err := x.decode(message)
	if err != nil {
		return x.New(), x.telemetry.refused(x.Name, x.explain(message, err))
	}
	x.telemetry.unmarshaled(x.Name, len(message))
	return batch, nil
}

func (x *codec[B]) decode(message []byte) (B, error) {
	all, limit := x.New(), x.config.Limits.MaxDecodedMiB*mib
	if len(message) > x.config.Limits.MaxMessageMiB*mib {
		return all, fmt.Errorf("%w: the message has %d bytes, max_message_mib allows %d MiB", stef.ErrLimit, len(message), x.config.Limits.MaxMessageMiB)
	}
	r, err := x.reader(message)
	if err != nil {
		return all, err
	}
	defer x.close(r)
	var bad stefpdata.RecordErrors
	size, estimate := -1, 0 // the estimate is never too low, so size is not measured while the estimate is within the limit
	for n := 0; ; n++ {
		batch, err := r.Decode()
		var some stefpdata.RecordErrors
		switch {
		case err == nil:
		case errors.As(err, &some):
			bad = append(bad, some...)
		case errors.Is(err, io.EOF):
			return x.complete(all, bad)
		default:
			return all, err
		}
		estimate += r.BatchBytes()
		switch {
		case size >= 0:
			size += x.Size(batch)
		case estimate > limit:
			size = x.Size(all) + x.Size(batch)
		}
		if max(size, estimate/memoryFactor) > limit {
			return all, fmt.Errorf("%w: a message of %d bytes decodes to more than max_decoded_mib allows (%d MiB as OTLP, or %d times as much in memory)",
				stef.ErrLimit, len(message), x.config.Limits.MaxDecodedMiB, memoryFactor)
		}
		if n == 0 {
			all = batch
		} else {
			x.MoveTo(batch, all)
		}
	}
}

// complete returns the items of a whole message. It counts and logs the invalid records that
// were omitted; if no item remains, it returns an error instead.
func (x *codec[B]) complete(all B, bad stefpdata.RecordErrors) (B, error) {
	if bad == nil {
		return all, nil
	}
	if x.Items(all) == 0 {
		return all, bad
	}
	x.telemetry.dropped(x.Name, int(bad.Records()), reasonCorrupt, bad)
	return all, nil
}

func (x *codec[B]) reader(message []byte) (*messageReader[B], error) {
	if r, ok := x.readers.Get().(*messageReader[B]); ok {
		r.source.Reset(message)
		if err := r.Reader.Reset(&r.source); err != nil {
			x.close(r)
			return nil, err
		}
		r.Reset()
		return r, nil
	}
	r := new(messageReader[B])
	r.source.Reset(message)
	var err error
	r.Decoder, err = x.NewDecoder(&r.source, nil, x.reading...)
	return r, err
}

// close pools a reader, unless its message was large. A pooled reader references neither the
// message nor a zstd decoder.
func (x *codec[B]) close(r *messageReader[B]) {
	small := r.Reader.StateBytes() <= maxPooledState
	r.source.Reset(nil)
	r.Reader.Close()
	if small {
		x.readers.Put(r)
	}
}
