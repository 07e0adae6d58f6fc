// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"io"
	"slices"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// What AppendOTLP appends at most, unless told otherwise.
const (
	// DefaultMaxItems is the number of items.
	DefaultMaxItems = 1 << 17
	// DefaultMaxBytes is the number of bytes.
	DefaultMaxBytes = 256 << 20
)

type decoderConfig struct {
	maxItems, maxBytes int
}

// DecoderOption changes how a decoder works.
type DecoderOption func(*decoderConfig)

// WithMaxItems sets how many items AppendOTLP appends at most. Default
// DefaultMaxItems. A number below 1 is taken as 1.
func WithMaxItems(n int) DecoderOption {
	return func(c *decoderConfig) { c.maxItems = max(n, 1) }
}

// WithMaxBytes sets how many bytes AppendOTLP appends before it stops: at least
// one item, and the item that reaches the number is still appended. Default
// DefaultMaxBytes; a short stream can repeat a large value very often.
func WithMaxBytes(n int) DecoderOption {
	return func(c *decoderConfig) { c.maxBytes = n }
}

// reader is what decoders need of the readers of all signals.
type reader interface {
	Next() bool
	Err() error
	Buffered() uint64
}

// decoder is what the decoders of all signals have in common.
type decoder struct {
	r reader
	decoderConfig
	kept features.Set
	backward

	out      []byte
	read     uint64 // records read of the stream
	rejected RecordErrors
	err      error // that ended the stream

	// attributes are those of the record before, as fields of a tag; 0 is none.
	attributes    []byte
	attributesTag byte

	resource   *otelstef.Resource // of the record before
	scope      *otelstef.Scope
	resourceAt int // where the message of the ResourceX begins, 0 if there is none
	scopeAt    int
	fault      error // why no item can be appended to the containers
}

func newDecoder(r reader, k features.Set, options []DecoderOption) decoder {
	config := decoderConfig{maxItems: DefaultMaxItems, maxBytes: DefaultMaxBytes}
	for _, option := range options {
		option(&config)
	}
	return decoder{r: r, decoderConfig: config, kept: k}
}

// decode appends what is complete. Record is called for every record, and finish
// to end the containers.
func (d *decoder) decode(dst []byte, record, finish func()) ([]byte, error) {
	if d.err != nil {
		return dst, d.err
	}
	d.out, d.rejected = dst, nil
	d.resource, d.scope, d.resourceAt, d.scopeAt = nil, nil, 0, 0
	for n := 0; n < d.maxItems && (n == 0 || len(d.out)-len(dst) < d.maxBytes && d.r.Buffered() > 0); n++ {
		if !d.r.Next() {
			if d.err = d.r.Err(); d.err == nil {
				d.err = io.EOF
			}
			break
		}
		d.read++
		record()
		if cap(d.out)-len(d.out) < spare {
			d.grow(len(d.out)-len(dst), n+1)
		}
	}
	finish()
	if cap(d.attributes) > maxKept {
		d.attributes, d.attributesTag = nil, 0
	}
	dst, d.out = d.out, nil
	if len(d.rejected) > 0 {
		return dst, d.rejected // an error of the stream is for the next call
	}
	return dst, d.err
}

// spare is how much room there is for one more item.
const spare = 4 << 10

// grow makes room for the items that are left of the frame, if they are as large as the
// n ones that took size bytes. It trusts the frame only so far: the output gets four
// times as long as it is at most.
func (d *decoder) grow(size, n int) {
	left := min(d.r.Buffered(), uint64(d.maxItems-n))
	if left == 0 {
		return
	}
	most := 3*len(d.out) + 4*spare
	need := spare + uint64(size/n+1)*min(left, uint64(most))
	d.out = slices.Grow(d.out, int(min(need+need/8, uint64(most))))
}

// reject notes that the record just read is left out.
func (d *decoder) reject(err error) { d.rejected = mapping.AddRecord(d.rejected, d.read, err) }

// enter takes the containers of a record and ends the messages of those that it
// is not in. Containers of equal content are the same.
func (d *decoder) enter(resource *otelstef.Resource, scope *otelstef.Scope) {
	first := d.resource == nil
	if first || resource != d.resource && !resource.Equal(d.resource) {
		d.endResource()
	} else if scope != d.scope && !scope.Equal(d.scope) {
		d.endScope()
	}
	d.resource, d.scope = resource, scope
	d.fault = mapping.CheckContainers(resource, scope)
}

// open begins the messages of the containers that have none.
func (d *decoder) open() {
	if d.resourceAt == 0 {
		d.out, d.resourceAt = begin(d.out, tagResources, roomContainer)
		d.out = d.appendResource(d.out, d.resource)
	}
	if d.scopeAt == 0 {
		d.out, d.scopeAt = begin(d.out, tagScopes, roomContainer)
		d.out = d.appendScope(d.out, d.scope)
	}
}

func (d *decoder) endScope() {
	if d.scopeAt != 0 {
		d.out = end(d.out, d.scopeAt, roomContainer)
		d.scopeAt = 0
	}
}

func (d *decoder) endResource() {
	d.endScope()
	if d.resourceAt != 0 {
		d.out = end(d.out, d.resourceAt, roomContainer)
		d.resourceAt = 0
	}
}

func (d *decoder) appendResource(dst []byte, r *otelstef.Resource) []byte {
	dst, at := begin(dst, tagContainer, roomItem)
	dst = d.appendAttributes(dst, tagResourceAttributes, r.Attributes())
	dst = appendNumber(dst, tagResourceDroppedAttributes, r.DroppedAttributesCount())
	for i := range r.EntityRefs().Len() {
		ref, refAt := r.EntityRefs().At(i), 0
		dst, refAt = begin(dst, tagResourceEntityRef, roomPart)
		dst = appendString(dst, tagEntityRefSchemaURL, ref.SchemaURL())
		dst = appendString(dst, tagEntityRefType, ref.Type())
		for _, key := range ref.IDKeys().Values() {
			dst = appendText(dst, tagEntityRefIDKey, key)
		}
		for _, key := range ref.DescriptionKeys().Values() {
			dst = appendText(dst, tagEntityRefDescriptionKey, key)
		}
		dst = end(dst, refAt, roomPart)
	}
	return appendString(end(dst, at, roomItem), tagSchemaURL, r.SchemaURL())
}

func (d *decoder) appendScope(dst []byte, s *otelstef.Scope) []byte {
	dst, at := begin(dst, tagContainer, roomPart)
	dst = appendString(dst, tagScopeName, s.Name())
	dst = appendString(dst, tagScopeVersion, s.Version())
	dst = d.appendAttributes(dst, tagScopeAttributes, s.Attributes())
	dst = appendNumber(dst, tagScopeDroppedAttributes, s.DroppedAttributesCount())
	return appendString(end(dst, at, roomPart), tagSchemaURL, s.SchemaURL())
}

// encoded returns the attributes of an item as fields of a tag. They are those of
// the record before if changed is false.
func (d *decoder) encoded(tag byte, m *otelstef.Attributes) []byte {
	if d.attributesTag != tag {
		d.attributes = d.appendAttributes(d.attributes[:0], tag, m)
		d.attributesTag = tag
	}
	return d.attributes
}

// changed notes that the attributes of the record may not be those of the record
// before.
func (d *decoder) changed() { d.attributesTag = 0 }

// appendID appends an id of n bytes that was checked, unless it is unset.
//
// spec: #otlp-common
func appendID(dst []byte, tag byte, id []byte, n int) []byte {
	var raw [mapping.TraceIDBytes]byte
	if len(id) != n {
		mapping.DecodeID(raw[:n], id)
		id = raw[:n]
	}
	if mapping.Unset(id) {
		return dst
	}
	return append(append(dst, tag, byte(n)), id...)
}

// appendIDs appends a trace id and a span id that were checked.
func appendIDs(dst []byte, traceTag byte, trace []byte, spanTag byte, span []byte) []byte {
	dst = appendID(dst, traceTag, trace, mapping.TraceIDBytes)
	return appendID(dst, spanTag, span, mapping.SpanIDBytes)
}
