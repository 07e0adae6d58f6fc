// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"testing"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/config"
	"github.com/otelstef/stef/stef-go/internal/frame"
)

// WriterConfig returns the settings of a writer with these options, for tests of
// code that makes options.
func WriterConfig(t testing.TB, options ...stef.WriterOption) config.Writer {
	t.Helper()
	c, err := frame.WriterConfig(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ReaderLimits returns the limits of a reader with these options, for tests of
// code that makes options.
func ReaderLimits(t testing.TB, options ...stef.ReaderOption) stef.Limits {
	t.Helper()
	limits, err := frame.ReaderLimits(options)
	if err != nil {
		t.Fatal(err)
	}
	return limits
}
