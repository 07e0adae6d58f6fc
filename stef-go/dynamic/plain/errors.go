// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// ErrUndefined says that a record has content that no writer sends. The specification
// defines no result for such content, and readers may refuse it; this package does.
// ErrUndefined wraps dynamic.ErrCorrupt.
//
// spec: #compact-errors
var ErrUndefined = fmt.Errorf("%w", dynamic.ErrCorrupt)

// corrupt returns an error for content that every reader must refuse.
//
// spec: #compact-errors
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", dynamic.ErrCorrupt, fmt.Sprintf(format, args...))
}

// undefined returns an ErrUndefined for content that no writer sends.
func undefined(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUndefined, fmt.Sprintf(format, args...))
}
