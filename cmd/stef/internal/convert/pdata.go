// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"io"
	"math"

	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// pdataModes are the modes as package stefpdata calls them.
var pdataModes = [...]stefpdata.Mode{Ordered: stefpdata.Ordered, Sorted: stefpdata.Sorted}

// streamWriter is what the writers of all signals have in common.
type streamWriter interface {
	Flush() error
	Close() error
	Stats() stef.WriterStats
}

// batchEncoder makes an encoder of those of package stefpdata.
type batchEncoder struct {
	streamWriter
	encode func(otlpfile.Batch) error
	losses func() stefpdata.Losses
}

func newMetricsEncoder(out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error) {
	w, err := otelstef.NewMetricsWriter(out, opts...)
	if err != nil {
		return nil, err
	}
	enc := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(pdataModes[mode]))
	return &batchEncoder{w, func(b otlpfile.Batch) error { return enc.Encode(b.Metrics) }, enc.Losses}, nil
}

func newTracesEncoder(out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error) {
	w, err := otelstef.NewSpansWriter(out, opts...)
	if err != nil {
		return nil, err
	}
	enc := stefpdata.NewTracesEncoder(w, stefpdata.WithMode(pdataModes[mode]))
	return &batchEncoder{w, func(b otlpfile.Batch) error { return enc.Encode(b.Traces) }, enc.Losses}, nil
}

func newLogsEncoder(out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error) {
	w, err := otelstef.NewLogsWriter(out, opts...)
	if err != nil {
		return nil, err
	}
	enc := stefpdata.NewLogsEncoder(w, stefpdata.WithMode(pdataModes[mode]))
	return &batchEncoder{w, func(b otlpfile.Batch) error { return enc.Encode(b.Logs) }, enc.Losses}, nil
}

func (e *batchEncoder) Encode(b otlpfile.Batch) error {
	err := skippedItems(e.encode(b))
	if err := e.Flush(); err != nil {
		return err
	}
	return err
}

func (e *batchEncoder) Losses() []string {
	l := e.losses()
	return nonzero(
		l.EmptyContainers, "%d resources, scopes or metrics without items",
		l.EntityRefs, "%d entity references",
		l.Flags, "flags of %d points",
		l.Values, "values of %d points that were flagged as not recorded",
		l.Unvalued, "that %d points without a value are not flagged as not recorded",
		l.DroppedEvents, "counts of dropped events of %d spans",
		l.DroppedLinks, "counts of dropped links of %d spans",
	)
}

// batchDecoder makes a decoder of those of package stefpdata.
type batchDecoder struct {
	decode func() (otlpfile.Batch, error)
	stats  func() stef.ReaderStats
}

// wholeFrames makes a batch of a frame, however many items it has.
var wholeFrames = stefpdata.WithMaxItems(math.MaxInt32)

func newMetricsDecoder(in io.Reader) (decoder, error) {
	r, err := otelstef.NewMetricsReader(in)
	if err != nil {
		return nil, err
	}
	dec := stefpdata.NewMetricsDecoder(r, wholeFrames)
	return &batchDecoder{func() (otlpfile.Batch, error) {
		md, err := dec.Decode()
		return otlpfile.MetricsBatch(md), err
	}, r.Stats}, nil
}

func newTracesDecoder(in io.Reader) (decoder, error) {
	r, err := otelstef.NewSpansReader(in)
	if err != nil {
		return nil, err
	}
	dec := stefpdata.NewTracesDecoder(r, wholeFrames)
	return &batchDecoder{func() (otlpfile.Batch, error) {
		td, err := dec.Decode()
		return otlpfile.TracesBatch(td), err
	}, r.Stats}, nil
}

func newLogsDecoder(in io.Reader) (decoder, error) {
	r, err := otelstef.NewLogsReader(in)
	if err != nil {
		return nil, err
	}
	dec := stefpdata.NewLogsDecoder(r, wholeFrames)
	return &batchDecoder{func() (otlpfile.Batch, error) {
		ld, err := dec.Decode()
		return otlpfile.LogsBatch(ld), err
	}, r.Stats}, nil
}

func (d *batchDecoder) Decode() (otlpfile.Batch, error) {
	b, err := d.decode()
	return b, skippedItems(err)
}

func (d *batchDecoder) Stats() stef.ReaderStats { return d.stats() }

// skippedItems tells errors of single items from others.
func skippedItems(err error) error {
	var items stefpdata.ItemErrors
	if errors.As(err, &items) {
		return &skipped{uint64(items.Items()), err}
	}
	var records stefpdata.RecordErrors
	if errors.As(err, &records) {
		return &skipped{records.Records(), err}
	}
	return err
}
