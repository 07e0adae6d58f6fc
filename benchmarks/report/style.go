// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
)

// families are the formats with the colour that each has in every chart. A series has the
// colour of the first family whose name is a prefix of its own name. Most colours are from the
// palette of Okabe and Ito, which people with any colour vision can distinguish.
var families = []struct {
	name   string
	colour color.RGBA
}{
	{"STEF optimize_for", color.RGBA{0x6a, 0x3d, 0x9a, 0xff}},
	{"STEF reference", color.RGBA{0xe6, 0x9f, 0x00, 0xff}},
	{"STEF full", color.RGBA{0x00, 0x9e, 0x73, 0xff}},
	{"STEF ordered", color.RGBA{0x56, 0xb4, 0xe9, 0xff}},
	{"STEF", color.RGBA{0x00, 0x72, 0xb2, 0xff}},
	{"OTLP", color.RGBA{0x00, 0x00, 0x00, 0xff}},
	{"Otel Arrow", color.RGBA{0xd5, 0x5e, 0x00, 0xff}},
	{"Arrow IPC", color.RGBA{0xcc, 0x79, 0xa7, 0xff}},
	{"Parquet", color.RGBA{0x80, 0x80, 0x80, 0xff}},
}

// others are the colours of series that are not formats: the first such series has the first
// colour.
var others = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x00, 0x00, 0xff}, {0xf0, 0xe4, 0x42, 0xff},
}

// familyOf returns the index of the family of a series, or -1 if the name of the series
// has no family as prefix.
func familyOf(name string) int {
	for i, f := range families {
		if strings.HasPrefix(name, f.name) {
			return i
		}
	}
	return -1
}

// colourOf returns the colour of a format, or black.
func colourOf(name string) color.RGBA {
	if i := familyOf(name); i >= 0 {
		return families[i].colour
	}
	return color.RGBA{A: 0xff}
}

// style is the look of a series. If several series share a colour, their lines differ in
// dashes and their bars in brightness.
type style struct {
	line, bar color.RGBA
	dashes    []vg.Length
}

// dashes are the patterns of the first, second, ... line of a colour.
var dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(2), vg.Points(2), vg.Points(2)}}

func stylesOf(series []Series) []style {
	used := map[color.RGBA]int{}
	var styles []style
	for i, s := range series {
		colour := others[i%len(others)]
		if f := familyOf(s.Name); f >= 0 {
			colour = families[f].colour
		}
		styles = append(styles, style{colour, lighter(colour, used[colour]), dashes[used[colour]%len(dashes)]})
		used[colour]++
	}
	return styles
}

// lighter returns c after n steps towards white. The n-th series of a colour has bars of
// lighter(c, n).
func lighter(c color.RGBA, n int) color.RGBA {
	for range n {
		mix := func(v uint8) uint8 { return uint8((3*int(v) + 2*0xff) / 5) }
		c = color.RGBA{mix(c.R), mix(c.G), mix(c.B), c.A}
	}
	return c
}
