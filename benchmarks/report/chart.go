// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a line chart, or groups of bars if there are Labels.
type Chart struct {
	Name, Title, X, Y string
	LogX, LogY        bool
	// Labels are the groups of bars; each series has a Y for each of them.
	Labels []string
	Series []Series
	// Picture makes the report write the chart as a PNG too.
	Picture bool
}

// Series is the data drawn in one colour.
type Series struct {
	Name   string
	Points []Point
}

// Point is a position in a chart. Bars use Y only.
type Point struct{ X, Y float64 }

// Bars makes a series of bars.
func Bars(name string, values ...float64) Series {
	s := Series{Name: name}
	for _, v := range values {
		s.Points = append(s.Points, Point{Y: v})
	}
	return s
}

// colours are Okabe and Ito's, which people with any colour vision can
// distinguish.
var colours = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff}, color.RGBA{0xcc, 0x79, 0xa7, 0xff},
	color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff}, color.RGBA{0x00, 0x00, 0x00, 0xff}, color.RGBA{0xf0, 0xe4, 0x42, 0xff},
}

const (
	chartWidth  = 24 * vg.Centimeter
	chartHeight = 12 * vg.Centimeter
	margin      = 12 // points
	// chartDots is the resolution of pictures.
	chartDots = 90
)

// sans is the font of charts.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

var errEmptyChart = errors.New("report: the chart has no points")

// plot draws the chart. On a logarithmic axis it omits values that are not
// above zero.
func (c *Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	for _, style := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		*style = font.From(sans, style.Size)
	}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.TextStyle.Font.Size, p.Title.Padding = 13, vg.Points(6)
	p.Legend.Top, p.Legend.Padding, p.Legend.ThumbnailWidth = true, vg.Points(3), vg.Points(18)
	p.X.Tick.Label.Font.Size = 9
	p.Add(plotter.NewGrid())
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	var err error
	if len(c.Labels) > 0 {
		err = c.bars(p)
	} else {
		err = c.lines(p)
	}
	if err != nil {
		return nil, err
	}
	// Space for the legend.
	if c.LogY {
		p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, 0.25)
	} else {
		p.Y.Min = math.Min(0, p.Y.Min)
		p.Y.Max += (p.Y.Max - p.Y.Min) * 0.06 * float64(len(c.Series)+1)
	}
	return p, nil
}

// ticks are plot's ticks with readable labels. If there would be few labels,
// small ticks are labelled too.
type ticks struct{}

const fewLabels, manyTicks = 4, 12

func (ticks) Ticks(least, most float64) []plot.Tick {
	all := plot.DefaultTicks{}.Ticks(least, most)
	labels, inside := 0, 0
	for _, t := range all {
		if t.Value < least || t.Value > most {
			continue
		}
		inside++
		if t.Label != "" {
			labels++
		}
	}
	for i, t := range all {
		if t.Label != "" || labels < fewLabels && inside <= manyTicks {
			all[i].Label = tickLabel(t.Value)
		}
	}
	slices.SortFunc(all, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	return all
}

// tickLabel writes large numbers in groups of digits, and small ones unchanged.
func tickLabel(v float64) string {
	if math.Abs(v) >= 1000 {
		return Whole(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// logTicks are the ticks of plot.LogTicks, with labels at 2 and 5 too if there
// is space.
type logTicks struct{}

func (logTicks) Ticks(least, most float64) []plot.Tick {
	// Below 1, plot begins above the smallest value: it rounds towards 1.
	ticks := plot.LogTicks{Prec: -1}.Ticks(least/10, most)
	narrow := math.Log10(most/least) <= 4
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = tickLabel(t.Value)
		}
		first := math.Round(t.Value / math.Pow(10, math.Floor(math.Log10(t.Value)+1e-9)))
		if narrow && t.Label == "" && (first == 2 || first == 5) {
			ticks[i].Label = tickLabel(t.Value)
		}
	}
	return ticks
}

func (c *Chart) lines(p *plot.Plot) error {
	drawn := 0
	for i, s := range c.Series {
		var xys plotter.XYs
		for _, point := range s.Points {
			if math.IsNaN(point.Y) || c.LogY && point.Y <= 0 || c.LogX && point.X <= 0 {
				continue
			}
			xys = append(xys, plotter.XY(point))
		}
		if len(xys) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(xys)
		if err != nil {
			return err
		}
		line.Color, line.Width = colours[i%len(colours)], vg.Points(1.5)
		marks.Color, marks.Radius = line.Color, vg.Points(2)
		marks.Shape = draw.CircleGlyph{}
		if len(xys) > 50 {
			p.Add(line)
			p.Legend.Add(s.Name, line)
		} else {
			p.Add(line, marks)
			p.Legend.Add(s.Name, line, marks)
		}
		drawn += len(xys)
	}
	if drawn == 0 {
		return errEmptyChart
	}
	return nil
}

func (c *Chart) bars(p *plot.Plot) error {
	room := float64(chartWidth) * 0.8 / float64(len(c.Labels))
	width := vg.Length(room / float64(len(c.Series)+1))
	least := math.Inf(1)
	for i, s := range c.Series {
		values := make(plotter.Values, len(c.Labels))
		for j := range values {
			if j < len(s.Points) && !math.IsNaN(s.Points[j].Y) {
				values[j] = s.Points[j].Y
				if values[j] > 0 {
					least = math.Min(least, values[j])
				}
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = colours[i%len(colours)], 0
		bars.Offset = width * vg.Length(float64(i)-float64(len(c.Series)-1)/2)
		p.Add(bars)
		p.Legend.Add(s.Name, bars)
	}
	if math.IsInf(least, 1) {
		return errEmptyChart
	}
	p.NominalX(c.Labels...)
	p.X.Min, p.X.Max = -0.6, float64(len(c.Labels))-0.4
	return nil
}

// SVG returns the chart for embedding in a page.
func (c *Chart) SVG() ([]byte, error) {
	p, err := c.plot()
	if err != nil {
		return nil, err
	}
	canvas := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.Crop(draw.New(canvas), margin/2, -margin, margin, -margin/2))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	// The text before the svg element is needed in separate files only.
	svg := b.Bytes()
	if at := bytes.Index(svg, []byte("<svg")); at > 0 {
		svg = svg[at:]
	}
	return fitText(svg), nil
}

// texts matches the text elements that vgsvg writes.
var texts = regexp.MustCompile(`(?s)<text ([^>]*?)style="font-family:Liberation Sans;([^"]*)font-size:([0-9.]+)px([^"]*)">(.*?)</text>`)

// fitText sets the width of text to the width used for its layout, because the
// font of a browser may be wider and overlap neighbouring text.
func fitText(svg []byte) []byte {
	return texts.ReplaceAllFunc(svg, func(found []byte) []byte {
		part := texts.FindSubmatch(found)
		size, err := strconv.ParseFloat(string(part[3]), 64)
		if err != nil {
			return found
		}
		face := font.DefaultCache.Lookup(sans, vg.Points(size))
		return fmt.Appendf(nil, `<text %stextLength="%.1f" lengthAdjust="spacingAndGlyphs" style="font-family:'Liberation Sans',Arial,Helvetica,sans-serif;%sfont-size:%spx%s">%s</text>`,
			part[1], face.Width(html.UnescapeString(string(part[5]))).Points(), part[2], part[3], part[4], part[5])
	})
}

// PNG returns the chart as a picture.
func (c *Chart) PNG() ([]byte, error) {
	p, err := c.plot()
	if err != nil {
		return nil, err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(chartWidth, chartHeight), vgimg.UseDPI(chartDots), vgimg.UseBackgroundColor(color.White))
	p.Draw(draw.Crop(draw.New(canvas), margin/2, -margin, margin, -margin/2))
	var b bytes.Buffer
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(&b)
	return b.Bytes(), err
}
