// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"io"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/build"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// reader is the part of the readers of all signals that decoders use.
type reader interface {
	Next() bool
	Err() error
	BufferedRecords() uint64
	StateBytes() int
	Stats() stef.ReaderStats
}

// decoder holds the state that the decoders of all signals share.
type decoder struct {
	r        reader
	budget   *build.Budget
	maxItems int
	read     uint64 // records read from the stream
	size     int    // size of the last batch; see BatchBytes
	shared   int    // size of the batches that may share memory with the next batch
	rejected RecordErrors
	err      error // the error that ended the stream
	tooLarge bool  // err is about the last record, which the reader counts and no batch contains

	// The resource and scope of the last record, and whether the batch contains them. They are
	// added to the batch with their first item.
	resource    *otelstef.Resource
	scope       *otelstef.Scope
	hasResource bool
	hasScope    bool
	fault       error // why OTLP cannot express the resource, scope or metric; nil if it can
}

func (d *decoder) init(r reader, b *build.Budget, options []DecoderOption) {
	config := applyOptions(decoderConfig{maxItems: DefaultMaxItems, maxBytes: DefaultMaxBytes}, options)
	d.r, d.budget, d.maxItems, b.Max = r, b, config.maxItems, config.maxBytes
}

// decode adds records to the batch up to the end of the frame or a limit. add adds the current
// record; room is the maximum number of items that still fit into the batch, including the item of
// this record. dropLast removes the last added item.
func (d *decoder) decode(add func(room int), dropLast func()) error {
	b := d.budget
	d.resource, d.scope, d.hasResource, d.hasScope = nil, nil, false, false
	d.rejected, b.Spent = nil, 0
	d.read = d.r.Stats().Records // the caller may have skipped records that were delivered before
	for n := 0; n < d.maxItems && (n == 0 || d.r.BufferedRecords() > 0 && !b.Full(n, d.r.StateBytes())); n++ {
		if !d.r.Next() {
			if d.err = d.r.Err(); d.err == nil {
				d.err = io.EOF
			}
			break
		}
		d.read++
		before := b.Spent
		add(b.Room(d.maxItems - n))
		if d.err = b.Check(d.read, before); d.err != nil {
			dropLast()
			d.tooLarge = true
			break
		}
	}
	d.size = b.Spent
	if rejected := d.rejected; len(rejected) > 0 {
		d.rejected = nil // the decoder must not keep the errors in memory for longer than the caller
		return rejected  // the next call returns an error of the stream
	}
	return d.err
}

// reset prepares the decoder for the next stream of its reader. It keeps shared, because the
// next batches may share memory with batches of the previous stream.
func (d *decoder) reset() {
	*d = decoder{r: d.r, budget: d.budget, maxItems: d.maxItems, shared: d.shared}
}

// maxShared limits the total size of the consecutive batches that may share memory. A consumer
// that keeps one of these batches keeps at most about this many bytes of the other batches.
const maxShared = 256 << 10

// detaches reports whether later batches must not share memory with the current batch and the
// batches before it.
func (d *decoder) detaches() bool {
	if d.shared += d.size; d.shared < maxShared {
		return false
	}
	d.shared = 0
	return true
}

// BatchBytes returns an upper estimate of both the OTLP size and the memory of the
// batch that Decode returned last.
func (d *decoder) BatchBytes() int { return d.size }

// Records returns how many records of the stream are in a batch or in RecordErrors. Acknowledge
// this number, not the number in the Stats of the reader: the reader also counts a record that
// ended the stream because it is too large.
func (d *decoder) Records() uint64 {
	n := d.r.Stats().Records
	if d.tooLarge {
		n--
	}
	return n
}

// SetMaxBytes changes the maximum size of the batches that Decode returns from now
// on, as WithMaxBytes sets it.
func (d *decoder) SetMaxBytes(n int) { d.budget.Max = max(n, 1) }

// enter makes resource and scope the current resource and scope. Resources of equal content count
// as the same resource, and scopes of equal content as the same scope.
//
// spec: #otlp-mapping
func (d *decoder) enter(resource *otelstef.Resource, scope *otelstef.Scope) {
	first := d.resource == nil
	if first || resource != d.resource && !resource.Equal(d.resource) {
		d.hasResource, d.hasScope = false, false
	}
	if first || scope != d.scope && !scope.Equal(d.scope) {
		d.hasScope = false
	}
	d.resource, d.scope = resource, scope
	d.fault = mapping.CheckContainers(resource, scope)
}

// reject omits the current record from the batch, and adds its error to those of the batch.
func (d *decoder) reject(err error) {
	n := len(d.rejected)
	if d.rejected = mapping.AddRecord(d.rejected, d.read, err); len(d.rejected) > n {
		d.budget.Spent += mapping.RecordErrorBytes
	}
}
