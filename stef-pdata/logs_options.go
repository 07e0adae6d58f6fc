// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
)

// Templates selects whether text bodies of log records are split into a template and
// parameters.
type Templates uint8

// The values of Templates.
const (
	// TemplatesAuto splits bodies in compressed streams if the saved bytes are worth the CPU
	// time at both ends. It splits no bodies in uncompressed streams: splitting would save far
	// more bytes there, but take more time than all other work.
	TemplatesAuto Templates = iota
	// TemplatesOff writes all bodies as they are.
	TemplatesOff
	// TemplatesOn splits bodies in uncompressed streams, and in compressed streams if this
	// saves bytes.
	TemplatesOn
)

// String returns the choice as the configurations of the Collector components spell it: auto,
// off or on.
func (t Templates) String() string {
	switch t {
	case TemplatesAuto:
		return "auto"
	case TemplatesOff:
		return "off"
	case TemplatesOn:
		return "on"
	}
	return fmt.Sprintf("Templates(%d)", uint8(t))
}

// WithTemplates sets whether a LogsEncoder splits text bodies. Bodies whose templates do
// not repeat are never split. In compressed streams, samples of the bodies show what
// templates save. The default is TemplatesAuto. WithTemplates panics if templates is none
// of the three choices.
func WithTemplates(templates Templates) EncoderOption {
	if templates > TemplatesOn {
		panic(fmt.Sprintf("stefpdata: Templates(%d) is none of TemplatesAuto, TemplatesOff and TemplatesOn", uint8(templates)))
	}
	return func(c *encoderConfig) { c.templates = templates }
}

func (t Templates) use(compression stef.Compression) bool {
	return t == TemplatesOn || t == TemplatesAuto && compression != stef.None
}
