// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// setAttributes sets attrs to n pairs with values of every kind.
func (r random) setAttributes(attrs *otelstef.Attributes, n int) {
	attrs.SetLen(n)
	for i := range n {
		key := strings.Repeat("k", i%5) + fmt.Sprint(r.IntN(9))
		switch r.IntN(8) {
		case 0:
			attrs.SetBool(i, key, r.chance(50))
		case 1:
			attrs.SetFloat64(i, key, float64(r.IntN(100)))
		case 2:
			attrs.SetBytes(i, key, bytes.Repeat([]byte{1}, r.IntN(20)))
		case 3:
			attrs.SetKey(i, key)
			array := attrs.Value(i).SetArray()
			array.SetLen(r.IntN(4))
			for j := range array.Len() {
				array.At(j).SetString(fmt.Sprint("element", r.IntN(50)))
			}
		case 4:
			attrs.SetKey(i, key)
			list := attrs.Value(i).SetKVList()
			list.SetLen(r.IntN(3))
			for j := range list.Len() {
				list.SetKey(j, "key")
				list.Value(j).SetArray().Append().SetInt64(int64(r.IntN(100)))
			}
		case 5:
			attrs.SetKey(i, key)
			attrs.Value(i).Reset()
		default:
			attrs.SetString(i, key, strings.Repeat("v", r.IntN(10))+fmt.Sprint(r.IntN(1000)))
		}
	}
}

// changeMetrics changes rec at random. It replaces the structs that have a dictionary, and does not edit
// them. So a field is marked as modified exactly if its value differs. The generated writer sends marked
// fields, and the writer of package dynamic sends fields that differ. So both send the same fields.
func (r random) changeMetrics(rec *otelstef.Metrics, n int) {
	if r.chance(30) {
		m := otelstef.NewMetric()
		m.SetName(fmt.Sprint("metric.", n))
		m.SetDescription(strings.Repeat("text", r.IntN(4)))
		m.SetType(otelstef.MetricType(r.IntN(5)))
		r.setAttributes(m.Metadata(), r.IntN(3))
		for range r.IntN(5) {
			m.HistogramBounds().Append(float64(r.IntN(1000)))
		}
		rec.SetMetric(m)
	}
	if r.chance(30) {
		s := otelstef.NewResource()
		s.SetSchemaURL(fmt.Sprint("https://example.com/", n))
		r.setAttributes(s.Attributes(), r.IntN(5))
		s.EntityRefs().SetLen(r.IntN(3))
		for i := range s.EntityRefs().Len() {
			ref := s.EntityRefs().At(i)
			ref.SetType(fmt.Sprint("type", r.IntN(5)))
			ref.IDKeys().SetValues([]string{"id", "another id"}[:r.IntN(3)])
		}
		rec.SetResource(s)
	}
	if r.chance(20) {
		s := otelstef.NewScope()
		s.SetName(fmt.Sprint("scope ", n))
		r.setAttributes(s.Attributes(), r.IntN(3))
		rec.SetScope(s)
	}
	r.setAttributes(rec.Attributes(), r.IntN(4))
	rec.Point().SetTimestamp(uint64(n))
}

func metricsStream(t *testing.T, seed uint64, count int, opts ...stef.WriterOption) []byte {
	t.Helper()
	r := newRandom(seed)
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, append(opts, stef.WithSchemaHeader())...)
	require.NoError(t, err)
	for n := range count {
		r.changeMetrics(w.Record(), n+1)
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// frameFacts lists the number of records and the flags of each frame. They show after which records a
// writer ends frames and restarts dictionaries.
func frameFacts(t *testing.T, root *schema.Struct, stream []byte) []string {
	var list []string
	for _, f := range frames(t, root, stream) {
		list = append(list, fmt.Sprintf("%d records, flags %d", f.Records, f.Flags))
	}
	return list
}

// TestRestartPoints checks that the generated writer and the writer of package dynamic count the
// same sizes of dictionaries: for any limit, both restart the dictionaries after the same records.
//
// spec: #dict-accounting
func TestRestartPoints(t *testing.T) {
	const count = 200
	root := otelRoot(t, "metrics")
	recs := read(t, root, metricsStream(t, 1, count))
	require.Len(t, recs, count)
	for _, limit := range []int{1, 500, 1000, 2345, 5000, 10_000, 40_000} {
		generated := metricsStream(t, 1, count, stef.WithDictBytes(limit))
		own := write(t, root, recs, false, dynamic.WithDictBytes(limit))
		want := frameFacts(t, root, generated)
		require.Greater(t, len(want), 1)
		require.Equal(t, want, frameFacts(t, root, own), "limit %d", limit)
	}
}

// TestReadDictLimit checks that the generated reader and the reader of package dynamic count the
// same sizes of dictionaries: a stream exceeds the limit of both at the same record.
func TestReadDictLimit(t *testing.T) {
	const count = 200
	root := otelRoot(t, "metrics")
	stream := metricsStream(t, 2, count)
	whole, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	for whole.Next() {
	}
	require.NoError(t, whole.Err())
	size := whole.Stats().DictBytes
	require.Greater(t, size, 20_000)
	f := func(limit int, fails bool) {
		t.Helper()
		r, err := otelstef.NewMetricsReader(bytes.NewReader(stream), stef.WithLimits(stef.Limits{DictBytes: limit}))
		require.NoError(t, err)
		var n uint64
		for r.Next() {
			n++
		}
		own, err := failure(t, root, stream, dynamic.WithMaxDictBytes(limit))
		require.Equal(t, n, own, "limit %d", limit)
		if fails {
			require.ErrorIs(t, r.Err(), stef.ErrLimit)
			require.ErrorIs(t, err, dynamic.ErrLimit)
			require.Less(t, n, uint64(count))
			return
		}
		require.NoError(t, r.Err())
		require.NoError(t, err)
	}
	f(300, true)
	f(1000, true)
	f(10_000, true)
	f(size-1, true)
	f(size, false)
}

// TestEntrySizes checks the counted size of each kind of entry. want is the exact size of
// all entries that the changes add.
func TestEntrySizes(t *testing.T) {
	f := func(text string, want int, changes ...fields) {
		t.Helper()
		root := rootOf(t, "struct Rec root { N uint64 "+text)
		recs := records(root, append(changes, fields{"N": 1})...)
		at := func(limit int) int {
			stream := write(t, root, recs, false, dynamic.WithDictBytes(limit))
			_, err := failure(t, root, stream, dynamic.WithMaxDictBytes(want))
			require.NoError(t, err)
			if want > 0 {
				_, err = failure(t, root, stream, dynamic.WithMaxDictBytes(max(want-1, 1)))
				require.ErrorIs(t, err, dynamic.ErrLimit)
			}
			return len(frames(t, root, stream))
		}
		require.Equal(t, 1, at(want+1))
		require.Equal(t, 2, at(want))
	}
	f("S string dict(S) }", 16+2, fields{"S": "ab"})
	f("B bytes dict(B) }", 16+5, fields{"B": "abcde"})
	f("S string dict(S) T string dict(S) }", 16+2+16+3, fields{"S": "ab"}, fields{"T": "ab"}, fields{"S": "cde"})

	const number = "D Sub } struct Sub dict(Sub) { N uint64 B bool optional F float64 }"
	f(number, 256+3*8, fields{"D": fields{"N": 1}})
	f(number, 2*(256+3*8), fields{"D": fields{"B": true}}, fields{"D": fields{"B": nil}})
	const part = "D Sub } struct Sub dict(Sub) { N uint64 "
	f(part+"S string }", 256+8+16+3, fields{"D": fields{"S": "abc"}})
	f(part+"S string B bytes optional }", 256+8+16, fields{"D": fields{"N": 1}})
	f(part+"S string B bytes optional }", 256+8+16+16+1, fields{"D": fields{"B": "b"}})
	f(part+"C Choice } oneof Choice { A uint64 B string C Sub2 } struct Sub2 { N bool }", 256+8+8, fields{"D": fields{"C": one{"A", 1}}})
	f(part+"C Choice } oneof Choice { A uint64 B string }", 256+8+8+16+1, fields{"D": fields{"C": one{"B", "b"}}})
	f(part+"C Choice } oneof Choice { A Sub2 } struct Sub2 { N bool }", 256+8+8+8, fields{"D": fields{"C": one{"A", fields{}}}})
	f(part+"M MM } multimap MM { key string value bool }", 256+8+2*(64+16+1), fields{"D": fields{"M": pairs{{"a", true}, {"b", true}}}})
	f(part+"M MM } multimap MM { key bool value Choice } oneof Choice { A bytes }", 256+8+64+8+16+4,
		fields{"D": fields{"M": pairs{{true, one{"A", "abcd"}}}}})
	f(part+"A []bool }", 256+8+2*16, fields{"D": fields{"A": list{true, false}}})
	f(part+"A []string }", 256+8+2*16, fields{"D": fields{"A": list{"abc", "def"}}})
	f(part+"A []bytes }", 256+8+2*24+5, fields{"D": fields{"A": list{"abc", "de"}}})
	f(part+"A []float64 }", 256+8+2*8, fields{"D": fields{"A": list{1, 2}}})
	f(part+"A []Sub2 } struct Sub2 { N bool S string }", 256+8+64+8+16+1, fields{"D": fields{"A": list{fields{"S": "x"}}}})
	f(part+"E Inner } struct Inner dict(Inner) { N uint64 }", 256+8+8+256+8, fields{"D": fields{"E": fields{"N": 1}}})
}
