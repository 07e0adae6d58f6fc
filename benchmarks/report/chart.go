// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
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
	// Labels are the groups of bars; each series has a Y for each group.
	Labels []string
	Series []Series
	// Base is the name of the line at 1. It is for bars that show ratios.
	Base string
	// Clip is the height at which taller bars are cut. A cut bar shows its value, and the axis
	// mentions the cut. 0 cuts no bars. A missing or NaN value is shown as "n/a".
	Clip float64
	// Picture makes the report write the chart as a PNG too.
	Picture bool
}

// Series is the data drawn in one colour: see stylesOf.
type Series struct {
	Name   string
	Points []Point
}

// Point is a position in a chart. Bars use Y only.
type Point struct {
	X, Y float64
	// Label is written next to the point.
	Label string
}

// AddPoint appends a point to the series with a name. The first point of a series adds the series.
func (c *Chart) AddPoint(series string, p Point) {
	i := slices.IndexFunc(c.Series, func(s Series) bool { return s.Name == series })
	if i < 0 {
		i = len(c.Series)
		c.Series = append(c.Series, Series{Name: series})
	}
	c.Series[i].Points = append(c.Series[i].Points, p)
}

// Bars makes a series of bars.
func Bars(name string, values ...float64) Series {
	s := Series{Name: name}
	for _, v := range values {
		s.Points = append(s.Points, Point{Y: v})
	}
	return s
}

const (
	chartWidth  = 34 * vg.Centimeter
	chartHeight = 15 * vg.Centimeter
	// namedHeight is the height of charts with names at their points.
	namedHeight = 20 * vg.Centimeter
	margin      = 12 // points
	// chartDots is the resolution of pictures in dots per inch: pictures are 1,204 pixels wide.
	chartDots = 90
)

var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

var errEmptyChart = errors.New("report: the chart has no points")

func (c *Chart) height() vg.Length {
	for _, s := range c.Series {
		for _, p := range s.Points {
			if p.Label != "" {
				return namedHeight
			}
		}
	}
	return chartHeight
}

func (c *Chart) draw(canvas draw.Canvas) error {
	l := newLegend()
	p, err := c.plot(l)
	if err != nil {
		return err
	}
	area := draw.Crop(canvas, margin/2, -margin, margin, -margin/2)
	title := p.Title.TextStyle
	area.FillText(title, vg.Point{X: area.Center().X, Y: area.Max.Y}, c.Title)
	area.Max.Y -= title.Rectangle(c.Title).Size().Y + margin/2
	area.Max.Y -= l.draw(area) + margin/2
	p.Draw(area)
	return nil
}

// plot returns the chart without the title, and adds the series to the legend. On a logarithmic
// axis it omits values that are not above zero.
func (c *Chart) plot(l *legend) (*plot.Plot, error) {
	p := plot.New()
	for _, style := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font} {
		*style = font.From(sans, style.Size)
	}
	p.X.Label.Text, p.Y.Label.Text = c.X, c.Y
	p.Title.TextStyle.Font.Size = 13
	p.Title.TextStyle.YAlign = draw.YTop
	p.Add(plotter.NewGrid())
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	if len(c.Labels) > 0 {
		return p, c.bars(p, l)
	}
	if err := c.lines(p, l); err != nil {
		return nil, err
	}
	if !c.LogY {
		p.Y.Min = math.Min(0, p.Y.Min)
	}
	return p, nil
}

func (c *Chart) visible(p Point) bool {
	return !math.IsNaN(p.Y) && (!c.LogY || p.Y > 0) && (!c.LogX || p.X > 0)
}

func (c *Chart) lines(p *plot.Plot, l *legend) error {
	names := &pointNames{}
	styles := stylesOf(c.Series)
	for i, s := range c.Series {
		var xys plotter.XYs
		for _, point := range s.Points {
			if c.visible(point) {
				xys = append(xys, plotter.XY{X: point.X, Y: point.Y})
				names.add(point, styles[i].line, len(xys) > 1)
			}
		}
		if len(xys) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(xys)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = styles[i].line, vg.Points(1.5), styles[i].dashes
		marks.Color, marks.Radius = line.Color, vg.Points(2.2)
		marks.Shape = draw.CircleGlyph{}
		if len(xys) > 50 {
			p.Add(line)
			l.add(s.Name, line)
		} else {
			p.Add(line, marks)
			l.add(s.Name, line, marks)
		}
	}
	if len(names.points) == 0 {
		return errEmptyChart
	}
	if names.labelled() { // space for the names of the outer points
		p.X.Min, p.X.Max = wider(p.X.Min, p.X.Max, c.LogX)
		p.Y.Min, p.Y.Max = wider(p.Y.Min, p.Y.Max, c.LogY)
		p.Add(names)
	}
	return nil
}

// wider returns a range with space at both ends.
func wider(least, most float64, logarithmic bool) (float64, float64) {
	const space = 0.06
	if logarithmic {
		f := math.Pow(most/least, space)
		return least / f, most * f
	}
	return least - space*(most-least), most + space*(most-least)
}

func (c *Chart) bars(p *plot.Plot, l *legend) error {
	room := float64(chartWidth) * 0.9 / float64(len(c.Labels))
	width := vg.Length(room / float64(len(c.Series)+1))
	written := &barLabels{style: p.X.Tick.Label}
	written.style.Font.Size, written.style.Rotation = 8, math.Pi/2
	written.style.XAlign, written.style.YAlign = draw.XLeft, draw.YCenter
	drawn, isCut := false, false
	styles := stylesOf(c.Series)
	for i, s := range c.Series {
		offset := width * vg.Length(float64(i)-float64(len(c.Series)-1)/2)
		values := make(plotter.Values, len(c.Labels))
		for j := range values {
			if j >= len(s.Points) || math.IsNaN(s.Points[j].Y) {
				written.labels = append(written.labels, barLabel{float64(j), offset, 0, "n/a"})
				continue
			}
			values[j] = s.Points[j].Y
			drawn = drawn || values[j] > 0
			if c.Clip > 0 && values[j] > c.Clip {
				written.labels = append(written.labels, barLabel{float64(j), offset, c.Clip, Significant(2)(values[j])})
				values[j], isCut = c.Clip, true
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width, bars.Offset = styles[i].bar, 0, offset
		p.Add(bars)
		l.add(s.Name, bars)
	}
	if !drawn {
		return errEmptyChart
	}
	p.NominalX(c.Labels...)
	p.X.Tick.Label.Rotation = math.Pi / 4
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.X.Min, p.X.Max = -0.6, float64(len(c.Labels))-0.4
	if c.Base != "" {
		base, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: 1}, {X: p.X.Max, Y: 1}})
		if err != nil {
			return err
		}
		base.Color, base.Width = colourOf(c.Base), vg.Points(1)
		p.Add(base)
		l.add(c.Base, base)
	}
	if isCut {
		p.Y.Label.Text += fmt.Sprintf(" (bars are cut at %g)", c.Clip)
		p.Y.Max = c.Clip * 1.08 // space for the values
	} else {
		p.Y.Max = nextTick(p.Y.Max)
	}
	p.Add(written)
	return nil
}

// SVG returns the chart for embedding in a page.
func (c *Chart) SVG() ([]byte, error) {
	canvas := vgsvg.New(chartWidth, c.height())
	if err := c.draw(draw.New(canvas)); err != nil {
		return nil, err
	}
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
	canvas := vgimg.NewWith(vgimg.UseWH(chartWidth, c.height()), vgimg.UseDPI(chartDots), vgimg.UseBackgroundColor(color.White))
	if err := c.draw(draw.New(canvas)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&b)
	return b.Bytes(), err
}
