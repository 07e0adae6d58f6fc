// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import "github.com/otelstef/stef/stef-pdata/internal/mapping"

// Package stefotlp has the same errors, losses and limits.

// ErrRecord means that OTLP cannot express the content of a record. A RecordError wraps
// it.
var ErrRecord = mapping.ErrRecord

// These types are declared in an internal package, so go doc does not list their fields and
// methods. The comments list them instead.
type (
	// ItemError is an item of pdata, or a container with all its items, that was not
	// written. Resource, Scope, Metric and Item are the indexes of the item and its
	// containers. An index is -1 if the error concerns a container above that level, or if
	// the signal has no such level. Items is the number of omitted items. Offset is always -1:
	// only stefotlp sets it. All these fields are int. Field is the path of the bad field, a
	// string; Error omits the middle of a path of more than 160 bytes. Err is the reason, an
	// error that wraps stef.ErrLimit.
	ItemError = mapping.ItemError
	// ItemErrors are the items of a batch that were not written. All other items were written.
	// The type is []*ItemError; the method Items returns the number of items, an int.
	ItemErrors = mapping.ItemErrors
	// RecordError is a range of records that were not converted. First and Last are
	// their numbers in the stream, counted from 1, both uint64. Field is the path of the
	// bad field, a string; Error omits the middle of a long path, too. Err is the reason, an
	// error that wraps ErrRecord.
	RecordError = mapping.RecordError
	// RecordErrors are the records that were not converted. All other records were converted.
	// The type is []*RecordError; the method Records returns the number of records, a
	// uint64.
	RecordErrors = mapping.RecordErrors

	// Losses counts the content of written items that the stream does not contain:
	//
	//	EmptyContainers  resources, scopes and metrics without items
	//	UnknownFields    fields of OTLP messages that the mapping does not know
	//	ZeroIDs          ids in OTLP messages that consist of zeros
	//	EntityRefs       entity references of resources
	//	Flags            points with flag bits that were not sent
	//	Values           points with the flag "no recorded value" that had a value
	//	Unvalued         number points without a value and without that flag
	//	DroppedEvents    spans whose number of dropped events was not 0
	//	DroppedLinks     spans whose number of dropped links was not 0
	//
	// All are uint64. In the full schema only the first three can be other than 0.
	// The method Total returns the sum.
	Losses = mapping.Losses
)

// Limits of an item.
const (
	// MaxDepth is how deep arrays and maps of an attribute value may nest.
	MaxDepth = mapping.MaxDepth
	// MaxItemBytes is the maximum size of a resource, a scope, a metric, a point, a
	// span or a log record. Text and bytes values count with their bytes, each bucket
	// and bound with 32 bytes, each attribute, nested value and quantile with 256
	// bytes, and each exemplar, event and link with 512 bytes.
	MaxItemBytes = mapping.MaxItemBytes
)
