// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Optimization is a choice between CPU time and bytes. README.md has figures.
type Optimization string

// The choices.
const (
	// OptimizeCPU saves CPU time at both ends, mainly for logs.
	OptimizeCPU Optimization = "cpu"
	// OptimizeBalanced is the default.
	OptimizeBalanced Optimization = "balanced"
	// OptimizeBytes makes streams small. In a steady stream it costs about twice the CPU time of
	// OptimizeBalanced.
	OptimizeBytes Optimization = "bytes"
)

// levelAuto selects the level of zstd by the signal and the schema of the stream.
const levelAuto = "auto"

// Apply sets the options that follow from the choice.
func (o Optimization) Apply(c *StefConfig) {
	c.OptimizeFor = o
	switch o {
	case OptimizeCPU:
		c.CompressionLevel = stef.LevelFastest.String()
		c.Templates = TemplatesOff
	case OptimizeBytes:
		c.CompressionLevel = stef.LevelBest.String()
		c.Templates = TemplatesOn
	}
}

// EncoderOptions returns the options of the encoder for a signal.
func (c *StefConfig) EncoderOptions(signal string) []stefpdata.EncoderOption {
	return []stefpdata.EncoderOption{c.Mode.Option(signal), c.Templates.Option()}
}
