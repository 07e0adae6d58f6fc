// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package streamconf defines the part of a configuration that chooses how a component writes
// and reads streams: the schema, the order of items, templates and shared dictionaries. The
// components have aliases of these types.
package streamconf

import (
	"errors"
	"fmt"
	"os"

	"github.com/otelstef/stef/internal/confkeys"
	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Schema is the newest schema that a sender may use. The schema of a stream also
// depends on the receiver.
type Schema string

// The schemas.
const (
	// Compact is Full with the fields of the compact form. They hold times, values and ids as
	// differences from predictions, which makes most streams smaller (see package otelstef).
	Compact Schema = "compact"
	// Full has all fields of records. It carries everything that OTLP can express.
	Full Schema = "full"
	// Reference is the published schema, which the reference implementation uses.
	// Logs have no published schema; their oldest schema is Full.
	Reference Schema = "reference"
)

// Validate returns an error if the schema is unknown.
func (s Schema) Validate() error {
	switch s {
	case Compact, Full, Reference:
		return nil
	}
	return fmt.Errorf("schema is %q: set it to compact, full or reference", string(s))
}

// Mode is the order in which items are written.
type Mode string

// The modes.
const (
	// Sorted reorders items so that streams are small.
	Sorted Mode = "sorted"
	// Ordered keeps the order of the items.
	Ordered Mode = "ordered"
)

// ModeConfig has the order of items of each signal: sorted or ordered.
type ModeConfig struct {
	Traces  Mode `mapstructure:"traces"`
	Metrics Mode `mapstructure:"metrics"`
	Logs    Mode `mapstructure:"logs"`

	_ struct{}
}

// UnmarshalText reads one mode for all signals.
func (m *ModeConfig) UnmarshalText(text []byte) error {
	all := Mode(text)
	*m = ModeConfig{Traces: all, Metrics: all, Logs: all}
	return nil
}

// Validate returns an error that says what to change, if a mode is invalid.
func (m *ModeConfig) Validate() error {
	if m.Traces == m.Metrics && m.Metrics == m.Logs { // one text for all signals
		return confkeys.OneOf("mode", m.Traces, Sorted, Ordered)
	}
	return errors.Join(
		confkeys.OneOf("mode of traces", m.Traces, Sorted, Ordered),
		confkeys.OneOf("mode of metrics", m.Metrics, Sorted, Ordered),
		confkeys.OneOf("mode of logs", m.Logs, Sorted, Ordered),
	)
}

// Option returns the option for the encoder of a signal, by the name of the signal.
func (m *ModeConfig) Option(signal string) stefpdata.EncoderOption {
	if (map[string]Mode{"traces": m.Traces, "metrics": m.Metrics, "logs": m.Logs}[signal]) == Ordered {
		return stefpdata.WithMode(stefpdata.Ordered)
	}
	return stefpdata.WithMode(stefpdata.Sorted)
}

// Templates decides whether text bodies of logs are split into templates and
// parameters.
type Templates string

// The choices.
const (
	// TemplatesAuto splits text bodies in compressed streams.
	TemplatesAuto Templates = "auto"
	// TemplatesOn splits text bodies in every stream.
	TemplatesOn Templates = "on"
	// TemplatesOff never splits text bodies.
	TemplatesOff Templates = "off"
)

// Option returns the option for an encoder.
func (t Templates) Option() stefpdata.EncoderOption {
	switch t {
	case TemplatesOn:
		return stefpdata.WithTemplates(stefpdata.TemplatesOn)
	case TemplatesOff:
		return stefpdata.WithTemplates(stefpdata.TemplatesOff)
	}
	return stefpdata.WithTemplates(stefpdata.TemplatesAuto)
}

// ZstdDict reads a shared dictionary from a file. key is the configuration key that contains
// the path; errors begin with it.
func ZstdDict(key, path string) (*stef.ZstdDict, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	d, err := stef.NewZstdDict(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", key, path, err)
	}
	return d, nil
}

// ZstdDicts reads the shared dictionaries of a key.
func ZstdDicts(key string, paths []string) ([]*stef.ZstdDict, error) {
	var list []*stef.ZstdDict
	for _, path := range paths {
		d, err := ZstdDict(key, path)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}
