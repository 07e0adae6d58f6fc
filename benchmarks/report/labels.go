// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func textStyle(size vg.Length) text.Style {
	return text.Style{Color: color.Black, Font: font.From(sans, size), Handler: plot.DefaultTextHandler, XAlign: draw.XLeft, YAlign: draw.YCenter}
}

// legend has the names of the series, in rows above the plot.
type legend struct {
	style   text.Style
	entries []legendEntry
}

type legendEntry struct {
	name   string
	thumbs []plot.Thumbnailer
}

func newLegend() *legend { return &legend{style: textStyle(11)} }

func (l *legend) add(name string, thumbs ...plot.Thumbnailer) {
	l.entries = append(l.entries, legendEntry{name, thumbs})
}

const (
	legendRow   = 15 // in points, like the other sizes
	legendThumb = 20
	legendGap   = 16
	legendTop   = 10
)

// draw draws the rows, each centred, and returns their total height.
func (l *legend) draw(c draw.Canvas) vg.Length {
	width := func(e legendEntry) vg.Length { return legendThumb + 4 + l.style.Width(e.name) }
	y := c.Max.Y
	for rest := l.entries; len(rest) > 0; {
		n, used := 1, width(rest[0])
		for n < len(rest) && used+legendGap+width(rest[n]) <= c.Max.X-c.Min.X {
			used += legendGap + width(rest[n])
			n++
		}
		x := c.Center().X - used/2
		for _, e := range rest[:n] {
			box := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y - legendTop - 2}, Max: vg.Point{X: x + legendThumb, Y: y - 2}}}
			for _, t := range e.thumbs {
				t.Thumbnail(&box)
			}
			c.FillText(l.style, vg.Point{X: x + legendThumb + 4, Y: box.Center().Y}, e.name)
			x += width(e) + legendGap
		}
		y -= legendRow
		rest = rest[n:]
	}
	return c.Max.Y - y
}

// barLabels writes text above bars: the values of cut bars, and "n/a" for bars without a value.
type barLabels struct {
	style  text.Style
	labels []barLabel
}

type barLabel struct {
	x      float64
	offset vg.Length
	y      float64
	text   string
}

// Plot implements plot.Plotter.
func (b *barLabels) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, l := range b.labels {
		c.FillText(b.style, vg.Point{X: toX(l.x) + l.offset, Y: toY(l.y) + 2}, l.text)
	}
}

// pointNames writes the labels of points. If there is space, a label covers no other label, no
// point and no line: see place.
type pointNames struct {
	points []namedPoint
}

type namedPoint struct {
	Point
	colour color.Color
	// joined is set if a line connects the point with the point before it.
	joined bool
}

func (n *pointNames) add(p Point, colour color.Color, joined bool) {
	n.points = append(n.points, namedPoint{p, colour, joined})
}

func (n *pointNames) labelled() bool {
	return slices.ContainsFunc(n.points, func(p namedPoint) bool { return p.Label != "" })
}

// Plot implements plot.Plotter.
func (n *pointNames) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	at := func(p namedPoint) vg.Point { return vg.Point{X: toX(p.X), Y: toY(p.Y)} }
	var taken, lines []vg.Rectangle
	for i, point := range n.points {
		taken = append(taken, boxAt(at(point), vg.Point{X: 6, Y: 6}))
		if !point.joined {
			continue
		}
		from, to := at(n.points[i-1]), at(point)
		steps := int(distance(from, to)/4) + 1
		for k := range steps {
			share := vg.Length(k) / vg.Length(steps)
			lines = append(lines, boxAt(vg.Point{X: from.X + share*(to.X-from.X), Y: from.Y + share*(to.Y-from.Y)}, vg.Point{X: 4, Y: 4}))
		}
	}
	for _, point := range n.points {
		if point.Label == "" {
			continue
		}
		style := textStyle(9)
		style.Color = point.colour
		size := vg.Point{X: style.Width(point.Label), Y: 9}
		box := place(at(point), size, c.Rectangle, taken, lines)
		taken = append(taken, box)
		if end := nearest(box, at(point)); distance(end, at(point)) > 8 {
			c.StrokeLine2(draw.LineStyle{Color: point.colour, Width: vg.Points(0.4)}, at(point).X, at(point).Y, end.X, end.Y)
		}
		c.FillText(style, vg.Point{X: box.Min.X, Y: (box.Min.Y + box.Max.Y) / 2}, point.Label)
	}
}

func boxAt(p, size vg.Point) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: p.X - size.X/2, Y: p.Y - size.Y/2}, Max: vg.Point{X: p.X + size.X/2, Y: p.Y + size.Y/2}}
}

// place returns the rectangle for a label near p: the nearest rectangle that overlaps nothing,
// otherwise the nearest rectangle that overlaps only lines. If neither exists, place returns the
// rectangle to the right of p.
func place(p, size vg.Point, within vg.Rectangle, taken, lines []vg.Rectangle) vg.Rectangle {
	const directions, steps = 24, 25
	for _, avoid := range [][]vg.Rectangle{slices.Concat(taken, lines), taken} {
		for step := range steps {
			for direction := range directions {
				sin, cos := math.Sincos(2 * math.Pi * float64(direction) / directions)
				gap := vg.Length(4 + 3*step)
				box := boxAt(vg.Point{X: p.X + vg.Length(cos)*(gap+size.X/2), Y: p.Y + vg.Length(sin)*(gap+size.Y/2)}, size)
				inside := box.Min.X >= within.Min.X && box.Max.X <= within.Max.X && box.Min.Y >= within.Min.Y && box.Max.Y <= within.Max.Y
				if inside && free(box, avoid) {
					return box
				}
			}
		}
	}
	return boxAt(vg.Point{X: p.X + size.X/2 + 4, Y: p.Y}, size)
}

func free(box vg.Rectangle, others []vg.Rectangle) bool {
	for _, o := range others {
		if box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y {
			return false
		}
	}
	return true
}

func nearest(box vg.Rectangle, p vg.Point) vg.Point {
	return vg.Point{X: max(box.Min.X, min(p.X, box.Max.X)), Y: max(box.Min.Y, min(p.Y, box.Max.Y))}
}

func distance(a, b vg.Point) float64 { return math.Hypot(float64(a.X-b.X), float64(a.Y-b.Y)) }
