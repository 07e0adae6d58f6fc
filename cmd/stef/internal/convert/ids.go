// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/hex"
	"fmt"
)

// idKind is a kind of id. Ids are raw bytes or lower-case hexadecimal text. An
// id that is not set is empty or all zeros.
type idKind struct {
	name string
	size int
}

var (
	traceID = idKind{"trace id", 16}
	spanID  = idKind{"span id", 8}
)

// raw returns an id as bytes, empty if it is not set.
func (k idKind) raw(id []byte) ([]byte, error) {
	switch len(id) {
	case 0, k.size:
	case 2 * k.size:
		b := make([]byte, k.size)
		if _, err := hex.Decode(b, id); err != nil {
			return nil, fmt.Errorf("the %s %q is not hexadecimal", k.name, id)
		}
		id = b
	default:
		return nil, fmt.Errorf("the %s has %d bytes, not %d (or %d hexadecimal digits)", k.name, len(id), k.size, 2*k.size)
	}
	for _, b := range id {
		if b != 0 {
			return id, nil
		}
	}
	return nil, nil
}

// filled returns a raw id, or zeros if it is not set.
func (k idKind) filled(raw []byte) []byte {
	if len(raw) == 0 {
		return make([]byte, k.size)
	}
	return raw
}
