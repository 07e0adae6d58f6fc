// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

// Losses counts what a stream does not carry of messages. In the full schema
// only the first three can be other than 0.
//
// spec: #losses
type Losses struct {
	// EmptyContainers are resources, scopes and metrics without items.
	EmptyContainers uint64
	// UnknownFields are fields that are not in the OTLP that this package knows.
	UnknownFields uint64
	// ZeroIDs are ids of the right length that are all zeros, which is what
	// unset ids are taken for.
	ZeroIDs uint64
	// EntityRefs are entity references of resources.
	EntityRefs uint64
	// Flags are points with flag bits that were not sent.
	Flags uint64
	// Values are points with the flag "no recorded value" that had a value.
	Values uint64
	// Unvalued are number points without a value and without that flag, which
	// come back with it.
	Unvalued uint64
	// DroppedEvents and DroppedLinks are spans whose number of dropped events or
	// links was not sent.
	DroppedEvents, DroppedLinks uint64
}

// Total returns the sum of the counts.
func (l Losses) Total() uint64 {
	return l.EmptyContainers + l.UnknownFields + l.ZeroIDs + l.EntityRefs + l.Flags + l.Values +
		l.Unvalued + l.DroppedEvents + l.DroppedLinks
}
