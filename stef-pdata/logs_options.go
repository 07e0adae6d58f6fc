// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import stef "github.com/otelstef/stef/stef-go"

// Templates says whether text bodies of log records are taken apart into a
// template and parameters.
type Templates uint8

// The choices.
const (
	// TemplatesAuto takes bodies apart in compressed streams, where that saves a
	// few per cent to a fifth of the bytes. In others it would save far more bytes,
	// but take more time than everything else.
	TemplatesAuto Templates = iota
	// TemplatesOff writes all bodies as they are.
	TemplatesOff
	// TemplatesOn takes bodies apart in any stream.
	TemplatesOn
)

// WithTemplates sets whether a LogsEncoder takes text bodies apart. Whatever the
// choice, it does not do so where templates do not return. Default TemplatesAuto.
func WithTemplates(templates Templates) EncoderOption {
	return func(c *encoderConfig) { c.templates = templates }
}

func (t Templates) use(compression stef.Compression) bool {
	return t == TemplatesOn || t == TemplatesAuto && compression != stef.None
}
