// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"io"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/config"
)

// NewReader is like New, but also calls Reset with src.
func NewReader(src io.Reader, limits stef.Limits, dicts ...*config.ZstdDict) (*Reader, error) {
	r := New(limits, dicts...)
	return r, r.Reset(src)
}
