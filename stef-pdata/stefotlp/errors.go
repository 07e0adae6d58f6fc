// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"errors"
	"fmt"
	"strings"

	stef "github.com/otelstef/stef/stef-go"
)

var (
	// ErrDamaged is a message, or an item, that is no protobuf of the signal. A
	// WireError or an ItemError wraps it.
	ErrDamaged = errors.New("damaged message")
	// ErrID is an id of another length than OTLP gives it. An ItemError wraps it.
	ErrID = errors.New("id of wrong length")
	// ErrRecord is a record that says what OTLP cannot say. A RecordError wraps
	// it.
	ErrRecord = errors.New("record does not fit OTLP")

	errTooLong = fmt.Errorf("%w: message too long", stef.ErrLimit)
)

// WireError is a message of which nothing was written, because it is too long or
// its containers are damaged.
type WireError struct {
	// Offset is the offset in the message of the field that is bad.
	Offset int
	// Field is the path of the field, in the names of OTLP.
	Field string
	// Err is the reason. It wraps ErrDamaged or stef.ErrLimit.
	Err error
}

// Error describes the place and the reason.
func (e *WireError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("stefotlp: at byte %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("stefotlp: at byte %d, %s: %v", e.Offset, e.Field, e.Err)
}

// Unwrap returns the reason.
func (e *WireError) Unwrap() error { return e.Err }

// ItemError is an item of a message, or a container with all its items, that
// was not written.
type ItemError struct {
	// Offset is the offset in the message of the item or container, or of the
	// field of an item that is damaged.
	Offset int
	// Resource, Scope, Metric and Item are the indexes that lead to the item.
	// Those below a container that is bad as a whole are -1, and Metric is where
	// there are none.
	Resource, Scope, Metric, Item int
	// Items is how many items were left out, as far as the damage lets them be
	// counted.
	Items int
	// Field is the field that is bad, from the item or container down.
	Field string
	// Err is the reason. It wraps ErrDamaged, ErrID or stef.ErrLimit.
	Err error
}

// Error describes the item and the reason.
func (e *ItemError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "resource %d", e.Resource)
	for _, step := range []struct {
		name  string
		index int
	}{{"scope", e.Scope}, {"metric", e.Metric}, {"item", e.Item}} {
		if step.index >= 0 {
			fmt.Fprintf(&b, ", %s %d", step.name, step.index)
		}
	}
	fmt.Fprintf(&b, " at byte %d: %s: %v", e.Offset, e.Field, e.Err)
	return b.String()
}

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Err }

// ItemErrors are the items of a message that were not written. All others were.
type ItemErrors []*ItemError

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
	return fmt.Sprintf("stefotlp: %d items were not written, the first: %v", e.Items(), e[0])
}

// Unwrap returns the errors.
func (e ItemErrors) Unwrap() []error { return unwrap(e) }

// RecordError is a range of records that were left out of a message, all for
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

// RecordErrors are the records that were left out of a message. All others are
// in it.
type RecordErrors []*RecordError

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
	return fmt.Sprintf("stefotlp: %d records were left out, the first: %v", e.Records(), e[0])
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

// damage is where and why bytes are no message.
type damage struct {
	at     int
	reason string
}

func (e *damage) Error() string { return fmt.Sprintf("%v: %s", ErrDamaged, e.reason) }
func (e *damage) Unwrap() error { return ErrDamaged }

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

// notOTLP is an error of a record.
func notOTLP(field, format string, args ...any) error {
	return &fieldError{field, fmt.Errorf("%w: %s", ErrRecord, fmt.Sprintf(format, args...))}
}

// shorten makes a key fit for a message.
func shorten(key []byte) []byte { return key[:min(len(key), 60)] }
