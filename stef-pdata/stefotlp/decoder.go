// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"fmt"
	"io"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Default limits of AppendOTLP.
const (
	// DefaultMaxItems is the default maximum number of items.
	DefaultMaxItems = 1 << 17
	// DefaultMaxBytes is the default number of bytes after which AppendOTLP stops.
	DefaultMaxBytes = 256 << 20
)

type decoderConfig struct {
	maxItems, maxBytes int
}

// DecoderOption changes how a decoder works.
type DecoderOption func(*decoderConfig)

// WithMaxItems sets the maximum number of items that AppendOTLP appends. The default
// is DefaultMaxItems. A number below 1 counts as 1.
func WithMaxItems(n int) DecoderOption {
	return func(c *decoderConfig) { c.maxItems = max(n, 1) }
}

// WithMaxBytes sets the number of bytes after which AppendOTLP stops. AppendOTLP appends
// at least one item, and completes the item that reaches this number. The default is
// DefaultMaxBytes. The limit is necessary because a short stream can repeat a large
// value very often. Each RecordError counts as 200 bytes. A number below 1 counts as 1.
//
// A record that takes more than 32 MiB plus 4 KiB as OTLP ends the stream with an error that wraps
// stef.ErrLimit.
func WithMaxBytes(n int) DecoderOption {
	return func(c *decoderConfig) { c.maxBytes = n }
}

// notNil panics if the writer or reader of a constructor is nil.
func notNil(isNil bool, what string) {
	if isNil {
		panic("stefotlp: the " + what + " is nil")
	}
}

// reader is the part of the readers of all signals that decoders use.
type reader interface {
	Next() bool
	Err() error
	BufferedRecords() uint64
}

// decoder holds the state that the decoders of all signals share.
type decoder struct {
	r reader
	decoderConfig
	kept features.Set
	backward

	out      []byte
	began    int    // where the current record begins in out, including the containers that it opens
	read     uint64 // records read from the stream, without a record that was too large and ended it
	rejected RecordErrors
	err      error // the error that ended the stream

	// attributes are the encoded attributes of the previous record, as fields with
	// attributesTag. The tag is 0 if they cannot be reused.
	attributes    []byte
	attributesTag byte

	resource   *otelstef.Resource // resource of the previous record
	scope      *otelstef.Scope
	resourceAt int // where the message of the ResourceX begins, 0 if none is open
	scopeAt    int
	fault      error // why no item can be appended to the current resource, scope or metric
}

func newDecoder(r reader, k features.Set, options []DecoderOption) decoder {
	config := decoderConfig{maxItems: DefaultMaxItems, maxBytes: DefaultMaxBytes}
	for _, option := range options {
		if option == nil {
			panic("stefotlp: an option is nil")
		}
		option(&config)
	}
	return decoder{r: r, decoderConfig: config, kept: k}
}

// Records returns how many records of the stream are in a message or in RecordErrors. A server
// acknowledges these records after it has delivered the message. A record that ended the stream
// because it is too large is not counted.
func (d *decoder) Records() uint64 { return d.read }

// decode appends the remaining records of the frame, or the records of the next frame, up
// to the limits. It calls record for every record, and finish to complete the message.
func (d *decoder) decode(dst []byte, record, finish func()) ([]byte, error) {
	if d.err != nil {
		return dst, d.err
	}
	d.out, d.rejected = dst, nil
	d.resource, d.scope, d.resourceAt, d.scopeAt = nil, nil, 0, 0
	spent := func() int { return len(d.out) - len(dst) + len(d.rejected)*mapping.RecordErrorBytes }
	for n := 0; n < d.maxItems && (n == 0 || spent() < d.maxBytes && d.r.BufferedRecords() > 0); n++ {
		if !d.r.Next() {
			if d.err = d.r.Err(); d.err == nil {
				d.err = io.EOF
			}
			break
		}
		d.read++
		d.began = len(d.out)
		record()
		if d.over || len(d.out)-d.began > mapping.MaxRecordBytes {
			d.out = d.out[:d.began]
			d.err = fmt.Errorf("stefotlp: %w: record %d takes more than %d bytes as OTLP", stef.ErrLimit, d.read, mapping.MaxRecordBytes)
			d.read--
			break
		}
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
		return dst, d.rejected // the next call returns an error of the stream
	}
	return dst, d.err
}

// spare is the space reserved for one more item.
const spare = 4 << 10

// grow reserves space for the remaining items of the frame, assuming that they are as large as the
// n items that took size bytes. A stream can state a wrong number of remaining items, so the output
// grows to about four times its length at most.
func (d *decoder) grow(size, n int) {
	left := min(d.r.BufferedRecords(), uint64(d.maxItems-n))
	if left == 0 {
		return
	}
	most := 3*len(d.out) + 4*spare
	need := spare + uint64(size/n+1)*min(left, uint64(most))
	d.out = slices.Grow(d.out, int(min(need+need/8, uint64(most))))
}

// reject notes that the record that was just read is omitted.
func (d *decoder) reject(err error) { d.rejected = mapping.AddRecord(d.rejected, d.read, err) }

// enter makes resource and scope the current containers, and ends the messages of the
// previous containers if these differ. Containers of equal content count as the same
// container.
func (d *decoder) enter(resource *otelstef.Resource, scope *otelstef.Scope) {
	first := d.resource == nil
	if first || resource != d.resource && !resource.Equal(d.resource) {
		d.endResource()
	} else if scope != d.scope && !scope.Equal(d.scope) {
		d.endScope()
	}
	d.resource, d.scope = resource, scope
	d.fault = mapping.CheckContainers(resource, scope)
	d.began = len(d.out)
}

// open begins the messages of the current resource and scope, unless they have begun already.
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

func (d *decoder) endScope() { d.endContainer(&d.scopeAt) }

func (d *decoder) endResource() {
	d.endScope()
	d.endContainer(&d.resourceAt)
}

// endContainer ends the message that begins at *at, if one is open. If a record was too large,
// the messages that it began were already removed from out.
func (d *decoder) endContainer(at *int) {
	if *at != 0 && *at <= len(d.out) {
		d.out = end(d.out, *at, roomContainer)
	}
	*at = 0
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
		dst = d.appendTexts(dst, tagEntityRefIDKey, ref.IDKeys().Values())
		dst = d.appendTexts(dst, tagEntityRefDescriptionKey, ref.DescriptionKeys().Values())
		dst = end(dst, refAt, roomPart)
		if d.tooLarge(len(dst) - at) {
			break
		}
	}
	return appendString(end(dst, at, roomItem), tagSchemaURL, r.SchemaURL())
}

func (d *decoder) appendTexts(dst []byte, tag byte, texts []string) []byte {
	at := len(dst)
	for _, text := range texts {
		if dst = appendText(dst, tag, text); d.tooLarge(len(dst) - at) {
			break
		}
	}
	return dst
}

func (d *decoder) appendScope(dst []byte, s *otelstef.Scope) []byte {
	dst, at := begin(dst, tagContainer, roomPart)
	dst = appendString(dst, tagScopeName, s.Name())
	dst = appendString(dst, tagScopeVersion, s.Version())
	dst = d.appendAttributes(dst, tagScopeAttributes, s.Attributes())
	dst = appendNumber(dst, tagScopeDroppedAttributes, s.DroppedAttributesCount())
	return appendString(end(dst, at, roomPart), tagSchemaURL, s.SchemaURL())
}

// encoded returns the attributes of an item as fields with this tag. It reuses the encoded
// attributes of the previous record if they have the same tag and changed was not called.
func (d *decoder) encoded(tag byte, m *otelstef.Attributes) []byte {
	if d.attributesTag != tag {
		d.attributes = d.appendAttributes(d.attributes[:0], tag, m)
		d.attributesTag = tag
	}
	return d.attributes
}

// changed notes that the attributes of the record may differ from the attributes of the
// previous record.
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
