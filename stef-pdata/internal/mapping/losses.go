// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

// Losses counts data of the written items that the stream does not contain: data that the mapping
// ignores (EmptyContainers, UnknownFields, ZeroIDs), and data that the schema cannot represent. In
// the full schema, only the first three counts can be other than 0.
//
// spec: #losses
type Losses struct {
	// EmptyContainers are resources, scopes and metrics without items.
	EmptyContainers uint64
	// UnknownFields are fields of messages that the mapping does not know, including
	// keys and texts by reference (key_strindex, string_value_strindex). Pdata does
	// not expose such fields, so encoders of pdata do not count them.
	UnknownFields uint64
	// ZeroIDs are ids in messages that consist of zeros. In OTLP they mean the same as
	// unset ids, and readers decode them as unset. Pdata does not distinguish the two.
	ZeroIDs uint64
	// EntityRefs are entity references of resources.
	EntityRefs uint64
	// Flags are points with flag bits that were not sent.
	Flags uint64
	// Values are points with the flag "no recorded value" that had a value.
	Values uint64
	// Unvalued are number points without a value and without the flag "no recorded
	// value". They are decoded with the flag.
	Unvalued uint64
	// DroppedEvents are spans whose number of dropped events was not 0.
	DroppedEvents uint64
	// DroppedLinks are spans whose number of dropped links was not 0.
	DroppedLinks uint64
}

// Total returns the sum of the counts.
func (l Losses) Total() uint64 {
	return l.EmptyContainers + l.UnknownFields + l.ZeroIDs + l.EntityRefs + l.Flags + l.Values +
		l.Unvalued + l.DroppedEvents + l.DroppedLinks
}
