// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/confkeys"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal/anysignal"
	"github.com/otelstef/stef/internal/streamconf"
	"github.com/otelstef/stef/stef-go/schema"
)

// settings replace the defaults of the exporter. An empty field keeps the default.
type settings struct {
	optimize  stefexporter.Optimization // stef::optimize_for; the other fields have precedence, as in a configuration
	schema    streamconf.Schema
	level     string
	mode      streamconf.Mode // of all signals
	templates streamconf.Templates
}

// base are the settings that the flags select. Every variant has them, unless it replaces them.
var base settings

// setting is one field of the type settings. The field and its flag have the same name.
type setting struct {
	name  string
	value func(*settings) *string
}

var fields = []setting{
	{"optimize_for", func(s *settings) *string { return (*string)(&s.optimize) }},
	{"schema", func(s *settings) *string { return (*string)(&s.schema) }},
	{"level", func(s *settings) *string { return &s.level }},
	{"mode", func(s *settings) *string { return (*string)(&s.mode) }},
	{"templates", func(s *settings) *string { return (*string)(&s.templates) }},
}

// validate refuses values that the exporter does not know. The factory of the exporter does
// not validate its configuration, so an unknown level would block the benchmark.
func (s settings) validate() error {
	check := func(name string, err error) error {
		if err != nil {
			return fmt.Errorf("-%s: %w", name, err)
		}
		return nil
	}
	var ofSchema error
	if s.schema != "" {
		ofSchema = s.schema.Validate()
	}
	return cmp.Or(
		check("optimize_for", confkeys.OneOf("optimize_for", s.optimize, "", stefexporter.OptimizeCPU, stefexporter.OptimizeBalanced, stefexporter.OptimizeBytes)),
		check("schema", ofSchema),
		check("level", confkeys.OneOf("level", s.level, "", "auto", "fastest", "default", "better", "best")),
		check("mode", confkeys.OneOf("mode", s.mode, "", streamconf.Sorted, streamconf.Ordered)),
		check("templates", confkeys.OneOf("templates", s.templates, "", streamconf.TemplatesAuto, streamconf.TemplatesOn, streamconf.TemplatesOff)))
}

func (s settings) apply(c *stefexporter.StefConfig) {
	if s.optimize != "" {
		s.optimize.Apply(c)
	}
	if s.schema != "" {
		c.Schema = s.schema
	}
	if s.level != "" {
		c.CompressionLevel = s.level
	}
	if s.mode != "" {
		c.Mode = streamconf.ModeConfig{Traces: s.mode, Metrics: s.mode, Logs: s.mode}
	}
	if s.templates != "" {
		c.Templates = s.templates
	}
}

// with returns s with the fields of other that are not empty.
func (s settings) with(other settings) settings {
	for _, f := range fields {
		if value := *f.value(&other); value != "" {
			*f.value(&s) = value
		}
	}
	return s
}

// each splits s: for every field that is set in s, it returns settings in which only this field is set.
// The result has the order of the flags.
func (s settings) each() (list []settings) {
	for _, f := range fields {
		if value := *f.value(&s); value != "" {
			var one settings
			*f.value(&one) = value
			list = append(list, one)
		}
	}
	return list
}

// String returns the form that parseSettings reads, such as schema=full+mode=ordered.
func (s settings) String() string {
	var words []string
	for _, f := range fields {
		if value := *f.value(&s); value != "" {
			words = append(words, f.name+"="+value)
		}
	}
	return strings.Join(words, "+")
}

// without returns s without the fields that are set in other.
func (s settings) without(other settings) settings {
	for _, f := range fields {
		if *f.value(&other) != "" {
			*f.value(&s) = ""
		}
	}
	return s
}

// used are the settings that take effect in the encoder of a signal.
type used struct {
	root      *schema.Struct
	level     string
	mode      streamconf.Mode
	templates streamconf.Templates // of logs; empty for other signals
}

// of returns the settings that take effect for a signal. Different s can have the same result: for
// example, only logs have templates.
func (s settings) of(kind otlpfile.Signal) used {
	config := stefexporter.NewFactory().CreateDefaultConfig().(*stefexporter.Config).Stef
	s.apply(&config)
	d := anysignal.Of(kind)
	u := used{root: d.RootIn(config.Schema), level: config.CompressionLevel}
	if u.level == "auto" {
		u.level = d.AutoLevel(schema.WireOf(u.root)).String()
	}
	switch kind {
	case otlpfile.Metrics:
		u.mode = config.Mode.Metrics
	case otlpfile.Traces:
		u.mode = config.Mode.Traces
	default:
		u.mode, u.templates = config.Mode.Logs, config.Templates
	}
	return u
}

// parseSettings reads settings such as mode=ordered,schema=full+level=default: a comma separates settings that
// are measured one by one, a plus sign joins settings that are measured together.
func parseSettings(text string) (list []settings, err error) {
	if text == "" {
		return nil, nil
	}
	for element := range strings.SplitSeq(text, ",") {
		var s settings
		for word := range strings.SplitSeq(element, "+") {
			name, value, _ := strings.Cut(word, "=")
			i := slices.IndexFunc(fields, func(f setting) bool { return f.name == name })
			if i < 0 || value == "" {
				return nil, fmt.Errorf("-compare: %q is no setting; write, for example, -compare mode=ordered,schema=full+level=default (optimize_for, schema, level, mode, templates)", word)
			}
			*fields[i].value(&s) = value
		}
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("-compare: %w", err)
		}
		if slices.Contains(list, s) {
			return nil, fmt.Errorf("-compare: %s is there twice", s)
		}
		list = append(list, s)
	}
	return list, nil
}

// compared are the settings of -compare.
var compared []settings

// comparisons returns a variant of STEF for each element of -compare that changes something for
// a signal. same has a sentence for each element that changes nothing: it names settings with the
// same effect.
func comparisons(kind otlpfile.Signal) (variants []Variant, same []string) {
	known := map[used]string{base.of(kind): baseName()}
	for _, s := range compared {
		u := base.with(s).of(kind)
		if other, ok := known[u]; ok {
			same = append(same, fmt.Sprintf("%s is the same as %s for %s", s, other, kind))
			continue
		}
		known[u] = s.String()
		v := STEF
		v.Name, v.settings = STEF.Name+","+s.String(), s
		variants = append(variants, v)
	}
	return variants, same
}

func baseName() string {
	return cmp.Or(base.String(), "the defaults")
}

// idle names the flags that change nothing for a signal.
func idle(kind otlpfile.Signal) (names []string) {
	for _, one := range base.each() {
		if base.of(kind) == base.without(one).of(kind) {
			names = append(names, one.String())
		}
	}
	return names
}
