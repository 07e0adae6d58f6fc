// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package frame splits a stream into headers and frames and joins them into a
// stream, with zstd state that continues from frame to frame. Most of its functions run once per
// frame. It does not interpret columns.
//
//	stream:       | fixed header | frame 0: variable header | frame 1 | frame 2 | ...
//	fixed header: | "STEF" | size of the rest = 2 | version 0 | compression |
//	frame:        | flags | uncompressed size | compressed size, if zstd | content |
//
// spec: #frame
package frame

import (
	"fmt"
	"maps"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/schema"
)

const (
	signature = "STEF"
	version   = 0
	// fixedSize is the value of the size field that writers write, and the minimum
	// that readers accept.
	fixedSize = 2
)

// appendFixedHeader appends the fixed header.
//
// spec: #fixed-header
func appendFixedHeader(dst []byte, compression stef.Compression) []byte {
	dst = append(dst, signature...)
	return append(dst, fixedSize, version, byte(compression))
}

// VarHeader is the variable header: the content of frame 0.
//
// spec: #var-header
type VarHeader struct {
	// Schema is the wire schema, nil if the stream announces none.
	Schema schema.WireSchema
	// UserData are arbitrary pairs; for equal keys readers return the last value.
	UserData map[string]string
}

// Append appends the variable header. User data are in the order of the keys.
func (h *VarHeader) Append(dst []byte) ([]byte, error) {
	var wire []byte
	if h.Schema != nil {
		var err error
		if wire, err = h.Schema.AppendBinary(nil); err != nil {
			return nil, fmt.Errorf("%w: %w", stef.ErrSchema, err)
		}
	}
	dst = appendRun(dst, string(wire))
	dst = bitio.AppendUvarint(dst, uint64(len(h.UserData)))
	for _, key := range slices.Sorted(maps.Keys(h.UserData)) {
		dst = appendRun(appendRun(dst, key), h.UserData[key])
	}
	return dst, nil
}

func appendRun(dst []byte, run string) []byte {
	return append(bitio.AppendUvarint(dst, uint64(len(run))), run...)
}

// ParseVarHeader reads a variable header. It ignores bytes after the header, as the format
// requires.
func ParseVarHeader(b []byte) (h VarHeader, err error) {
	wire, b, err := cutRun(b, stef.MaxHeaderBytes, "schema")
	if err != nil {
		return h, err
	}
	if len(wire) > 0 {
		var rest []byte
		if h.Schema, rest, err = schema.ParseWire(wire); err != nil {
			return h, fmt.Errorf("%w: %w", stef.ErrCorrupt, err)
		}
		if len(rest) > 0 {
			return h, fmt.Errorf("%w: %d bytes follow the last entry of the wire schema", stef.ErrCorrupt, len(rest))
		}
	}
	count, n := bitio.Uvarint(b)
	if n <= 0 {
		return h, fmt.Errorf("%w: the number of user data pairs is cut off", stef.ErrCorrupt)
	}
	if count > stef.MaxUserDataPairs {
		return h, fmt.Errorf("%w: the header has %d pairs of user data, at most %d are allowed", stef.ErrLimit, count, stef.MaxUserDataPairs)
	}
	b = b[n:]
	for range count {
		var key, value []byte
		if key, b, err = cutRun(b, stef.MaxUserDataBytes, "user data key"); err != nil {
			return h, err
		}
		if value, b, err = cutRun(b, stef.MaxUserDataBytes, "user data value"); err != nil {
			return h, err
		}
		if h.UserData == nil {
			h.UserData = make(map[string]string)
		}
		h.UserData[string(key)] = string(value)
	}
	return h, nil
}

func cutRun(b []byte, limit int, what string) (run, rest []byte, err error) {
	size, n := bitio.Uvarint(b)
	if n <= 0 {
		return nil, nil, fmt.Errorf("%w: the size of the %s is cut off or too long", stef.ErrCorrupt, what)
	}
	if size > uint64(limit) {
		return nil, nil, fmt.Errorf("%w: the %s has %d bytes, at most %d are allowed", stef.ErrLimit, what, size, limit)
	}
	if b = b[n:]; size > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%w: the %s has %d bytes, but only %d remain", stef.ErrCorrupt, what, size, len(b))
	}
	return b[:size], b[size:], nil
}
