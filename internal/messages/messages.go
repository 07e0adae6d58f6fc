// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package messages has the rules for the lengths in files of format stef-parts. The Collector's file
// exporter writes these files with the encoding extension. Each message is a complete STEF
// stream after its length in 4 bytes, big-endian.
package messages

import (
	"encoding/binary"
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
)

const (
	// HeadBytes is the size of the length before a message.
	HeadBytes = 4
	// MaxBytes is the maximum size of a message: the default of limits::max_message_mib of the
	// extension.
	MaxBytes = 64 << 20
)

// Length returns the length of a message, or a *LengthError. The extension writes no message
// without bytes, but a crash of the machine can leave zeros.
func Length(head [HeadBytes]byte) (int64, error) {
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > MaxBytes {
		return 0, &LengthError{n}
	}
	return int64(n), nil
}

// LengthError is the error of a length that no message has. It is stef.ErrCorrupt if the length is 0,
// and stef.ErrLimit if the length is too large.
type LengthError struct{ Bytes uint32 }

func (e *LengthError) Error() string {
	if e.Bytes == 0 {
		return fmt.Sprintf("%v: the message has no bytes", e.Unwrap())
	}
	return fmt.Sprintf("%v: the message has %d bytes, at most %d are allowed", e.Unwrap(), e.Bytes, MaxBytes)
}

// Unwrap returns the kind of the error.
func (e *LengthError) Unwrap() error {
	if e.Bytes == 0 {
		return stef.ErrCorrupt
	}
	return stef.ErrLimit
}
