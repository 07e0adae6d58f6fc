// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// maxText is the length to which long values are cut.
const maxText = 100

// fieldText describes a part of a header.
func fieldText(d dynamic.TraceField) string {
	switch v := d.Value.(type) {
	case nil:
		return d.Name
	case string:
		return d.Name + " " + quoted(v)
	default:
		return fmt.Sprint(d.Name, " ", v)
	}
}

// isRest reports whether the bits of a detail are padding or were not read, so they have no value.
func isRest(detail any) bool {
	switch detail.(type) {
	case dynamic.TracePadding, dynamic.TraceUnread:
		return true
	}
	return false
}

func restText(e *dynamic.Event) string {
	switch {
	case e.Detail == dynamic.TracePadding{}:
		return "padding"
	case e.Bits < 0:
		return "not read, " + plural(uint64(len(e.Data)), "byte")
	}
	return "not read"
}

func columnHeading(c dynamic.Column, t *schema.Type) string {
	unit := "bytes"
	if c.Bits {
		unit = "bits"
	}
	return fmt.Sprintf("# %s: %s in %s, %s\n", c.Path, typeText(t), unit, plural(uint64(c.Size), "byte"))
}

func typeText(t *schema.Type) string {
	switch {
	case t.Kind == schema.KindArray:
		return "array"
	case t.Kind.Composite(), t.Kind == schema.KindEnum:
		return t.Kind.String() + " " + t.Name
	case t.Dict != "":
		return t.Kind.String() + " dict(" + t.Dict + ")"
	}
	return t.Kind.String()
}

// meaning describes a code in a column.
func (p *printer) meaning(e *dynamic.Event) string {
	var where strings.Builder
	if e.Record > 0 {
		fmt.Fprintf(&where, "r%d", e.Record)
		index := e.Index
		if len(index) > maxIndex {
			fmt.Fprintf(&where, "[...%d more]", len(index)-maxIndex)
			index = index[len(index)-maxIndex:]
		}
		for _, i := range index {
			fmt.Fprintf(&where, "[%d]", i)
		}
		where.WriteString(": ")
	}
	return where.String() + p.valueText(e)
}

// maxIndex is the maximum number of indexes that are printed for a value in nested arrays and
// multimaps. The outermost indexes are omitted.
const maxIndex = 6

func (p *printer) valueText(e *dynamic.Event) string {
	switch d := e.Detail.(type) {
	case dynamic.TraceBool:
		return strconv.FormatBool(d.Value)
	case dynamic.TraceNumber:
		return fmt.Sprintf("%s (dod %d, delta %d)", numberText(e.Type, d.Value), d.Change, d.Delta)
	case dynamic.TraceFloat:
		return floatText(d)
	case dynamic.TraceText:
		return textText(d)
	case dynamic.TraceStruct:
		return structText(e, d)
	case dynamic.TraceRef:
		return p.entryText(e.Type, d.Ref, d.Value)
	case dynamic.TraceEntry:
		return "becomes " + p.entryText(e.Type, d.Ref, d.Value)
	case dynamic.TraceChoice:
		return choiceText(e, d)
	case dynamic.TraceLength:
		return plural(d.Length, "element")
	case dynamic.TracePairs:
		return "in full, " + plural(d.Pairs, "pair")
	case dynamic.TraceChanged:
		return changedText(d.Changed)
	}
	return restText(e)
}

func numberText(t *schema.Type, v any) string {
	if n, ok := v.(uint64); ok && t.Kind == schema.KindEnum && t.Enum != nil {
		for _, named := range t.Enum.Values {
			if named.Value == n {
				return fmt.Sprintf("%d %s", n, named.Name)
			}
		}
	}
	return fmt.Sprint(v)
}

func floatText(d dynamic.TraceFloat) string {
	v := strconv.FormatFloat(d.Value, 'g', -1, 64)
	switch {
	case d.Bits == 0:
		return v + " (same)"
	case d.New:
		return fmt.Sprintf("%s (new window: lead %d, trail %d, %s)", v, d.Lead, d.Trail, plural(uint64(d.Bits), "bit"))
	}
	return fmt.Sprintf("%s (window: lead %d, trail %d, %s)", v, d.Lead, d.Trail, plural(uint64(d.Bits), "bit"))
}

func textText(d dynamic.TraceText) string {
	value := ""
	switch v := d.Value.(type) {
	case string:
		value = quoted(v)
	case []byte:
		value = fmt.Sprintf("hex %x", v[:min(len(v), maxText/2)])
		if len(v) == 0 {
			value = "no bytes"
		} else if len(v) > maxText/2 {
			value += fmt.Sprintf("... (%d bytes)", len(v))
		}
	}
	switch {
	case d.Ref >= 0:
		return fmt.Sprintf("%s[%d] = %s", d.Dict, d.Ref, value)
	case d.Entry >= 0:
		return fmt.Sprintf("%s, becomes %s[%d]", value, d.Dict, d.Entry)
	}
	return value
}

func quoted(s string) string {
	if len(s) <= maxText {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxText]) + fmt.Sprintf("... (%d bytes)", len(s))
}

// structText returns the names of the fields whose bits are set in the masks of a struct.
func structText(e *dynamic.Event, d dynamic.TraceStruct) string {
	modified, present := "", ""
	optional := 0
	for i, f := range e.Type.Struct.Fields[:d.Fields] {
		if d.Modified>>i&1 == 1 {
			modified += " " + f.Name
		}
		if f.Optional {
			if d.Presence>>optional&1 == 1 {
				present += " " + f.Name
			}
			optional++
		}
	}
	text := "nothing modified"
	if modified != "" {
		text = "modified" + modified
	}
	if d.Optional > 0 {
		if present == "" {
			present = " nothing"
		}
		text += "; present" + present
	}
	if e.Type.Struct.Dict != "" {
		return "in full, " + text
	}
	return text
}

func (p *printer) entryText(t *schema.Type, ref uint64, v *dynamic.Struct) string {
	text, ok := p.entries[v]
	if !ok {
		line, err := dynamic.AppendJSON(nil, t.Struct, nil, v)
		if err != nil {
			line = []byte(err.Error())
		}
		if len(line) > maxText {
			line = append(line[:maxText:maxText], "..."...)
		}
		text = printable(string(line))
		p.entries[v] = text
	}
	return fmt.Sprintf("%s[%d] = %s", t.Struct.Dict, ref, text)
}

// printable removes characters that could disturb a terminal, and a truncated rune
// at the end.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '.'
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

func choiceText(e *dynamic.Event, d dynamic.TraceChoice) string {
	text := "none"
	if d.Choice > 0 {
		text = e.Type.Struct.Fields[d.Choice-1].Name
	}
	if d.Missing > 0 {
		text += fmt.Sprintf(", %s missing", plural(uint64(d.Missing), "bit"))
	}
	return text
}

func changedText(changed uint64) string {
	if changed == 0 {
		return "values only, none"
	}
	text := "values only, of"
	for i := range 64 {
		if changed>>i&1 == 1 {
			text += fmt.Sprintf(" [%d]", i)
		}
	}
	return text
}

func plural(n uint64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
