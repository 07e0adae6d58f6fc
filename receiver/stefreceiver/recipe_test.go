// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/list"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// recipe describes a hostile stream by genes. Each gene is one byte that sets one property of the
// stream. The writers of stef-go write the stream, so it is valid, unless the recipe changes some of
// its bytes afterwards.
type recipe [genes]byte

const (
	geneSignal = iota
	geneCompact
	geneZstd
	geneFrames
	geneRecords        // in a frame
	geneAttributes     // of a record
	geneKind           // type of the values of attributes
	geneText           // length of texts
	geneNesting        // elements or levels of nested values
	geneResource       // attributes of a resource
	geneResourcePeriod // records until the next resource
	geneScopePeriod
	geneMetricPeriod
	geneAttributePeriod
	geneVariants // number of different resources, scopes and metrics
	geneBuckets  // bounds of a histogram
	geneParts    // exemplars, events and links
	genePartPeriod
	genePartAttributes
	geneBadPeriod // distance between records that OTLP cannot express
	geneType
	geneUnique // texts differ
	geneKey    // length of keys
	geneFlips
	geneSeed
	geneRepeats // of the last frame
	geneRestart
	geneMetadata // attributes of a metric or scope
	geneEnvelope
	geneJitter // of times
	genes
)

// scale converts a gene to a number from 0 to most, which grows exponentially with the gene.
func (r *recipe) scale(gene, most int) int {
	if r[gene] == 0 {
		return 0
	}
	return int(math.Round(math.Pow(float64(most), float64(r[gene])/255)))
}

// period reports whether record n begins a new period. The gene sets how many records a period has. If
// the gene is 0, only record 0 begins a period.
func (r *recipe) period(gene, n int) bool {
	p := r.scale(gene, 4096)
	return n == 0 || p > 0 && n%p == 0
}

// String returns the genes.
func (r *recipe) String() string { return fmt.Sprintf("%x", r[:]) }

func (r *recipe) root() string {
	return []string{otelstef.MetricsRootName, otelstef.SpansRootName, otelstef.LogsRootName}[r[geneSignal]%3]
}

// cook writes the stream of the recipe and returns its bytes.
func (r *recipe) cook(t testing.TB) []byte {
	var out chunkList
	options := []stef.WriterOption{stef.WithDictBytes(1 << 30), stef.WithFrameBytes(31 << 20)}
	if r[geneZstd]%2 == 1 {
		options = append(options, stef.WithCompression(stef.Zstd))
	}
	if r[geneRestart]%4 == 3 {
		options = append(options, stef.WithRestart(stef.FrameFlags(r[geneRestart]>>2)&stef.RestartAll))
	}
	c := &cooking{recipe: r, work: 100_000, random: rand.New(rand.NewPCG(uint64(r[geneSeed]), 1))}
	var err error
	switch r.root() {
	case otelstef.MetricsRootName:
		err = c.metrics(&out, options)
	case otelstef.SpansRootName:
		err = c.spans(&out, options)
	default:
		err = c.logs(&out, options)
	}
	if !errors.Is(err, stef.ErrLimit) { // if a record is too large, the records before it are still a valid stream
		require.NoError(t, err)
	}
	for range r.scale(geneRepeats, 64) { // frames can be repeated if each frame restarts dictionaries and codecs
		if r[geneRestart]%4 != 3 || len(out) < 3 {
			break
		}
		out = append(out, out[len(out)-1])
	}
	stream := bytes.Join(out, nil)
	for range r.scale(geneFlips, 16) {
		at := len(out[0]) + c.random.IntN(len(stream)-len(out[0]))
		stream[at] ^= 1 << c.random.IntN(8)
	}
	return stream
}

// cooking is the state of writing the stream of a recipe.
type cooking struct {
	*recipe
	work   int // values that may still be set, which bounds the time
	texts  int
	last   string // text
	random *rand.Rand
}

// afford reports whether n more values may be set.
func (c *cooking) afford(n int) bool {
	c.work -= n
	return c.work >= 0
}

func (c *cooking) text() string {
	n := c.scale(geneText, 256<<10)
	if c.last != "" && (c.recipe[geneUnique]%2 == 0 || !c.afford(n/32)) {
		return c.last
	}
	c.texts++
	c.last = strings.Repeat(fmt.Sprintf("%08d", c.texts), n/8+1)[:n]
	return c.last
}

func (c *cooking) key(k int) string {
	if n := c.scale(geneKey, 4096); n > 0 {
		return strings.Repeat("k", n)
	}
	return fmt.Sprint(k)
}

func (c *cooking) attributes(dst *otelstef.Attributes, n int) {
	if !c.afford(n) {
		return
	}
	dst.SetLen(n)
	for k := range n {
		dst.SetKey(k, c.key(k))
		c.value(dst.Value(k), k)
	}
}

func (c *cooking) value(v *otelstef.AnyValue, k int) {
	nesting := c.scale(geneNesting, 900)
	switch kind := c.recipe[geneKind] % 8; {
	case kind == 0:
		v.SetInt64(0)
	case kind == 1:
		v.SetString(c.text())
	case kind == 2:
		v.SetBytes([]byte(c.text()))
	case kind == 3:
		v.SetType(otelstef.AnyValueTypeNone)
	case !c.afford(nesting):
	case kind == 4: // an array with many elements
		a := v.SetArray()
		a.SetLen(nesting)
		for i := range nesting {
			a.At(i).SetType(otelstef.AnyValueType(c.recipe[geneKind] >> 3 % 5))
		}
	case kind == 5: // arrays within each other
		for range nesting {
			v = v.SetArray().Append()
		}
	case kind == 6:
		l := v.SetKVList()
		l.SetLen(nesting)
		for i := range nesting {
			l.SetKey(i, c.key(k))
		}
	default:
		for range nesting {
			v = v.SetKVList().Append("")
		}
		v.SetString(c.text())
	}
}

func (c *cooking) resources() []*otelstef.Resource {
	all := make([]*otelstef.Resource, 1+c.scale(geneVariants, 256))
	for i := range all {
		all[i] = otelstef.NewResource()
		all[i].SetDroppedAttributesCount(uint64(i))
		c.attributes(all[i].Attributes(), c.scale(geneResource, 1000))
	}
	return all
}

func (c *cooking) scopes() []*otelstef.Scope {
	all := make([]*otelstef.Scope, 1+c.scale(geneVariants, 256))
	for i := range all {
		all[i] = otelstef.NewScope()
		all[i].SetDroppedAttributesCount(uint64(i))
		c.attributes(all[i].Attributes(), c.scale(geneMetadata, 1000))
	}
	return all
}

func (c *cooking) descriptors() []*otelstef.Metric {
	all := make([]*otelstef.Metric, 1+c.scale(geneVariants, 256))
	for i := range all {
		all[i] = otelstef.NewMetric()
		all[i].SetName(fmt.Sprint("m", i))
		all[i].SetType(otelstef.MetricType(c.recipe[geneType] % 5))
		c.attributes(all[i].Metadata(), c.scale(geneMetadata, 1000))
		if n := c.scale(geneBuckets, 4096); c.afford(n) {
			all[i].HistogramBounds().SetLen(n)
		}
	}
	return all
}

// frames calls the function record for each record, and flush after each frame.
func (c *cooking) frames(record func(n int) error, flush func() error) error {
	for range 1 + c.scale(geneFrames, 8) {
		for n := range c.scale(geneRecords, 4096) {
			if err := record(n); err != nil {
				return err
			}
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cooking) envelope(dst *otelstef.EnvelopeAttributes) {
	if n := c.scale(geneEnvelope, 1000); n > 0 && c.afford(n) {
		dst.SetLen(n)
		for k := range n {
			dst.SetKey(k, "")
			dst.SetValue(k, []byte(c.text()))
		}
	}
}

func (c *cooking) time(n int) uint64 { return uint64(c.random.Int64N(1 + int64(c.recipe[geneJitter]))) }

func (c *cooking) metrics(out *chunkList, options []stef.WriterOption) error {
	if c.recipe[geneCompact]%2 == 1 {
		options = append(options, otelstef.CompactMetrics())
	}
	w, err := otelstef.NewMetricsWriter(out, options...)
	if err != nil {
		return err
	}
	resources, scopes, metrics := c.resources(), c.scopes(), c.descriptors()
	rec, count := w.Record(), 0
	return c.frames(func(n int) error {
		if c.period(geneResourcePeriod, n) {
			rec.SetResource(resources[count%len(resources)])
		}
		if c.period(geneScopePeriod, n) {
			rec.SetScope(scopes[count%len(scopes)])
		}
		if c.period(geneMetricPeriod, n) {
			rec.SetMetric(metrics[count%len(metrics)])
		}
		count++
		if c.period(geneAttributePeriod, n) {
			c.envelope(rec.Envelope().Attributes())
			c.attributes(rec.Attributes(), c.scale(geneAttributes, 1000))
		}
		p := rec.Point()
		p.SetTimestamp(c.time(n))
		c.pointValue(p.Value(), c.recipe[geneBadPeriod] > 0 && c.period(geneBadPeriod, n))
		if parts := c.scale(geneParts, 1000); c.period(genePartPeriod, n) && c.afford(parts) {
			p.Exemplars().SetLen(parts)
			for _, e := range p.Exemplars().All() {
				c.attributes(e.FilteredAttributes(), c.scale(genePartAttributes, 1000))
			}
		}
		return w.Write()
	}, w.Flush)
}

func (c *cooking) pointValue(v *otelstef.PointValue, bad bool) {
	buckets := c.scale(geneBuckets, 4096)
	counts := func(dst *list.Values[uint64], n int) {
		if dst.Len() != n && c.afford(n) {
			dst.SetLen(n)
		}
	}
	typ := otelstef.MetricType(c.recipe[geneType] % 5)
	if bad {
		typ = (typ + 2) % 5
	}
	switch typ {
	case otelstef.MetricTypeHistogram:
		if v.Type() != otelstef.PointValueTypeHistogram {
			counts(v.SetHistogram().BucketCounts(), buckets+1)
		}
	case otelstef.MetricTypeExpHistogram:
		if v.Type() != otelstef.PointValueTypeExpHistogram {
			counts(v.SetExpHistogram().PositiveBuckets().BucketCounts(), buckets)
		}
	case otelstef.MetricTypeSummary:
		if v.Type() != otelstef.PointValueTypeSummary {
			v.SetSummary()
		}
		if q := v.Summary().QuantileValues(); q.Len() != buckets && c.afford(buckets) {
			q.SetLen(buckets)
		}
	default:
		v.SetInt64(0)
	}
}

func (c *cooking) spans(out *chunkList, options []stef.WriterOption) error {
	if c.recipe[geneCompact]%2 == 1 {
		options = append(options, otelstef.CompactSpans())
	}
	w, err := otelstef.NewSpansWriter(out, options...)
	if err != nil {
		return err
	}
	resources, scopes := c.resources(), c.scopes()
	rec, count := w.Record(), 0
	return c.frames(func(n int) error {
		if c.period(geneResourcePeriod, n) {
			rec.SetResource(resources[count%len(resources)])
		}
		if c.period(geneScopePeriod, n) {
			rec.SetScope(scopes[count%len(scopes)])
		}
		count++
		span := rec.Span()
		if c.period(geneAttributePeriod, n) {
			c.envelope(rec.Envelope().Attributes())
			c.attributes(span.Attributes(), c.scale(geneAttributes, 1000))
			span.SetName(c.text())
			span.SetTraceState(c.text())
		}
		span.SetStartTimeUnixNano(c.time(n))
		if c.recipe[geneBadPeriod] > 0 && c.period(geneBadPeriod, n) {
			span.SetTraceID([]byte("x"))
		} else {
			span.SetTraceID(nil)
		}
		if parts := c.scale(geneParts, 1000); c.period(genePartPeriod, n) && c.afford(2*parts) {
			span.Events().SetLen(parts)
			for _, e := range span.Events().All() {
				c.attributes(e.Attributes(), c.scale(genePartAttributes, 1000))
			}
			span.Links().SetLen(parts)
			for _, l := range span.Links().All() {
				c.attributes(l.Attributes(), c.scale(genePartAttributes, 1000))
			}
		}
		return w.Write()
	}, w.Flush)
}

func (c *cooking) logs(out *chunkList, options []stef.WriterOption) error {
	if c.recipe[geneCompact]%2 == 1 {
		options = append(options, otelstef.CompactLogs())
	}
	w, err := otelstef.NewLogsWriter(out, options...)
	if err != nil {
		return err
	}
	resources, scopes := c.resources(), c.scopes()
	rec, count := w.Record(), 0
	return c.frames(func(n int) error {
		if c.period(geneResourcePeriod, n) {
			rec.SetResource(resources[count%len(resources)])
		}
		if c.period(geneScopePeriod, n) {
			rec.SetScope(scopes[count%len(scopes)])
		}
		count++
		log := rec.Record()
		log.SetTime(c.time(n))
		if c.period(geneAttributePeriod, n) {
			c.envelope(rec.Envelope().Attributes())
			c.attributes(log.Attributes(), c.scale(geneAttributes, 1000))
			c.body(log.Body())
		}
		if c.recipe[geneBadPeriod] > 0 && c.period(geneBadPeriod, n) {
			log.SetSpanID([]byte("x"))
		} else {
			log.SetSpanID(nil)
		}
		return w.Write()
	}, w.Flush)
}

func (c *cooking) body(b *otelstef.LogBody) {
	switch c.recipe[geneType] % 3 {
	case 0:
		b.SetString(c.text())
	case 1:
		v := b.SetValue()
		for range c.scale(geneNesting, 900) {
			if c.recipe[geneKind]%2 == 0 {
				v = v.SetArray().Append()
			} else {
				v = v.SetMap().Append(c.key(0))
			}
		}
		v.SetString(c.text())
	default:
		t, n := b.SetTemplate(), c.scale(geneBuckets, 1000)
		t.SetTemplate(c.text() + strings.Repeat("\x00", n))
		if c.afford(n) {
			t.Params().SetLen(n)
			for k := range n {
				t.Params().SetValue(k, c.text())
			}
		}
	}
}
