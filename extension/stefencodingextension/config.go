// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelstef/stef/internal/confkeys"
	"github.com/otelstef/stef/internal/streamconf"
	stef "github.com/otelstef/stef/stef-go"
)

const mib = 1 << 20

// Config is the configuration of the extension. README.md has every key with
// its default.
type Config struct {
	// Schema is the schema in which records are written: compact, full or reference.
	Schema Schema `mapstructure:"schema"`
	// Compression is zstd or none.
	Compression string `mapstructure:"compression"`
	// CompressionLevel is fastest, default, better or best.
	CompressionLevel string `mapstructure:"compression_level"`
	// Mode is the order in which items are written.
	Mode ModeConfig `mapstructure:"mode"`
	// Templates says whether text bodies of logs are split into templates.
	Templates Templates `mapstructure:"templates"`
	// Dictionary is the path of a shared zstd dictionary, for marshaling and
	// unmarshaling.
	Dictionary string `mapstructure:"dictionary"`
	// ReadDictionaries are further dictionaries for unmarshaling, such as the previous
	// value of Dictionary.
	ReadDictionaries []string `mapstructure:"read_dictionaries"`
	// Limits bound the size and the memory of messages that are unmarshaled.
	Limits LimitsConfig `mapstructure:"limits"`

	_ struct{}
}

// Schema is the schema in which the records of a message are written.
type Schema = streamconf.Schema

// The schemas.
const (
	// SchemaCompact is the full schema with the fields of the compact form, which hold times,
	// values and ids as differences. Only readers of this repository know these fields.
	SchemaCompact = streamconf.Compact
	// SchemaFull is the full schema, which carries everything that OTLP can express.
	SchemaFull = streamconf.Full
	// SchemaReference is the schema of the reference implementation, for readers that
	// know no other schema. It has no logs.
	SchemaReference = streamconf.Reference
)

// ModeConfig has the order of items of each signal: sorted or ordered.
type ModeConfig = streamconf.ModeConfig

// Mode is the order in which items are written.
type Mode = streamconf.Mode

// The modes.
const (
	// ModeSorted writes items in the order that makes messages small.
	ModeSorted = streamconf.Sorted
	// ModeOrdered keeps the order of items.
	ModeOrdered = streamconf.Ordered
)

// Templates says whether text bodies of logs are split into templates.
type Templates = streamconf.Templates

// The choices of Templates.
const (
	// TemplatesAuto splits bodies in compressed messages.
	TemplatesAuto = streamconf.TemplatesAuto
	// TemplatesOn splits bodies in any message.
	TemplatesOn = streamconf.TemplatesOn
	// TemplatesOff never splits bodies.
	TemplatesOff = streamconf.TemplatesOff
)

// LimitsConfig bounds the size and the memory of messages that are unmarshaled.
type LimitsConfig struct {
	// MaxMessageMiB bounds a message as it arrives.
	MaxMessageMiB int `mapstructure:"max_message_mib"`
	// MaxFrameMiB bounds a frame of a message after decompression.
	MaxFrameMiB int `mapstructure:"max_frame_mib"`
	// MaxRecordAllocMiB bounds the memory that one record may allocate.
	MaxRecordAllocMiB int `mapstructure:"max_record_alloc_mib"`
	// MaxDictMiB bounds the dictionaries of a message.
	MaxDictMiB int `mapstructure:"max_dict_mib"`
	// MaxDecodedMiB bounds the decoded size of a message, measured as OTLP. The estimated memory
	// of the message may be at most 8 times this limit.
	MaxDecodedMiB int `mapstructure:"max_decoded_mib"`

	_ struct{}
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
	_ confmap.Validator   = (*LimitsConfig)(nil)
)

func createDefaultConfig() component.Config {
	return &Config{
		Schema:           SchemaCompact,
		Compression:      stef.Zstd.String(),
		CompressionLevel: stef.LevelDefault.String(),
		Mode:             ModeConfig{Traces: ModeSorted, Metrics: ModeSorted, Logs: ModeOrdered},
		Templates:        TemplatesAuto,
		Limits: LimitsConfig{
			MaxMessageMiB:     64,
			MaxFrameMiB:       32,
			MaxRecordAllocMiB: 16,
			MaxDictMiB:        64,
			MaxDecodedMiB:     256,
		},
	}
}

var configKeys = confkeys.Keys{
	Sections: []confkeys.Section{
		confkeys.Of[Config](""),
		confkeys.Of[ModeConfig]("mode"),
		confkeys.Of[LimitsConfig]("limits"),
	},
	Choices: map[string]string{
		"schema":            "compact, full or reference",
		"compression":       "zstd or none",
		"compression_level": "fastest, default, better or best",
		"mode::traces":      "sorted or ordered",
		"mode::metrics":     "sorted or ordered",
		"mode::logs":        "sorted or ordered",
		"templates":         "auto, on or off",
	},
}

// Unmarshal reports unknown keys with a suggestion.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	return configKeys.Read(conf.ToStringMap(), func() error { return conf.Unmarshal(c) })
}

// Validate reports the mistakes in the configuration, other than those of the types of Schema, Mode
// and Limits: the Collector calls the Validate methods of all fields.
func (c *Config) Validate() error {
	return errors.Join(
		c.validateDictionaries(),
		confkeys.OneOf("compression", c.Compression, stef.Zstd.String(), stef.None.String()),
		confkeys.OneOf("compression_level", c.CompressionLevel,
			stef.LevelFastest.String(), stef.LevelDefault.String(), stef.LevelBetter.String(), stef.LevelBest.String()),
		confkeys.OneOf("templates", c.Templates, TemplatesAuto, TemplatesOn, TemplatesOff),
	)
}

// maxReadDictionaries is the maximum number of dictionaries that a reader can use in
// addition to Dictionary.
const maxReadDictionaries = 3

func (c *Config) validateDictionaries() error {
	if len(c.ReadDictionaries) > maxReadDictionaries {
		return fmt.Errorf("read_dictionaries has %d files, at most %d are allowed", len(c.ReadDictionaries), maxReadDictionaries)
	}
	if c.Dictionary != "" && c.Compression == stef.None.String() {
		return errors.New("dictionary has no effect with compression none: remove it, or set compression to zstd")
	}
	return nil
}

// dictionaries reads all dictionaries, Dictionary first.
func (c *Config) dictionaries() ([]*stef.ZstdDict, error) {
	var own []string
	if c.Dictionary != "" {
		own = []string{c.Dictionary}
	}
	first, err := streamconf.ZstdDicts("dictionary", own)
	if err != nil {
		return nil, err
	}
	further, err := streamconf.ZstdDicts("read_dictionaries", c.ReadDictionaries)
	return append(first, further...), err
}

// Validate reports every limit that is out of range.
func (c *LimitsConfig) Validate() error {
	const formatMiB = stef.MaxFrameBytes / mib
	return errors.Join(
		confkeys.Between("max_message_mib", c.MaxMessageMiB, 1, maxMiB, "the default is 64"),
		confkeys.Between("max_frame_mib", c.MaxFrameMiB, 1, formatMiB, fmt.Sprintf("the format allows no frame above %d MiB, the default is 32", formatMiB)),
		confkeys.Between("max_record_alloc_mib", c.MaxRecordAllocMiB, 1, maxMiB, "the default is 16"),
		confkeys.Between("max_dict_mib", c.MaxDictMiB, 1, maxMiB, "the default is 64"),
		confkeys.Between("max_decoded_mib", c.MaxDecodedMiB, 1, maxMiB, "the default is 256"),
	)
}

// maxMiB bounds sizes in MiB, so that the bytes fit into an int of 32 bits.
const maxMiB = math.MaxInt32 / mib
