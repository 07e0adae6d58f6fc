// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import "encoding/hex"

// The lengths of ids.
const (
	TraceIDBytes = 16
	SpanIDBytes  = 8
)

// IDText is the memory for an id as text.
type IDText [2 * TraceIDBytes]byte

// EncodeID returns an id as a stream holds it: unchanged if raw is set, otherwise as lower-case
// hexadecimal text. The result is stored in text. It is empty for unset ids.
//
// spec: #otlp-common
func EncodeID(text *IDText, id []byte, raw bool) []byte {
	if Unset(id) {
		return nil
	}
	if raw {
		return text[:copy(text[:], id)]
	}
	return text[:hex.Encode(text[:], id)]
}

// EncodeTraceID is like EncodeID, but for the id of a trace.
func EncodeTraceID(text *IDText, id [TraceIDBytes]byte, raw bool) []byte {
	if raw && id != [TraceIDBytes]byte{} {
		*(*[TraceIDBytes]byte)(text[:]) = id
		return text[:TraceIDBytes]
	}
	return EncodeID(text, id[:], raw)
}

// EncodeSpanID is like EncodeID, but for the id of a span.
func EncodeSpanID(text *IDText, id [SpanIDBytes]byte, raw bool) []byte {
	if raw && id != [SpanIDBytes]byte{} {
		*(*[SpanIDBytes]byte)(text[:]) = id
		return text[:SpanIDBytes]
	}
	return EncodeID(text, id[:], raw)
}

// Unset reports whether an id consists of zeros.
func Unset(id []byte) bool {
	for _, c := range id {
		if c != 0 {
			return false
		}
	}
	return true
}

// DecodeID sets dst to an id of a stream, which is raw, hexadecimal text, or unset. dst must
// consist of zeros and have the length of a raw id. DecodeID returns false if id has none of
// these forms.
//
// spec: #otlp-common
func DecodeID(dst, id []byte) bool {
	switch len(id) {
	case 0:
	case len(dst):
		copy(dst, id)
	case 2 * len(dst):
		_, err := hex.Decode(dst, id)
		return err == nil
	default:
		return false
	}
	return true
}

// CheckID checks an id that has n bytes in OTLP.
func CheckID(field string, id []byte, n int) error {
	switch len(id) {
	case 0, n:
		return nil
	case 2 * n:
		var raw [TraceIDBytes]byte
		if _, err := hex.Decode(raw[:], id); err == nil {
			return nil
		}
		return NotOTLP(field, "%q is not an id", id)
	}
	return NotOTLP(field, "the id has %d bytes, not %d", len(id), n)
}
