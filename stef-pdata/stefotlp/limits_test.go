// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	"github.com/otelstef/stef/internal/fixtures"
)

type fill func(pcommon.Map)

func pairs(n int) fill {
	return func(m pcommon.Map) {
		for i := range n {
			m.PutInt(strings.Repeat("k", i), int64(i))
		}
	}
}

func arrays(depth int) fill {
	return func(m pcommon.Map) {
		s := m.PutEmptySlice("deep")
		for range depth - 1 {
			s = s.AppendEmpty().SetEmptySlice()
		}
	}
}

func maps(depth int) fill {
	return func(m pcommon.Map) {
		inner := m.PutEmptyMap("deep")
		for range depth - 1 {
			inner = inner.PutEmptyMap("")
		}
	}
}

func bulk(n int) fill {
	return func(m pcommon.Map) { m.PutStr("key", strings.Repeat("x", n)) }
}

func longKey(n int) fill {
	return func(m pcommon.Map) { m.PutBool(strings.Repeat("k", n), true) }
}

// several puts four texts of n bytes between other attributes.
func several(n int) fill {
	return func(m pcommon.Map) {
		for i := range 4 {
			m.PutStr(strconv.Itoa(9-i), strings.Repeat("x", n))
			m.PutInt("number"+strconv.Itoa(i), int64(i))
			m.PutStr("text"+strconv.Itoa(i), "text")
			m.PutEmptyMap("map"+strconv.Itoa(i)).PutStr("k", "v")
		}
	}
}

// nested puts four texts of n bytes into maps.
func nested(n int) fill {
	return func(m pcommon.Map) {
		for i := range 4 {
			inner := m.PutEmptyMap("map" + strconv.Itoa(i))
			inner.PutStr("text", "text")
			inner.PutBool(strings.Repeat("x", n), true)
		}
	}
}

// message returns a message of three items. f fills the named part of the second item.
func message(tb testing.TB, signal, part string, f fill) []byte {
	tb.Helper()
	var b []byte
	var err error
	at := func(i int, name string, m pcommon.Map) {
		if i == 1 && name == part {
			f(m)
		}
	}
	switch signal {
	case "metrics":
		md := pmetric.NewMetrics()
		for i := range 3 {
			rm := md.ResourceMetrics().AppendEmpty()
			at(i, "resource", rm.Resource().Attributes())
			sm := rm.ScopeMetrics().AppendEmpty()
			at(i, "scope", sm.Scope().Attributes())
			m := sm.Metrics().AppendEmpty()
			at(i, "metric", m.Metadata())
			p := m.SetEmptyGauge().DataPoints().AppendEmpty()
			p.SetIntValue(int64(i))
			at(i, "item", p.Attributes())
			x := p.Exemplars().AppendEmpty()
			at(i, "exemplar", x.FilteredAttributes())
		}
		b, err = (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	case "traces":
		td := ptrace.NewTraces()
		for i := range 3 {
			rs := td.ResourceSpans().AppendEmpty()
			at(i, "resource", rs.Resource().Attributes())
			ss := rs.ScopeSpans().AppendEmpty()
			at(i, "scope", ss.Scope().Attributes())
			s := ss.Spans().AppendEmpty()
			s.SetStartTimestamp(pcommon.Timestamp(i))
			at(i, "item", s.Attributes())
			at(i, "event", s.Events().AppendEmpty().Attributes())
			at(i, "link", s.Links().AppendEmpty().Attributes())
		}
		b, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	case "logs":
		ld := plog.NewLogs()
		for i := range 3 {
			rl := ld.ResourceLogs().AppendEmpty()
			at(i, "resource", rl.Resource().Attributes())
			sl := rl.ScopeLogs().AppendEmpty()
			at(i, "scope", sl.Scope().Attributes())
			r := sl.LogRecords().AppendEmpty()
			r.SetTimestamp(pcommon.Timestamp(i))
			at(i, "item", r.Attributes())
			at(i, "body", r.Body().SetEmptyMap())
		}
		b, err = (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	}
	require.NoError(tb, err)
	return b
}

// stefotlp and stefpdata omit the same items that exceed a limit, for the same reason, and write all
// other items.
func TestLimits(t *testing.T) {
	parts := map[string][]string{
		"metrics": {"resource", "scope", "metric", "item", "exemplar"},
		"traces":  {"resource", "scope", "item", "event", "link"},
		"logs":    {"resource", "scope", "item", "body"},
	}
	f := func(name string, within, beyond fill) {
		for _, s := range signals {
			for _, part := range parts[s.name] {
				t.Run(name+"/"+s.name+"/"+part, func(t *testing.T) {
					b := message(t, s.name, part, within)
					want, err := s.encodePdata(t, b)
					require.NoError(t, err)
					got, err := s.encode(t, b)
					require.NoError(t, err)
					s.records(t, want, got)
					s.decoded(t, got)

					b = message(t, s.name, part, beyond)
					want, err = s.encodePdata(t, b)
					var wantLeft stefpdata.ItemErrors
					require.ErrorAs(t, err, &wantLeft)
					got, err = s.encode(t, b)
					var left stefotlp.ItemErrors
					require.ErrorAs(t, err, &left)
					require.ErrorIs(t, err, stef.ErrLimit)
					require.Equal(t, wantLeft.Items(), left.Items())
					require.Equal(t, 1, left[0].Resource)
					require.NotEmpty(t, left[0].Field)
					require.Equal(t, wantLeft[0].Field, left[0].Field)
					require.Contains(t, err.Error(), left[0].Field[:min(len(left[0].Field), 70)], "a long path loses its middle")
					s.records(t, want, got)
				})
			}
		}
	}
	f("pairs", pairs(stef.MaxPairs), pairs(stef.MaxPairs+1))
	f("arrays", arrays(stefotlp.MaxDepth-1), arrays(stefotlp.MaxDepth+1))
	f("maps", maps(stefotlp.MaxDepth-1), maps(stefotlp.MaxDepth+1))
	f("bytes", bulk(stefotlp.MaxItemBytes/2), bulk(stefotlp.MaxItemBytes))
	f("key", longKey(stefotlp.MaxItemBytes/2), longKey(stefotlp.MaxItemBytes))
	f("several", several(stefotlp.MaxItemBytes/5), several(stefotlp.MaxItemBytes/3))
	f("nested", nested(stefotlp.MaxItemBytes/5), nested(stefotlp.MaxItemBytes/3))
}

// stefotlp and stefpdata count the same number of bytes for buckets and bounds.
func TestBucketLimits(t *testing.T) {
	const most = stefotlp.MaxItemBytes / 32
	s := signals[0]
	f := func(left, counts, bounds, positive, negative int) {
		md := pmetric.NewMetrics()
		metrics := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
		h := metrics.AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
		h.BucketCounts().FromRaw(make([]uint64, counts))
		h.ExplicitBounds().FromRaw(make([]float64, bounds))
		e := metrics.AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
		e.Positive().BucketCounts().FromRaw(make([]uint64, positive))
		e.Negative().BucketCounts().FromRaw(make([]uint64, negative))
		b, err := new(pmetric.ProtoMarshaler).MarshalMetrics(md)
		require.NoError(t, err)
		for _, encode := range []func(testing.TB, []byte, ...stef.WriterOption) ([]byte, error){s.encode, s.encodePdata} {
			_, err = encode(t, b)
			if left == 0 {
				require.NoError(t, err)
				continue
			}
			var items stefotlp.ItemErrors
			require.ErrorAs(t, err, &items)
			require.ErrorIs(t, err, stef.ErrLimit)
			require.Equal(t, left, items.Items())
		}
	}
	f(0, most, most, most/2, most/2)
	f(1, most+1, most, most/2, most/2)
	f(1, most, most+1, most/2, most/2)
	f(2, most+1, most+1, most/2, most/2+1)
}

func TestIDs(t *testing.T) {
	// Each function returns the fields of an item that has an id of the given bytes. The name of
	// the function begins with the signal.
	makers := map[string]func(id []byte) []byte{
		"metrics/trace": func(id []byte) []byte { return gauge(point(field(5, field(5, id)))) },
		"metrics/span":  func(id []byte) []byte { return gauge(point(field(5, field(4, id)))) },
		"traces/trace":  func(id []byte) []byte { return field(1, id) },
		"traces/span":   func(id []byte) []byte { return field(2, id) },
		"traces/parent": func(id []byte) []byte { return field(4, id) },
		"traces/link":   func(id []byte) []byte { return field(13, field(1, id)) },
		"logs/trace":    func(id []byte) []byte { return field(9, id) },
		"logs/span":     func(id []byte) []byte { return field(10, id) },
	}
	for name, item := range makers {
		for _, s := range signals {
			if !strings.HasPrefix(name, s.name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				n := 8
				if strings.HasSuffix(name, "trace") || strings.HasSuffix(name, "link") {
					n = 16
				}
				for _, options := range [][]stef.WriterOption{nil, {s.published}} {
					for _, size := range []int{0, n} {
						b := inScope(item(bytes.Repeat([]byte{7}, size)), item(make([]byte, size)))
						want, err := s.encodePdata(t, b, options...)
						require.NoError(t, err)
						got, err := s.encode(t, b, options...)
						require.NoError(t, err)
						s.records(t, want, got)
						s.decoded(t, got)
					}
					for _, size := range []int{1, n - 1, n + 1, 2 * n} {
						b := inScope(item(nil), item(make([]byte, size)))
						_, err := s.encode(t, b, options...)
						var left stefotlp.ItemErrors
						require.ErrorAs(t, err, &left)
						require.ErrorIs(t, err, stefotlp.ErrID)
						require.Equal(t, 1, left.Items())
						require.Contains(t, left[0].Field, "_id")
						require.Error(t, s.unmarshal(b))
					}
				}
			})
		}
	}
}

func TestLosses(t *testing.T) {
	f := func(want stefotlp.Losses, b []byte, options ...stef.WriterOption) {
		t.Helper()
		w, err := otelstef.NewMetricsWriter(io.Discard, options...)
		require.NoError(t, err)
		e := stefotlp.NewMetricsEncoder(w)
		for range 2 {
			require.NoError(t, e.EncodeOTLP(b))
		}
		got := e.Losses()
		require.Equal(t, 2*want.Total(), got.Total())
		want.EmptyContainers, want.UnknownFields, want.ZeroIDs = 2*want.EmptyContainers, 2*want.UnknownFields, 2*want.ZeroIDs
		want.EntityRefs, want.Flags, want.Values, want.Unvalued = 2*want.EntityRefs, 2*want.Flags, 2*want.Values, 2*want.Unvalued
		require.Equal(t, want, got)
	}
	published := otelstef.PublishedMetrics()
	flags := func(n byte) []byte { return []byte{8 << 3, n} }
	f(stefotlp.Losses{}, inScope(gauge(point())))
	f(stefotlp.Losses{}, inScope(gauge(point())), published)
	f(stefotlp.Losses{EmptyContainers: 3}, bytes.Join([][]byte{field(1), field(1, field(2)), inScope(gauge())}, nil))
	f(stefotlp.Losses{UnknownFields: 2}, inScope(gauge(point(field(15, text("x"))), point(field(15, text("x"))))))
	unknown := field(7, attribute("k", "v"), field(15, text("x")))
	f(stefotlp.Losses{UnknownFields: 3}, inScope(gauge(point(unknown), point(unknown), point(unknown))))
	stranger := field(15, text("x"))
	resource, scope := field(1, stranger), field(1, field(1, text("s")), stranger)
	f(stefotlp.Losses{UnknownFields: 5}, bytes.Join([][]byte{
		field(1, resource, field(2, scope, field(2, gauge(point())))),
		field(1, resource, field(2, scope, field(2, append(gauge(point()), field(12, unknown[2:])...)))),
	}, nil))
	f(stefotlp.Losses{ZeroIDs: 1}, inScope(gauge(point(field(5, field(5, make([]byte, 16)))))))
	f(stefotlp.Losses{Values: 1}, inScope(gauge(point(flags(1)))), published)
	f(stefotlp.Losses{Values: 1, Flags: 1}, inScope(gauge(point(flags(3)))), published)
	f(stefotlp.Losses{Flags: 1}, inScope(gauge(point(flags(2)))), published)
	f(stefotlp.Losses{Unvalued: 1}, inScope(gauge(field(1))), published)
	refs := field(1, field(1, field(3, field(2, text("service")))), field(2, field(2, gauge(point()))))
	f(stefotlp.Losses{}, refs)
	f(stefotlp.Losses{EntityRefs: 1}, refs, published)

	w, err := otelstef.NewSpansWriter(io.Discard, otelstef.PublishedSpans())
	require.NoError(t, err)
	e := stefotlp.NewTracesEncoder(w)
	require.NoError(t, e.EncodeOTLP(inScope([]byte{12 << 3, 5, 14 << 3, 6}, []byte{12 << 3, 5})))
	require.Equal(t, stefotlp.Losses{DroppedEvents: 2, DroppedLinks: 1}, e.Losses())

	// Empty containers are counted even if all items of the message exceed a limit.
	metrics, err := otelstef.NewMetricsWriter(io.Discard)
	require.NoError(t, err)
	points := stefotlp.NewMetricsEncoder(metrics)
	md := pmetric.NewMetrics()
	md.ResourceMetrics().AppendEmpty()
	ms := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	ms.AppendEmpty().SetName("empty")
	bulk(stefotlp.MaxItemBytes)(ms.AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty().Attributes())
	b, err := new(pmetric.ProtoMarshaler).MarshalMetrics(md)
	require.NoError(t, err)
	require.ErrorIs(t, points.EncodeOTLP(b), stef.ErrLimit)
	require.Zero(t, metrics.Stats().Records)
	require.Equal(t, stefotlp.Losses{EmptyContainers: 2}, points.Losses())

	// A tag that is encoded in more bytes than necessary does not change the count.
	w, err = otelstef.NewSpansWriter(io.Discard)
	require.NoError(t, err)
	e = stefotlp.NewTracesEncoder(w)
	require.NoError(t, e.EncodeOTLP(inScope(bytes.Join([][]byte{text("\xa2\x01\x01x"), field(11, stranger), text("\xb0\x00\x05")}, nil))))
	require.Equal(t, stefotlp.Losses{UnknownFields: 2}, e.Losses())
}

// Losses do not count the content of items and containers that are not written. If a tag of an item
// is encoded in more bytes than necessary, its unknown fields are still counted only once.
func TestLossesOfRejectedItems(t *testing.T) {
	cut := text("\x0a\x05") // a field that is cut off
	unknown := field(15, text("x"))
	m := func(items int, want stefotlp.Losses, b []byte) {
		t.Helper()
		w, err := otelstef.NewMetricsWriter(io.Discard, otelstef.PublishedMetrics())
		require.NoError(t, err)
		e := stefotlp.NewMetricsEncoder(w)
		var left stefotlp.ItemErrors
		if err := e.EncodeOTLP(append(b, inScope(gauge(point()))...)); items == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorAs(t, err, &left)
		}
		require.Equal(t, items, left.Items())
		require.Equal(t, want, e.Losses())
	}
	zero := field(5, field(5, make([]byte, 16)))
	m(1, stefotlp.Losses{}, inScope(gauge(point([]byte{8 << 3, 3}, zero, unknown, field(5, field(7, cut))))))
	m(1, stefotlp.Losses{}, inScope(gauge(field(1, unknown, field(7, cut)))))
	m(2, stefotlp.Losses{}, inScope(append(gauge(point(unknown), point()), field(12, unknown, cut)...)))
	m(2, stefotlp.Losses{}, field(1, field(2, field(2, gauge(point(), point())), unknown), field(1, cut)))
	m(1, stefotlp.Losses{}, field(1, field(2, field(2, gauge(point())), unknown, field(1, unknown, cut))))
	m(1, stefotlp.Losses{UnknownFields: 1}, inScope(gauge(point(unknown), point(unknown, field(7, cut)))))

	// Containers without written items.
	resource, scope := field(1, unknown), field(1, field(1, text("s")), unknown)
	metric := func(points ...[]byte) []byte {
		return append(gauge(points...), field(12, attribute("k", "v"), unknown)...)
	}
	bad := point(field(7, cut))
	m(1, stefotlp.Losses{}, field(1, resource, field(2, scope, field(2, metric(bad)))))
	m(0, stefotlp.Losses{EmptyContainers: 3}, bytes.Join([][]byte{field(1, resource, unknown), field(1, resource, field(2, scope, unknown)), inScope(metric())}, nil))
	m(3, stefotlp.Losses{UnknownFields: 3}, field(1, resource, field(2, scope, field(2, metric(bad))), field(2, scope, field(2, metric(bad)), field(2, metric(bad, point(), point())))))

	w, err := otelstef.NewMetricsWriter(io.Discard)
	require.NoError(t, err)
	e := stefotlp.NewMetricsEncoder(w)
	for _, b := range [][]byte{
		text("hello world"),
		bytes.Join([][]byte{unknown, cut}, nil),
		bytes.Join([][]byte{unknown, field(1, field(2, unknown)), inScope(gauge(point(field(7, cut))))}, nil),
	} {
		require.Error(t, e.EncodeOTLP(b))
		require.Zero(t, e.Losses())
	}
	require.NoError(t, e.EncodeOTLP(bytes.Join([][]byte{unknown, inScope(gauge(point()))}, nil)))
	require.Equal(t, stefotlp.Losses{UnknownFields: 1}, e.Losses())

	sw, err := otelstef.NewSpansWriter(io.Discard)
	require.NoError(t, err)
	lw, err := otelstef.NewLogsWriter(io.Discard)
	require.NoError(t, err)
	for number, newEncoder := range map[byte]func() lossy{ // number is the field number of the attributes
		9: func() lossy { return stefotlp.NewTracesEncoder(sw) },
		6: func() lossy { return stefotlp.NewLogsEncoder(lw) },
	} {
		f := func(want uint64, item ...[]byte) {
			t.Helper()
			e := newEncoder()
			_ = e.EncodeOTLP(inScope(bytes.Join(item, nil)))
			require.Equal(t, stefotlp.Losses{UnknownFields: want}, e.Losses())
		}
		attributes := func(content ...[]byte) []byte { return field(number, append(content, attribute("k", "v"))...) }
		long := append([]byte{number<<3 | 2 | 0x80, 0}, attributes()[1:]...)
		unknown := text("\xfa\x07\x01x") // field 127
		f(1, unknown, attributes())
		f(1, unknown, long)
		f(1, long, unknown)
		f(2, long, attributes(unknown, unknown))
		f(0, unknown, long, field(number, unknown, cut))
	}
}

// lossy is an encoder of any signal.
type lossy interface {
	EncodeOTLP([]byte) error
	Losses() stefotlp.Losses
}

// Encoders keep no references to a message, so callers may overwrite it afterwards.
func TestMessagesAreNotKept(t *testing.T) {
	f := func(file []byte, want []byte, encode func([]byte) error, flush func() error, out *bytes.Buffer) {
		t.Helper()
		var buf []byte
		for _, part := range fixture(t, file) {
			buf = append(buf[:0], part...)
			require.NoError(t, encode(buf))
			for i := range buf {
				buf[i] = 0xaa
			}
			require.NoError(t, flush())
		}
		require.True(t, bytes.Equal(want, out.Bytes()))
	}
	var out bytes.Buffer
	m, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	f(fixtures.Metrics(), metrics.encode(t, fixture(t, fixtures.Metrics())), stefotlp.NewMetricsEncoder(m).EncodeOTLP, m.Flush, &out)
	out.Reset()
	s, err := otelstef.NewSpansWriter(&out)
	require.NoError(t, err)
	f(fixtures.Traces(), traces.encode(t, fixture(t, fixtures.Traces())), stefotlp.NewTracesEncoder(s).EncodeOTLP, s.Flush, &out)
	out.Reset()
	l, err := otelstef.NewLogsWriter(&out)
	require.NoError(t, err)
	f(fixtures.Logs(), logs.encode(t, fixture(t, fixtures.Logs())), stefotlp.NewLogsEncoder(l).EncodeOTLP, l.Flush, &out)
	require.Empty(t, l.Record().Record().Body().Str())
}

// The attributes of a resource can take far more memory than their bytes in a message. An encoder
// bounds this memory, even if one message has many such resources.
func TestMemoryOfContainers(t *testing.T) {
	w, err := otelstef.NewLogsWriter(io.Discard, stef.WithDictBytes(1<<20))
	require.NoError(t, err)
	e := stefotlp.NewLogsEncoder(w)
	var all []byte
	for i := range 100 {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutInt("number", int64(i))
		rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		list := rl.Resource().Attributes().PutEmptySlice("list")
		for range 30_000 {
			list.AppendEmpty()
		}
		b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
		require.NoError(t, err)
		require.Less(t, len(b), 100<<10)
		require.NoError(t, e.EncodeOTLP(b))
		all = append(all, b...)
	}
	f := func() {
		t.Helper()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		require.Less(t, m.HeapAlloc, uint64(64<<20))
	}
	f()
	require.NoError(t, e.EncodeOTLP(all))
	f()
	require.NoError(t, w.Close())
	runtime.KeepAlive(e)
}

// An encoder writes the right histogram bounds for each metric, even if it empties its full pool of
// metrics within a message.
func TestManyMetricsWithBounds(t *testing.T) {
	md := pmetric.NewMetrics()
	metrics := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	for i := range 40_000 {
		m := metrics.AppendEmpty()
		m.SetName(strconv.Itoa(i))
		point := m.SetEmptyHistogram().DataPoints().AppendEmpty()
		if i%5 == 0 { // the encoder empties the pool of metrics before the pool of metrics with bounds
			point.ExplicitBounds().FromRaw([]float64{1})
		}
	}
	b, err := new(pmetric.ProtoMarshaler).MarshalMetrics(md)
	require.NoError(t, err)
	s := signals[0]
	want, err := s.encodePdata(t, b)
	require.NoError(t, err)
	got, err := s.encode(t, b)
	require.NoError(t, err)
	s.records(t, want, got)
}

// TestPathsOfLimits: the error of an item over a limit names the same field here and in stefpdata.
func TestPathsOfLimits(t *testing.T) {
	large := strings.Repeat("x", stefotlp.MaxItemBytes+1)
	f := func(want string, spoil func(ptrace.ResourceSpans)) {
		t.Helper()
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		spoil(rs)
		b, err := new(ptrace.ProtoMarshaler).MarshalTraces(td)
		require.NoError(t, err)
		w, err := otelstef.NewSpansWriter(io.Discard)
		require.NoError(t, err)
		var fields []string
		for _, err := range []error{
			stefotlp.NewTracesEncoder(w).EncodeOTLP(b),
			stefpdata.NewTracesEncoder(w).Encode(td),
			stefpdata.NewTracesEncoder(w, stefpdata.WithMode(stefpdata.Sorted)).Encode(td),
		} {
			var left stefotlp.ItemErrors
			require.ErrorAs(t, err, &left)
			require.ErrorIs(t, err, stef.ErrLimit)
			fields = append(fields, left[0].Field)
		}
		require.Equal(t, []string{want, want, want}, fields)
	}
	refs := func(rs ptrace.ResourceSpans) entity.EntityRefSlice {
		list := entity.ResourceEntityRefs(rs.Resource())
		list.AppendEmpty().SetType("service")
		return list
	}
	f("resource.entity_refs[1]", func(rs ptrace.ResourceSpans) { refs(rs).AppendEmpty().SetType(large) })
	f("resource.entity_refs[1]", func(rs ptrace.ResourceSpans) { refs(rs).AppendEmpty().SetSchemaUrl(large) })
	f("resource.entity_refs[1]", func(rs ptrace.ResourceSpans) { refs(rs).AppendEmpty().IdKeys().Append("a", large) })
	f("resource.entity_refs[1]", func(rs ptrace.ResourceSpans) { refs(rs).AppendEmpty().DescriptionKeys().Append(large) })
	f("resource.entity_refs", func(rs ptrace.ResourceSpans) {
		for list := refs(rs); list.Len() < stefotlp.MaxItemBytes/16; {
			list.AppendEmpty()
		}
	})
	f("resource.schema_url", func(rs ptrace.ResourceSpans) { rs.SetSchemaUrl(large) })
	f("scope.name, version or schema_url", func(rs ptrace.ResourceSpans) { rs.ScopeSpans().At(0).SetSchemaUrl(large) })
	scope := func(rs ptrace.ResourceSpans) pcommon.InstrumentationScope { return rs.ScopeSpans().At(0).Scope() }
	f("scope.name, version or schema_url", func(rs ptrace.ResourceSpans) { scope(rs).SetName(large) })
	f("scope.name, version or schema_url", func(rs ptrace.ResourceSpans) { scope(rs).SetVersion(large) })
	span := func(rs ptrace.ResourceSpans) ptrace.Span { return rs.ScopeSpans().At(0).Spans().At(0) }
	f("name, trace_state or status.message", func(rs ptrace.ResourceSpans) { span(rs).SetName(large) })
	f("name, trace_state or status.message", func(rs ptrace.ResourceSpans) { span(rs).TraceState().FromRaw(large) })
	f("name, trace_state or status.message", func(rs ptrace.ResourceSpans) { span(rs).Status().SetMessage(large) })
}
