// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/lake"
	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// pdataModes are the modes as values of package stefpdata.
var pdataModes = [...]stefpdata.Mode{Ordered: stefpdata.Ordered, Sorted: stefpdata.Sorted}

// batchEncoder wraps an encoder of package stefpdata or stefotlp.
type batchEncoder struct {
	signal.Writer
	encode func(otlpfile.Batch) error
	losses func() stefpdata.Losses
}

func (e *batchEncoder) Encode(b otlpfile.Batch) error {
	err := skippedItems(e.encode(b))
	if err := e.Flush(); err != nil {
		return err
	}
	return err
}

// emptyLoss is the text for a number of lost resources, scopes and metrics. unknownLoss is the text for
// a number of lost fields.
const (
	emptyLoss   = "%d resource{s}, scope{s} or metric{s} without items"
	unknownLoss = "%d field{s} that this version of OTLP does not know"
)

func (e *batchEncoder) Losses(empty, unknown uint64) []string {
	l := e.losses()
	return nonzero(
		l.EmptyContainers+empty, emptyLoss,
		l.UnknownFields+unknown, unknownLoss,
		l.EntityRefs, "%d entity reference{s}",
		l.Flags, "flags of %d point{s}",
		l.Values, `values of %d point{s} with the flag "no recorded value"`,
		l.Unvalued, `flags of %d point{s} without a value, which now {has} the flag "no recorded value"`,
		l.DroppedEvents, "counts of dropped events of %d span{s}",
		l.DroppedLinks, "counts of dropped links of %d span{s}",
	)
}

// batchDecoder wraps a decoder of package stefpdata or stefotlp.
type batchDecoder struct {
	decode func() (otlpfile.Batch, error)
	stats  func() stef.ReaderStats
}

func (d *batchDecoder) Decode() (otlpfile.Batch, error) {
	b, err := d.decode()
	return b, skippedItems(err)
}

func (d *batchDecoder) Stats() stef.ReaderStats { return d.stats() }

// skippedItems converts errors about single items to type skipped. All other items were converted.
func skippedItems(err error) error {
	var items stefpdata.ItemErrors
	if errors.As(err, &items) {
		return &skipped{uint64(items.Items()), err}
	}
	var records stefpdata.RecordErrors
	if errors.As(err, &records) {
		return &skipped{records.Records(), err}
	}
	var rows *lake.ItemErrors
	if errors.As(err, &rows) {
		return &skipped{rows.Items, err}
	}
	var large *otlpfile.ItemsError
	if errors.As(err, &large) {
		return &skipped{uint64(large.Items), err}
	}
	return err
}
