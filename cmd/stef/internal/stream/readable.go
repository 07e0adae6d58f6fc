// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"slices"
	"strings"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Readable returns a record as its sender passed it. Writers send text bodies of log records as
// templates with parameters, and observed times as differences. Readable returns a copy of a log
// record with the text and the time instead. It keeps bodies whose parameters do not fit the
// template. It returns records of other signals unchanged.
func (r *Root) Readable(rec *dynamic.Struct) *dynamic.Struct {
	if r.Signal != otlpfile.Logs {
		return rec
	}
	at := fieldOf(r.Struct, "Record")
	log, t := rec.Fields[at].(*dynamic.Struct), r.Struct.Fields[at].Type.Struct
	readable := &dynamic.Struct{Fields: slices.Clone(log.Fields), Present: slices.Clone(log.Present)}

	if delta := fieldOf(t, "ObservedDelta"); log.Present[delta] {
		readable.Present[delta] = false
		readable.Fields[fieldOf(t, "ObservedTime")] = log.Fields[fieldOf(t, "Time")].(uint64) + uint64(log.Fields[delta].(int64))
	}
	body := fieldOf(t, "Body")
	oneof, choices := log.Fields[body].(*dynamic.Oneof), t.Fields[body].Type.Struct
	if template := fieldOf(choices, "Template"); oneof.Choice == template+1 {
		if text, ok := joined(oneof.Value.(*dynamic.Struct)); ok {
			readable.Fields[body] = &dynamic.Oneof{Choice: fieldOf(choices, "String") + 1, Value: text}
		}
	}
	fields := slices.Clone(rec.Fields)
	fields[at] = readable
	return &dynamic.Struct{Fields: fields, Present: rec.Present}
}

// joined returns the text of a template with its parameters. The first field of v is the template,
// and the second field has the parameters.
//
// spec: #otlp-logs
func joined(v *dynamic.Struct) (text string, ok bool) {
	pieces := strings.Split(v.Fields[0].(string), "\x00")
	params := v.Fields[1].(*dynamic.Multimap).Pairs
	if len(pieces) != len(params)+1 {
		return "", false
	}
	var b strings.Builder
	for i, p := range params {
		b.WriteString(pieces[i])
		b.WriteString(p.Value.(string))
	}
	b.WriteString(pieces[len(params)])
	return b.String(), true
}

// fieldOf returns the index of a field. The field must exist.
func fieldOf(s *schema.Struct, name string) int {
	return slices.IndexFunc(s.Fields, func(f *schema.Field) bool { return f.Name == name })
}
