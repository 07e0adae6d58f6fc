// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Sizes are the bytes of all messages of a stream by compression.
type Sizes map[format.Compression]int64

// SizesOf returns the bytes of batches in a format. It encodes the batches once for
// all external compressions, and once for the compression of the format itself.
func SizesOf(f format.Format, batches []otlpfile.Batch) (Sizes, error) {
	sizes := Sizes{}
	plain, err := format.NewStream(f, format.None, batches[0].Signal)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	packers := map[format.Compression]format.Compressor{}
	for _, c := range format.Compressions(f) {
		if c == format.Own {
			continue
		}
		if packers[c], err = c.NewCompressor(); err != nil {
			return nil, err
		}
	}
	for _, b := range batches {
		message, err := plain.Enc.Encode(b)
		if err != nil {
			return nil, err
		}
		for c, pack := range packers {
			packed, err := pack.Compress(message)
			if err != nil {
				return nil, err
			}
			sizes[c] += int64(len(packed))
		}
	}
	if f.Own() == "" {
		return sizes, nil
	}
	own, err := format.NewStream(f, format.Own, batches[0].Signal)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	for _, b := range batches {
		message, err := own.Send(b)
		if err != nil {
			return nil, err
		}
		sizes[format.Own] += int64(len(message))
	}
	return sizes, nil
}

// inParallel does untimed work on all processors.
func inParallel[T, R any](list []T, do func(T) (R, error)) ([]R, error) {
	results, errs := make([]R, len(list)), make([]error, len(list))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, v := range list {
		all.Go(func() {
			slots <- struct{}{}
			results[i], errs[i] = do(v)
			<-slots
		})
	}
	all.Wait()
	return results, errors.Join(errs...)
}

// best returns the smaller of two sizes: with the compression of the format itself, and
// with zstd per message.
func (s Sizes) best() int64 {
	if own, ok := s[format.Own]; ok {
		return min(own, s[format.Zstd])
	}
	return s[format.Zstd]
}

func (s Sizes) of(c format.Compression) float64 {
	if n, ok := s[c]; ok {
		return float64(n)
	}
	return math.NaN()
}

// regrouped is the OTLP encoding of the output of a sorted STEF stream, in
// which equal resources, scopes and metrics are merged. It shows how much of
// the gain is due to the order.
type regrouped struct{ format.Format }

func (regrouped) Name() string { return "OTLP regrouped" }

func (regrouped) Setup() string {
	return "OTLP of the batch in the order of STEF sorted, equal resources, scopes and metrics merged; how much of a gain is order alone"
}

func (r regrouped) NewEncoder(signal otlpfile.Signal, own bool) (format.Encoder, error) {
	e, err := r.Format.NewEncoder(signal, own)
	return regroupedEncoder{e}, err
}

func (r regrouped) Drops(signal otlpfile.Signal) string {
	const containers = "containers without items"
	if drops := r.Format.Drops(signal); drops != "" {
		return drops + "; " + containers
	}
	return containers
}

type regroupedEncoder struct{ format.Encoder }

func (e regroupedEncoder) Encode(b otlpfile.Batch) ([]byte, error) {
	b, err := format.Regroup(b)
	if err != nil {
		return nil, err
	}
	return e.Encoder.Encode(b)
}

func sizeFormats(signal otlpfile.Signal) []format.Format {
	all := format.For(signal)
	return append([]format.Format{all[0], regrouped{format.OTLP()}}, all[1:]...)
}

// small omits slow formats with unsurprising results from a quick report.
func (c *Context) small(all []format.Format) []format.Format {
	if c.Full || c.Tiny {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f format.Format) bool { return f.Name() == "OTLP/JSON" || f.Name() == "Parquet ordered" })
}

var sizeColumns = append(report.Text("set", "format"),
	report.Column{Name: "none", Format: report.Whole}, report.Column{Name: "ratio", Format: report.Times}, report.Column{Name: "B/item", Format: report.Fixed(1)},
	report.Column{Name: "gzip", Format: report.Whole}, report.Column{Name: "zstd", Format: report.Whole}, report.Column{Name: "zstd-stream", Format: report.Whole},
	report.Column{Name: "own", Format: report.Whole}, report.Column{Name: "zstd ratio", Format: report.Times}, report.Column{Name: "zstd B/item", Format: report.Fixed(2)},
	report.Column{Name: "carries"})

// sizeTitles are the titles of the tables of sizes in formats.md, by name.
var sizeTitles = map[string]string{"size-big": "Bytes of one big batch", "size-parts": "Bytes of natural batches"}

func sizeBig(c *Context) (*Outcome, error) {
	return sizes(c, "size-big", one,
		"All batches of a set as one message. Otel Arrow is missing where a batch has more than 65,535 groups of attributes: it cannot encode them.")
}

func sizeParts(c *Context) (*Outcome, error) {
	return sizes(c, "size-parts", natural,
		"The batches in which the telemetry reached a Collector, each one message; STEF and Arrow IPC are one stream. The sets hipstershop are one batch by nature.")
}

// maxRatio is the ratio to OTLP at which the bars of charts are cut, so that small bars
// can be compared.
const maxRatio = 1.6

// sizes makes a table and a chart of sizes.
func sizes(c *Context, name string, cut func(*dataset.Set) *batches, note string) (*Outcome, error) {
	title := sizeTitles[name]
	t := c.table(name, title, note, "Compression: "+format.Describe(),
		"ratio: bytes of OTLP by bytes of the format, uncompressed. zstd ratio and zstd B/item: the same with zstd, the smaller one of own and of zstd by message. carries: every format was decoded and compared with the batches item by item.",
		"OTLP is marshalled by pdata, so its bytes can differ from those recorded (page data): pdata omits counts of 0, which the SDK for Node.js writes, and writes empty trace and span ids, which other SDKs omit.")
	t.Columns = sizeColumns
	for _, ref := range c.Refs {
		set := c.begin(ref)
		b := cut(set)
		formats := c.small(sizeFormats(ref.Signal))
		var otlp Sizes
		found, err := inParallel(formats, func(f format.Format) (Sizes, error) {
			if err := c.checks(f, b); err != nil {
				return nil, unlessTooLarge(err)
			}
			s, err := SizesOf(f, b.all)
			return s, unlessTooLarge(err)
		})
		if err != nil {
			return nil, err
		}
		for i, f := range formats {
			s := found[i]
			if s == nil {
				continue
			}
			if otlp == nil {
				otlp = s
			}
			items := float64(set.Items)
			t.Add(ref.Title(), f.Name(), s.of(format.None), otlp.of(format.None)/s.of(format.None), s.of(format.None)/items,
				s.of(format.Gzip), s.of(format.Zstd), s.of(format.ZstdStream), s.of(format.Own),
				float64(otlp.best())/float64(s.best()), float64(s.best())/items, carries(f, ref.Signal))
			t.Bench = append(t.Bench, sizeLines(name, ref, f, s)...)
			c.Figures.size(name, ref, f.Name(), s, otlp, float64(s.best())/items)
		}
	}
	chart := c.Figures.sizeChart(name, title)
	return &Outcome{Parts: []report.Part{t, chart}, Blocks: map[string]string{name: c.Figures.sizeBlock(name) + picture(chart)}}, nil
}

// unlessTooLarge hides the error for sets that Otel Arrow cannot encode: for these sets, the tables
// have no row of Otel Arrow.
func unlessTooLarge(err error) error {
	if errors.Is(err, format.ErrTooLarge) {
		return nil
	}
	return err
}

func carries(f format.Format, signal otlpfile.Signal) string {
	if f.Drops(signal) == "" {
		return "everything"
	}
	return "all but: " + f.Drops(signal)
}

func sizeLines(name string, ref dataset.Ref, f format.Format, s Sizes) []string {
	var lines []string
	for _, c := range format.Compressions(f) {
		lines = append(lines, fmt.Sprintf("Benchmark%s/set=%s/signal=%s/format=%s/compression=%s 1 %d B", benchName(name), ref.Name, ref.Signal, benchName(f.Name()), c, s[c]))
	}
	return lines
}

func sizeSweep(c *Context) (*Outcome, error) {
	o := &Outcome{}
	formats := slices.DeleteFunc(format.All(), func(f format.Format) bool { return f.Name() == "OTLP/JSON" })
	for _, ref := range c.refs() {
		set := c.begin(ref)
		t := c.table("size-sweep-"+ref.Name+"-"+ref.Signal.String(), "Bytes by size of batches, zstd: "+ref.Title(),
			"The set cut into batches of so many metrics, spans or log records. Mean bytes of a message, ratio to OTLP, and bytes of all messages together. "+
				"zstd: the smaller one of the own compression and of each message compressed. A full report decodes and compares the batches of each size; a quick one those of the tables above.")
		t.Columns = append(report.Text("batch", "format"), report.Column{Name: "message", Format: report.Whole}, report.Column{Name: "ratio", Format: report.Times},
			report.Column{Name: "total", Format: report.Whole}, report.Column{Name: "uncompressed", Format: report.Whole})
		chart := &report.Chart{Name: t.Name, Title: t.Title, X: "batch size", Y: "bytes per item", LogX: true, LogY: true, Picture: ref.Signal == otlpfile.Metrics}
		for _, n := range c.sweep() {
			b := sized(set, n)
			var otlp Sizes
			found, err := inParallel(formats, func(f format.Format) (Sizes, error) {
				if c.Full || c.Tiny {
					if err := c.checks(f, b); err != nil {
						return nil, err
					}
				}
				return SizesOf(f, b.all)
			})
			if err != nil {
				return nil, err
			}
			for i, f := range formats {
				s := found[i]
				if otlp == nil {
					otlp = s
				}
				t.Add(fmt.Sprint(n), f.Name(), float64(s.best())/float64(len(b.all)), float64(otlp.best())/float64(s.best()), s.best(), s[format.None])
				chart.AddPoint(f.Name(), report.Point{X: float64(n), Y: float64(s.best()) / float64(set.Items)})
				c.Figures.Sweeps = append(c.Figures.Sweeps, SweepFigure{ref, n, f.Name(), s})
			}
		}
		o.add(t, chart)
	}
	return o, nil
}

func (c *Context) sweep() []int {
	if c.Tiny {
		return []int{1024}
	}
	return []int{128, 1024, 2048, 4096, 16384}
}
