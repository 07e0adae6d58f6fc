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
var pdataModes = map[Mode]stefpdata.Mode{Ordered: stefpdata.Ordered, Sorted: stefpdata.Sorted}

type metricsEncoder struct {
	w   *otelstef.MetricsWriter
	enc *stefpdata.MetricsEncoder
}

func newMetricsEncoder(out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error) {
	w, err := otelstef.NewMetricsWriter(out, opts...)
	if err != nil {
		return nil, err
	}
	return &metricsEncoder{w, stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(pdataModes[mode]))}, nil
}

func (e *metricsEncoder) Encode(b otlpfile.Batch) error {
	err := skippedItems(e.enc.Encode(b.Metrics))
	if err := e.w.Flush(); err != nil {
		return err
	}
	return err
}

func (e *metricsEncoder) Close() error            { return e.w.Close() }
func (e *metricsEncoder) Stats() stef.WriterStats { return e.w.Stats() }

func (e *metricsEncoder) Losses() []string {
	l := e.enc.Losses()
	return nonzero(
		l.EmptyContainers, "%d resources, scopes and metrics without items",
		l.EntityRefs, "%d entity references",
		l.Flags, "flags of %d points",
		l.Values, "values of %d points that were flagged as not recorded",
		l.Unvalued, "that %d points without a value are not flagged as not recorded",
	)
}

type metricsDecoder struct {
	r   *otelstef.MetricsReader
	dec *stefpdata.MetricsDecoder
}

func newMetricsDecoder(in io.Reader) (decoder, error) {
	r, err := otelstef.NewMetricsReader(in)
	if err != nil {
		return nil, err
	}
	// A batch is a frame, however many points it has.
	return &metricsDecoder{r, stefpdata.NewMetricsDecoder(r, stefpdata.WithMaxItems(math.MaxInt32))}, nil
}

func (d *metricsDecoder) Decode() (otlpfile.Batch, error) {
	md, err := d.dec.Decode()
	return otlpfile.MetricsBatch(md), skippedItems(err)
}

func (d *metricsDecoder) Stats() stef.ReaderStats { return d.r.Stats() }

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
