// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// ErrRecord is a record that says what OTLP cannot say. A RecordError wraps it.
var ErrRecord = errors.New("record does not fit OTLP")

// ItemError is an item of pdata, or a container with all its items, that was
// not written.
type ItemError struct {
	// Resource, Scope, Metric and Point are the indexes that lead to the item;
	// Point is also that of a span or log record, which have no Metric. Those
	// below a container that is bad as a whole are -1, as is what does not apply.
	Resource, Scope, Metric, Point int
	// Items is how many items were left out.
	Items int
	// Field is the field that is bad, from the item or container down.
	Field string
	// Err is the reason. It wraps stef.ErrLimit.
	Err error

	noun string // what Point counts
}

// Error describes the item and the reason.
func (e *ItemError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "resource %d", e.Resource)
	for _, step := range []struct {
		name  string
		index int
	}{{"scope", e.Scope}, {"metric", e.Metric}, {cmp.Or(e.noun, "point"), e.Point}} {
		if step.index >= 0 {
			fmt.Fprintf(&b, ", %s %d", step.name, step.index)
		}
	}
	fmt.Fprintf(&b, ": %s: %v", e.Field, e.Err)
	return b.String()
}

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Err }

// ItemErrors are the items of a batch that were not written. All others were.
type ItemErrors []*ItemError

// add notes that n items at a place are left out. noun is what such an item is
// called, and prefix goes before the path that err names.
func (e ItemErrors) add(noun string, at place, prefix string, err error, n int) ItemErrors {
	if n == 0 {
		return e
	}
	path, inner := split(err)
	return append(e, &ItemError{
		Resource: at.resource, Scope: at.scope, Metric: at.metric, Point: at.point,
		Items: n, Field: prefix + path, Err: inner, noun: noun,
	})
}

// Items returns how many items were left out.
func (e ItemErrors) Items() int {
	n := 0
	for _, item := range e {
		n += item.Items
	}
	return n
}

// Error describes the first item and counts the others.
func (e ItemErrors) Error() string {
	return fmt.Sprintf("stefpdata: %d items were not written, the first: %v", e.Items(), e[0])
}

// Unwrap returns the errors.
func (e ItemErrors) Unwrap() []error { return unwrap(e) }

// RecordError is a range of records that were not turned into pdata, all for
// the same reason.
type RecordError struct {
	// First and Last are the numbers of the records in the stream, from 1.
	First, Last uint64
	// Field is the path of the field that is bad, from the root down.
	Field string
	// Err is the reason. It wraps ErrRecord.
	Err error
}

// Error describes the records and the reason.
func (e *RecordError) Error() string {
	if e.First == e.Last {
		return fmt.Sprintf("record %d: %s: %v", e.First, e.Field, e.Err)
	}
	return fmt.Sprintf("records %d to %d: %s: %v", e.First, e.Last, e.Field, e.Err)
}

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// RecordErrors are the records that were not turned into pdata. All others were.
type RecordErrors []*RecordError

// add notes that a record is left out. It joins the range before if that ends
// there and has the same reason.
func (e RecordErrors) add(record uint64, err error) RecordErrors {
	field, inner := split(err)
	if n := len(e); n > 0 {
		last := e[n-1]
		if last.Last == record-1 && last.Field == field && last.Err.Error() == inner.Error() {
			last.Last = record
			return e
		}
	}
	return append(e, &RecordError{First: record, Last: record, Field: field, Err: inner})
}

// Records returns how many records were left out.
func (e RecordErrors) Records() uint64 {
	n := uint64(0)
	for _, r := range e {
		n += r.Last - r.First + 1
	}
	return n
}

// Error describes the first range and counts the others.
func (e RecordErrors) Error() string {
	return fmt.Sprintf("stefpdata: %d records were not converted, the first: %v", e.Records(), e[0])
}

// Unwrap returns the errors.
func (e RecordErrors) Unwrap() []error { return unwrap(e) }

func unwrap[E error](list []E) []error {
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	return errs
}

// fieldError is an error in a field.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// inField puts a name before the path of an error.
func inField(name string, err error) error {
	var inner *fieldError
	if errors.As(err, &inner) {
		return &fieldError{name + inner.path, inner.err}
	}
	return &fieldError{name, err}
}

// split returns the path of an error and the error in it.
func split(err error) (path string, inner error) {
	var f *fieldError
	if errors.As(err, &f) {
		return f.path, f.err
	}
	return "", err
}

// shorten makes a key fit for a message.
func shorten(key string) string {
	if len(key) > 60 {
		return key[:60]
	}
	return key
}
