// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrRecord means that OTLP cannot express the content of a record. A RecordError
	// wraps it.
	ErrRecord = errors.New("OTLP cannot express the record")
	// ErrDamaged means that a message or an item is not valid protobuf of its signal.
	// An ItemError wraps it.
	ErrDamaged = errors.New("damaged message")
	// ErrID means that an id does not have the length that OTLP requires. An ItemError
	// wraps it.
	ErrID = errors.New("id of wrong length")
)

// ItemError is an item, or a container with all its items, that was not written.
type ItemError struct {
	// Resource, Scope, Metric and Item are the indexes of the item (a point, span or log
	// record) and of its containers. An index is -1 if the error concerns a container
	// above that level, or if the signal has no such level.
	Resource, Scope, Metric, Item int
	// Offset is where the item, the container or the damaged field begins in the
	// message, or -1 if the item is not part of a message.
	Offset int
	// Items is the number of omitted items. In a damaged container, some items may not be
	// counted.
	Items int
	// Field is the path of the bad field, from the item or container down.
	Field string
	// Err is the reason. It wraps stef.ErrLimit, ErrDamaged or ErrID.
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
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at byte %d", e.Offset)
	}
	if e.Field != "" { // the whole item or container is damaged
		fmt.Fprintf(&b, ": %s", shortPath(e.Field))
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// maxPath is the maximum length of a path in an error text, in bytes. Longer paths, such as
// paths of deeply nested values, are shortened.
const maxPath = 160

// shortPath returns a path of at most maxPath bytes. It omits the middle of a longer path.
func shortPath(path string) string {
	if len(path) <= maxPath {
		return path
	}
	const half = (maxPath - len("...")) / 2
	return strings.ToValidUTF8(path[:half], "") + "..." + strings.ToValidUTF8(path[len(path)-half:], "")
}

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Err }

// ItemErrors are the items of one call that were not written. All other items were written.
type ItemErrors []*ItemError

// Place is the position of an encoder in its input.
type Place struct{ Offset, Resource, Scope, Metric, Item int }

// AddItems adds an error for n omitted items at a place. prefix is put before the
// path of err.
func AddItems(list ItemErrors, at Place, prefix string, err error, n int) ItemErrors {
	path, inner := Split(err)
	return append(list, &ItemError{
		Resource: at.Resource, Scope: at.Scope, Metric: at.Metric, Item: at.Item, Offset: at.Offset,
		Items: n, Field: prefix + path, Err: inner,
	})
}

// Items returns the number of omitted items.
func (e ItemErrors) Items() int {
	n := 0
	for _, item := range e {
		n += item.Items
	}
	return n
}

// Error returns the number of omitted items and describes the first error.
func (e ItemErrors) Error() string {
	return listText(e.Items(), "item", "not written", e)
}

// Unwrap returns the errors.
func (e ItemErrors) Unwrap() []error { return unwrap(e) }

// RecordError is a range of records that were not converted, all for the same
// reason.
type RecordError struct {
	// First and Last are the numbers of the records in the stream, from 1.
	First, Last uint64
	// Field is the path of the bad field, from the root down.
	Field string
	// Err is the reason. It wraps ErrRecord.
	Err error
}

// Error describes the records and the reason.
func (e *RecordError) Error() string {
	if e.First == e.Last {
		return fmt.Sprintf("record %d: %s: %v", e.First, shortPath(e.Field), e.Err)
	}
	return fmt.Sprintf("records %d to %d: %s: %v", e.First, e.Last, shortPath(e.Field), e.Err)
}

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// RecordErrors are the records of one call that were not converted. All other
// records were converted.
type RecordErrors []*RecordError

// RecordErrorBytes is the approximate size of a RecordError in memory.
const RecordErrorBytes = 200

// AddRecord adds an error for an omitted record. If the record follows the last range
// and has the same reason, it extends that range.
func AddRecord(list RecordErrors, record uint64, err error) RecordErrors {
	field, inner := Split(err)
	if n := len(list); n > 0 {
		last := list[n-1]
		if last.Last == record-1 && last.Field == field && last.Err.Error() == inner.Error() {
			last.Last = record
			return list
		}
	}
	return append(list, &RecordError{First: record, Last: record, Field: field, Err: inner})
}

// Records returns the number of omitted records.
func (e RecordErrors) Records() uint64 {
	n := uint64(0)
	for _, r := range e {
		n += r.Last - r.First + 1
	}
	return n
}

// Error returns the number of omitted records and describes the first range.
func (e RecordErrors) Error() string {
	return listText(e.Records(), "record", "not converted", e)
}

// Unwrap returns the errors.
func (e RecordErrors) Unwrap() []error { return unwrap(e) }

// listText describes a list of errors by a count and the first error.
func listText[N int | uint64, E error](n N, thing, what string, list []E) string {
	text := fmt.Sprintf("stef: %d %ss were %s", n, thing, what)
	if n == 1 {
		text = fmt.Sprintf("stef: 1 %s was %s", thing, what)
	}
	if len(list) > 0 {
		text += fmt.Sprintf(", the first: %v", list[0])
	}
	return text
}

func unwrap[E error](list []E) []error {
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	return errs
}

type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// InField prefixes the path of an error with a name.
func InField(name string, err error) error {
	var inner *fieldError
	if errors.As(err, &inner) {
		return &fieldError{name + inner.path, inner.err}
	}
	return &fieldError{name, err}
}

// InElement is like InField, but for element i of an array.
func InElement(i int, err error) error { return InField(fmt.Sprintf("[%d]", i), err) }

// InPair prefixes the path of an error with the key of a pair. It truncates a long key.
func InPair[T string | []byte](key T, err error) error {
	return InField(fmt.Sprintf("[%q]", key[:min(len(key), maxKey)]), err)
}

// maxKey is the number of bytes of a key that an error shows.
const maxKey = 60

// Split splits an error into its path and the error that it wraps.
func Split(err error) (path string, inner error) {
	var f *fieldError
	if errors.As(err, &f) {
		return f.path, f.err
	}
	return "", err
}

// NotOTLP returns an error for a field of a record that OTLP cannot express.
func NotOTLP(field, format string, args ...any) error {
	return &fieldError{field, fmt.Errorf("%w: %s", ErrRecord, fmt.Sprintf(format, args...))}
}
