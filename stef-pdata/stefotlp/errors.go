// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Package stefpdata has the same errors, losses and limits.

var (
	// ErrDamaged means that a message or an item is not valid protobuf of its signal. A
	// WireError or an ItemError wraps it.
	ErrDamaged = mapping.ErrDamaged
	// ErrID means that an id does not have the length that OTLP requires. An ItemError
	// wraps it.
	ErrID = mapping.ErrID
	// ErrRecord means that OTLP cannot express the content of a record. A RecordError
	// wraps it.
	ErrRecord = mapping.ErrRecord

	errTooLong = fmt.Errorf("%w: message too long", stef.ErrLimit)
)

// These types are declared in an internal package, so go doc does not list their fields and
// methods. The comments list them instead.
type (
	// ItemError is an item of a message, or a container with all its items, that was
	// not written. Resource, Scope, Metric and Item are the indexes of the item and
	// its containers. An index is -1 if the error concerns a container above that
	// level, or if the signal has no such level. Offset is where the item, or the
	// damaged field in it, begins in the message. Items is the number of omitted
	// items; in a damaged container, some items may not be counted. All these fields
	// are int. Field is the path of the bad field, a string. Err is the reason, an
	// error that wraps ErrDamaged, ErrID or stef.ErrLimit.
	ItemError = mapping.ItemError
	// ItemErrors are the items of a message that were not written. All other items
	// were written. The type is []*ItemError; the method Items returns the number of
	// items, an int.
	ItemErrors = mapping.ItemErrors
	// RecordError is a range of records that were not converted. First and Last are
	// their numbers in the stream, counted from 1, both uint64. Field is the path of the
	// bad field, a string. Err is the reason, an error that wraps ErrRecord.
	RecordError = mapping.RecordError
	// RecordErrors are the records that were not converted. All other records were
	// converted. The type is []*RecordError; the method Records returns the number of
	// records, a uint64.
	RecordErrors = mapping.RecordErrors

	// Losses counts the content of messages that the stream does not contain. Its fields, all
	// uint64, are EmptyContainers, UnknownFields, ZeroIDs, EntityRefs, Flags, Values, Unvalued,
	// DroppedEvents and DroppedLinks; stefpdata.Losses says what they count. In the full schema
	// only the first three can be other than 0. The method Total returns the sum.
	Losses = mapping.Losses
)

// Limits of an item.
const (
	// MaxDepth is how deep arrays and maps of a value may nest.
	MaxDepth = mapping.MaxDepth
	// MaxItemBytes is the maximum size of a resource, a scope, a metric, a point, a
	// span or a log record. Text and bytes values count with their bytes, each bucket
	// and bound with 32 bytes, each attribute, nested value and quantile with 256
	// bytes, and each exemplar, event and link with 512 bytes.
	MaxItemBytes = mapping.MaxItemBytes
)

// WireError reports a message of which nothing was written, because the message is too long,
// one of its resources is truncated, or it is not a message of the signal. The error names
// the signal or the format that the message seems to have. Return it unchanged from
// WriteBatch of a stefgrpc.BatchWriter, like ItemErrors: then only this batch fails.
type WireError struct {
	// Offset is where the bad field begins in the message.
	Offset int
	// Err is the reason. It wraps ErrDamaged or stef.ErrLimit.
	Err error
}

// Error describes the place and the reason.
func (e *WireError) Error() string { return fmt.Sprintf("stefotlp: at byte %d: %v", e.Offset, e.Err) }

// Unwrap returns the reason.
func (e *WireError) Unwrap() error { return e.Err }

// Items returns 0, because the items of the message cannot be counted. Because of this method a
// stefgrpc.Session keeps the stream.
func (e *WireError) Items() int { return 0 }

// damage says where and why bytes are not a valid message.
type damage struct {
	at     int
	reason string
}

func (e *damage) Error() string { return fmt.Sprintf("%v: %s", ErrDamaged, e.reason) }
func (e *damage) Unwrap() error { return ErrDamaged }
