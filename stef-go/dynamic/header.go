// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/otelstef/stef/stef-go/schema"
)

// The limits of the headers.
//
// spec: #limits
const (
	maxFixedHeader   = 1 << 20
	maxVarHeader     = 1 << 20
	maxUserData      = 1024
	maxUserDataBytes = 256
)

// Compression is the compression of the frames of a stream.
type Compression uint8

// The compressions of the format.
const (
	None Compression = 0
	Zstd Compression = 1
)

// String returns "none" or "zstd".
func (c Compression) String() string {
	if c == Zstd {
		return "zstd"
	}
	return "none"
}

// Header is the information in a stream before its first record.
type Header struct {
	Compression Compression
	// Wire is the wire schema that the stream announces, nil if it announces none.
	Wire schema.WireSchema
	// UserData are the keys and values that the writer set.
	UserData map[string]string
	// Frame describes the frame that contains Wire and UserData. Its Index is 0, and it
	// has neither records nor columns.
	Frame Frame
}

const signature = "STEF"

// readFixedHeader reads the header at the start of a stream.
//
// spec: #fixed-header
func readFixedHeader(src *source, trace *tracer) (Compression, error) {
	sign, err := readExactly(src, nil, len(signature), "signature")
	if err != nil {
		return 0, err
	}
	if string(sign) != signature {
		return 0, fault(ErrCorrupt, "%q is not the signature of a STEF stream", sign)
	}
	trace.field(-1, "signature", string(sign))
	size, err := readUvarint(src.ReadByte, "size of the fixed header")
	if err != nil {
		return 0, err
	}
	if size < 2 {
		return 0, fault(ErrCorrupt, "the fixed header has %d bytes, at least 2 are required", size)
	}
	if size > maxFixedHeader {
		return 0, fault(ErrLimit, "the fixed header has %d bytes, the limit is %d", size, maxFixedHeader)
	}
	trace.field(-1, "size", size)
	// Later minor versions may add bytes after the version and the compression.
	content, err := readExactly(src, nil, int(size), "fixed header")
	if err != nil {
		return 0, err
	}
	if version := content[0] & 0x0f; version != 0 {
		return 0, fault(ErrVersion, "version %d", version)
	}
	trace.field(1, "version", uint64(content[0]&0x0f))
	compression := Compression(content[1] & 3)
	if compression > Zstd {
		return 0, fault(ErrVersion, "unknown compression %d", compression)
	}
	trace.field(1, "compression", compression)
	if size > 2 {
		trace.field(-1, "extension", nil)
	}
	return compression, nil
}

func appendFixedHeader(dst []byte, c Compression) []byte {
	return append(append(dst, signature...), 2, 0, byte(c))
}

// parseVarHeader reads the content of the first frame into h. Bytes after the
// last pair are ignored.
//
// spec: #var-header
func parseVarHeader(content []byte, h *Header, trace *tracer) error {
	in := &byteReader{data: content}
	defer trace.rest(in)
	size, err := in.uvarint("size of the wire schema")
	if err != nil {
		return err
	}
	trace.bytes(in, TraceField{"size of the wire schema", size})
	wire, err := in.take(size, "wire schema")
	if err != nil {
		return err
	}
	in.traced = in.n
	if len(wire) > 0 {
		if h.Wire, err = parseWire(&byteReader{data: wire, base: in.n - len(wire)}, trace); err != nil {
			return err
		}
	}
	h.UserData, err = parseUserData(in, trace)
	return err
}

// parseWire reads a wire schema.
//
// spec: #wire-schema
func parseWire(in *byteReader, trace *tracer) (schema.WireSchema, error) {
	defer trace.rest(in)
	count, err := in.uvarint("number of entries of the wire schema")
	if err != nil {
		return nil, err
	}
	if count > schema.MaxWireEntries {
		return nil, fault(ErrLimit, "the wire schema has %d entries, the limit is %d", count, schema.MaxWireEntries)
	}
	trace.bytes(in, TraceField{"structs and oneofs", count})
	w := schema.WireSchema{}
	for range count {
		n, err := in.uvarint("wire schema")
		if err != nil {
			return nil, err
		}
		if n > maxChoices {
			return nil, fault(ErrSchema, "entry %d of the wire schema has %d fields, the limit is %d", len(w), n, maxChoices)
		}
		w = append(w, int(n))
		trace.bytes(in, TraceWire{n})
	}
	if in.left() > 0 {
		return nil, fault(ErrCorrupt, "%d bytes follow the last entry of the wire schema", in.left())
	}
	return w, nil
}

func parseUserData(in *byteReader, trace *tracer) (map[string]string, error) {
	count, err := in.uvarint("number of user data pairs")
	if err != nil {
		return nil, err
	}
	if count > maxUserData {
		return nil, fault(ErrLimit, "the header has %d pairs of user data, the limit is %d", count, maxUserData)
	}
	trace.bytes(in, TraceField{"pairs of user data", count})
	data := map[string]string{}
	for range count {
		key, err := headerString(in)
		if err != nil {
			return nil, err
		}
		trace.bytes(in, TraceField{"key", key})
		if data[key], err = headerString(in); err != nil {
			return nil, err
		}
		trace.bytes(in, TraceField{"value", data[key]})
	}
	return data, nil
}

func headerString(in *byteReader) (string, error) {
	n, err := in.uvarint("length of user data")
	if err != nil {
		return "", err
	}
	if n > maxUserDataBytes {
		return "", fault(ErrLimit, "a string of user data has %d bytes, the limit is %d", n, maxUserDataBytes)
	}
	b, err := in.take(n, "user data")
	return string(b), err
}

// appendVarHeader appends the content of the first frame. If w is nil, it announces no
// schema. User data are in the order of their keys.
//
// spec: #var-header
func appendVarHeader(dst []byte, w schema.WireSchema, userData map[string]string) ([]byte, error) {
	var wire []byte
	if w != nil {
		if len(w) > schema.MaxWireEntries {
			return nil, fault(ErrLimit, "the wire schema has %d structs and oneofs, the limit is %d", len(w), schema.MaxWireEntries)
		}
		wire = binary.AppendUvarint(nil, uint64(len(w)))
		for _, n := range w {
			wire = binary.AppendUvarint(wire, uint64(n))
		}
	}
	dst = append(binary.AppendUvarint(dst, uint64(len(wire))), wire...)

	if len(userData) > maxUserData {
		return nil, fault(ErrLimit, "the header has %d pairs of user data, the limit is %d", len(userData), maxUserData)
	}
	dst = binary.AppendUvarint(dst, uint64(len(userData)))
	for _, key := range slices.Sorted(maps.Keys(userData)) {
		for _, s := range []string{key, userData[key]} {
			if len(s) > maxUserDataBytes {
				return nil, fault(ErrLimit, "a string of user data has %d bytes, the limit is %d", len(s), maxUserDataBytes)
			}
			dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
		}
	}
	return dst, nil
}
