// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/encoding"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/internal/signal"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// streamDecoder reads one batch after another from a STEF stream of any length.
type streamDecoder[B any] struct {
	codec  *codec[B]
	reader *signal.Decoder[B]
	begin  *beginning
	offset uint64 // number of records before the next batch
	err    error
}

// newStreamDecoder returns a decoder that reads from src. It skips as many records as the Offset
// in options says. A batch ends with a frame, or earlier if it reaches FlushItems items, FlushBytes
// bytes of OTLP, or a limit of the extension. Frames are never joined.
func newStreamDecoder[B any](x *codec[B], src io.Reader, options []encoding.DecoderOption) (*streamDecoder[B], error) {
	o := encoding.NewDecoderOptions(options...)
	if o.Offset < 0 {
		return nil, fmt.Errorf("offset is %d: set it to a number of records, 0 or more", o.Offset)
	}
	items, bytes := stefpdata.DefaultMaxItems, x.config.Limits.MaxDecodedMiB*mib
	if o.FlushItems > 0 {
		items = int(min(o.FlushItems, int64(items)))
	}
	if o.FlushBytes > 0 {
		bytes = int(min(o.FlushBytes, int64(bytes)))
	}
	limits := []stefpdata.DecoderOption{stefpdata.WithMaxItems(items), stefpdata.WithMaxBytes(bytes)}
	begin := &beginning{src: src}
	r, err := x.NewDecoder(bufio.NewReader(begin), limits, x.reading...)
	if err != nil {
		return nil, x.streamError(begin, 0, err)
	}
	for n := int64(0); n < o.Offset; n++ {
		if !r.Reader.Next() {
			r.Reader.Close()
			if err := r.Reader.Err(); err != nil {
				return nil, x.streamError(begin, uint64(n), err)
			}
			return nil, fmt.Errorf("reading a stream of %s: it ends after %d records, before the offset %d", x.Name, n, o.Offset)
		}
	}
	return &streamDecoder[B]{codec: x, reader: r, begin: begin, offset: uint64(o.Offset)}, nil
}

// streamError returns the error of a stream that cannot be read further after offset records. If the
// bytes of the stream are the cause, the stream is refused, and the error is permanent. If the source
// failed, reading again may succeed.
func (x *codec[B]) streamError(b *beginning, offset uint64, err error) error {
	if b.failed != nil && errors.Is(err, b.failed) {
		return fmt.Errorf("reading a stream of %s after record %d: the source failed: %w", x.Name, offset, b.failed)
	}
	return x.telemetry.refused(x.Name, x.explainStream(b.kept, offset, err))
}

// explainStream is like explain, but for a stream whose first bytes are begin.
func (x *codec[B]) explainStream(begin []byte, offset uint64, err error) error {
	if offset == 0 {
		if why := x.mistake(begin, err); why != nil {
			return fmt.Errorf("reading a stream of %s: %w", x.Name, why)
		}
	}
	return fmt.Errorf("reading a stream of %s after record %d: %w", x.Name, offset, advise(err))
}

// beginning keeps the first bytes of a stream. If the stream cannot be decoded, these bytes
// show which format or signal it has.
type beginning struct {
	src    io.Reader
	kept   []byte
	failed error // the error of src; nil if src ended, even inside a frame
}

// maxBeginning is the number of bytes that beginning keeps. It is enough for the headers of
// streams, and for small messages.
const maxBeginning = 4 << 10

func (b *beginning) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if room := maxBeginning - len(b.kept); room > 0 {
		b.kept = append(b.kept, p[:min(n, room)]...)
	}
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) { // if src is truncated, reading it again does not help
		b.failed = err
	}
	return n, err
}

// decode returns the next batch that is not empty, or io.EOF. Any other error ends the
// stream, and is permanent unless the source failed; batches before it are complete.
func (d *streamDecoder[B]) decode() (B, error) {
	for d.err == nil {
		batch, err := d.reader.Decode()
		d.offset = d.reader.Records() // set this even if the stream ends with an error after this batch
		var bad stefpdata.RecordErrors
		switch {
		case errors.As(err, &bad):
			d.codec.telemetry.dropped(d.codec.Name, int(bad.Records()), reasonCorrupt, bad)
		case errors.Is(err, io.EOF):
			d.err = io.EOF
		case err != nil:
			d.err = d.codec.streamError(d.begin, d.offset, err)
		}
		if d.err != nil {
			d.reader.Reader.Close()
		}
		if d.codec.Items(batch) > 0 {
			return batch, nil // these records are valid, and the next call returns the error
		}
	}
	return d.codec.New(), d.err
}

// Offset returns how many records of the stream were decoded.
func (d *streamDecoder[B]) Offset() int64 { return int64(d.offset) }

type metricsStream struct {
	*streamDecoder[pmetric.Metrics]
}

// DecodeMetrics returns the next batch, or io.EOF.
func (s metricsStream) DecodeMetrics() (pmetric.Metrics, error) { return s.decode() }

type logsStream struct{ *streamDecoder[plog.Logs] }

// DecodeLogs returns the next batch, or io.EOF.
func (s logsStream) DecodeLogs() (plog.Logs, error) { return s.decode() }

// NewMetricsDecoder returns a decoder of a STEF stream of metrics. Its offsets
// count records.
func (e *stefEncoding) NewMetricsDecoder(src io.Reader, options ...encoding.DecoderOption) (encoding.MetricsDecoder, error) {
	d, err := newStreamDecoder(e.metrics, src, options)
	if err != nil {
		return nil, err
	}
	return metricsStream{d}, nil
}

// NewLogsDecoder returns a decoder of a STEF stream of logs. Its offsets count
// records.
func (e *stefEncoding) NewLogsDecoder(src io.Reader, options ...encoding.DecoderOption) (encoding.LogsDecoder, error) {
	d, err := newStreamDecoder(e.logs, src, options)
	if err != nil {
		return nil, err
	}
	return logsStream{d}, nil
}
