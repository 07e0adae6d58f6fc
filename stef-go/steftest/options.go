// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"testing"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/frame"
	"github.com/otelstef/stef/stef-go/schema"
)

// WriterSettings are the settings that result from options of a writer.
type WriterSettings struct {
	DictBytes    int               // stef.WithDictBytes
	WindowBytes  int               // stef.WithWindowBytes; 0: depends on the level
	WindowLimit  int               // stef.WithMaxWindowBytes; 0: none
	SchemaHeader bool              // stef.WithSchemaHeader
	Schema       schema.WireSchema // stef.WithSchema; nil: all fields
}

// WriterSettingsOf returns the settings of these options, or the defaults, for tests of code
// that creates options. It fails the test if an option is invalid.
func WriterSettingsOf(tb testing.TB, options ...stef.WriterOption) WriterSettings {
	tb.Helper()
	c, err := frame.WriterConfig(options)
	if err != nil {
		tb.Fatal(err)
	}
	return WriterSettings{c.DictBytes, c.WindowBytes, c.WindowLimit, c.WriteSchema, c.Schema}
}

// ReaderLimits returns the limits of a reader with these options, for tests of code
// that creates options. It fails the test if an option is invalid.
func ReaderLimits(tb testing.TB, options ...stef.ReaderOption) stef.Limits {
	tb.Helper()
	limits, err := frame.ReaderLimits(options)
	if err != nil {
		tb.Fatal(err)
	}
	return limits
}
