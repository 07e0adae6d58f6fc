// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
)

// AppendTime writes the same text as package time.
func TestAppendTime(t *testing.T) {
	formats := map[otelstef.TimeFormat]string{
		otelstef.TimeSeconds:      "2006-01-02T15:04:05Z",
		otelstef.TimeMilliseconds: "2006-01-02T15:04:05.000Z",
		otelstef.TimeMicroseconds: "2006-01-02T15:04:05.000000Z",
		otelstef.TimeNanoseconds:  "2006-01-02T15:04:05.000000000Z",
		otelstef.TimeCommonLog:    "02/Jan/2006:15:04:05 -0700",
	}
	f := func(nanos uint64) {
		t.Helper()
		for format, layout := range formats {
			got, ok := otelstef.AppendTime([]byte("at "), format, nanos)
			require.True(t, ok)
			require.Equal(t, "at "+time.Unix(int64(nanos/1e9), int64(nanos%1e9)).UTC().Format(layout), string(got))
		}
	}
	f(0)
	f(1<<64 - 1)
	for day := range uint64(213_000) { // until 2553
		f(day*86400*1e9 + 86399_999_999_999)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		f(r.Uint64() >> r.IntN(64))
	}
	for _, format := range []otelstef.TimeFormat{0, '1', '8', 'c', 255} {
		_, ok := otelstef.AppendTime(nil, format, 0)
		require.False(t, ok)
	}
}

// clockLayouts are the layouts of package time, with ? for the decimals.
var clockLayouts = map[byte]string{
	otelstef.ClockISO: "2006-01-02T15:04:05?", otelstef.ClockSpace: "2006-01-02 15:04:05?", otelstef.ClockSlash: "2006/01/02 15:04:05?",
	otelstef.ClockCommon: "02/Jan/2006:15:04:05?", otelstef.ClockSyslog: "Jan _2 15:04:05?", otelstef.ClockApache: "Mon Jan 02 15:04:05? 2006",
}

// clock formats a time with package time. The format must be a valid ClockFormat.
func clock(format string, unixNano uint64) string {
	decimals := ""
	if n := int(format[1]) - '0'; n >= 1 && n <= 9 {
		decimals = fmt.Sprintf(".%09d", unixNano%1e9)[:n+1]
	} else if n > 9 {
		decimals = fmt.Sprintf(",%09d", unixNano%1e9)[:format[1]-'a'+2]
	}
	zone := map[byte]string{'0': "", 'Z': "Z", '+': "-0700", ':': "-07:00", ' ': " -0700"}[format[2]]
	at := time.Unix(int64(unixNano/1e9), 0).In(time.FixedZone("", (int(format[3])-otelstef.ClockUTC)*900))
	return strings.Replace(at.Format(clockLayouts[format[0]]), "?", decimals, 1) + at.Format(zone)
}

// AppendClock writes the same text as package time.
func TestAppendClock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	const decimals, zones = "0123456789abcdefghi", "0Z+: "
	for range 50_000 {
		for layout := range clockLayouts {
			format := string([]byte{layout, decimals[r.IntN(len(decimals))], zones[r.IntN(len(zones))], byte(8 + r.IntN(113))})
			unixNano := uint64(1e15) + r.Uint64N(1<<64-1e16)
			got, ok := otelstef.AppendClock([]byte("at "), otelstef.ClockFormat(format), unixNano)
			require.True(t, ok, "%q", format)
			require.Equal(t, "at "+clock(format, unixNano), string(got), "%q %d", format, unixNano)
		}
	}
	f := func(format string, unixNano uint64, want bool) {
		t.Helper()
		got, ok := otelstef.AppendClock([]byte("at "), otelstef.ClockFormat(format), unixNano)
		require.Equal(t, want, ok)
		if !want {
			require.Equal(t, "at ", string(got))
		}
	}
	f("T00>", 1800e9, true)
	f("T00>", 1800e9-1, false)
	f("T00B", 1<<64-1-1800e9, true)
	f("T00B", 1<<64-1800e9, false)
	f("T00x", 1e18, true)
	f("T00y", 1e18, false)
	f("T00\x07", 1e18, false)
	for _, format := range []string{"", "T00", "T00@@", "t00@", "Tj0@", "T:0@", "T\xff0@", "T0z@", "\x0000@"} {
		f(format, 1e18, false)
	}
}

// If the text of AppendDecimal is parsed, the result is the same double. The text has at least as many
// decimal places as requested.
func TestAppendDecimal(t *testing.T) {
	f := func(x float64, digit byte, want string) {
		t.Helper()
		got, ok := otelstef.AppendDecimal([]byte("is "), x, digit)
		require.Equal(t, want != "", ok)
		require.Equal(t, "is "+want, string(got))
	}
	f(0, '0', "0")
	f(math.Copysign(0, -1), '2', "-0.00")
	f(4.18, '0', "4.18")
	f(4.18, '2', "4.18")
	f(4.18, '3', "4.180")
	f(-7, '1', "-7.0")
	f(123456789012.1, '9', "123456789012.100000000")
	f(1<<53-1, '0', "9007199254740991")
	f(1<<53, '0', "")
	f(0x1p-20, '0', "0.00000095367431640625")
	f(0x1p-21, '0', "")
	f(math.NaN(), '0', "")
	f(math.Inf(-1), '0', "")
	f(1, '/', "")
	f(1, ':', "")
	r := rand.New(rand.NewPCG(1, 4))
	for range 50_000 {
		x := math.Ldexp(r.Float64()+0.5, r.IntN(70)-18) * float64(1-2*r.IntN(2))
		digit := byte('0' + r.IntN(10))
		got, ok := otelstef.AppendDecimal(nil, x, digit)
		require.Equal(t, math.Abs(x) < 1<<53, ok)
		if ok {
			back, err := strconv.ParseFloat(string(got), 64)
			require.NoError(t, err)
			require.Equal(t, x, back)
			_, decimals, _ := strings.Cut(string(got), ".")
			require.GreaterOrEqual(t, len(decimals), int(digit-'0'))
		}
	}
}

// meant returns the text that a parameter of a template stands for, by the table of the specification.
func meant(log *otelstef.LogRecord, key bool, value string) string {
	if !key || len(value) < 2 || value[0] != 0 {
		return value
	}
	switch {
	case value == "\x00t" && len(log.TraceID()) > 0:
		return fmt.Sprintf("%x", log.TraceID())
	case value == "\x00s" && len(log.SpanID()) > 0:
		return fmt.Sprintf("%x", log.SpanID())
	case value[1] == 'L' && len(value) == 6 && (value[5] >= otelstef.ClockUTC || log.Time() > 14*3600e9):
		return clock(value[2:], log.Time())
	case value[1] == 'd' && len(value) == 4 && int(value[2]) < log.Attributes().Len():
		if v := log.Attributes().Value(int(value[2])); v.Type() == otelstef.AnyValueTypeFloat64 {
			text := strconv.FormatFloat(v.Float64(), 'f', -1, 64)
			if n := int(value[3] - '0'); n > 0 {
				return fmt.Sprintf("%.*f", n, v.Float64()) // exact for the values of the test
			}
			return text
		}
	case len(value) != 3:
	case value[1] == 'T' && strings.IndexByte("0369", value[2]) >= 0:
		layout := "2006-01-02T15:04:05Z"
		if n := int(value[2] - '0'); n > 0 {
			layout = "2006-01-02T15:04:05." + strings.Repeat("0", n) + "Z"
		}
		return time.Unix(int64(log.Time()/1e9), int64(log.Time()%1e9)).UTC().Format(layout)
	case value[1] == 'a' && int(value[2]) < log.Attributes().Len():
		v := log.Attributes().Value(int(value[2]))
		if a := v.Array(); a != nil && a.Len() == 1 {
			v = a.At(0)
		}
		switch v.Type() {
		case otelstef.AnyValueTypeString:
			return v.Str()
		case otelstef.AnyValueTypeInt64:
			return fmt.Sprint(v.Int64())
		}
	}
	return value
}

// A reader replaces the references in a body by their texts, whatever changes from one record to the next.
// It marks the fields that changed.
func TestBodyReferences(t *testing.T) {
	c := compactLogs(t)
	texts := []string{"\x00t", "\x00s", "\x00a\x00", "\x00a\x01", "\x00a\x02", "\x00a\xff", "\x00T0", "\x00T3", "\x00T9", "\x00T7", "\x00", "\x00x", "plain", "",
		"\x00LT3+D", "\x00L c:0", "\x00LA60x", "\x00d\x000", "\x00d\x013", "\x00d\xff1"}
	for seed := range seeds(150) {
		r := rand.New(rand.NewPCG(seed, 21))
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, otelstef.CompactLogs(), stef.WithCompression(stef.Compression(r.IntN(2))), stef.WithFrameBytes(1+r.IntN(300)))
		require.NoError(t, err)
		rec := w.Record().Record()
		var want [][]string
		for range 40 {
			changeLog(r, rec, texts)
			var params []string
			if body := rec.Body(); body.Type() == otelstef.LogBodyTypeTemplate {
				for key, value := range body.Template().Params().All() {
					params = append(params, meant(rec, key, value))
				}
			}
			want = append(want, params)
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())

		d, err := otelstef.NewLogsReader(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		follower := steftest.NewFollower(c.Schema, nil)
		for i, params := range want {
			require.True(t, d.Next(), "seed %d, record %d: %v", seed, i, d.Err())
			var got []string
			if body := d.Record().Record().Body(); body.Type() == otelstef.LogBodyTypeTemplate {
				for _, value := range body.Template().Params().All() {
					got = append(got, value)
				}
			}
			require.Equal(t, params, got, "seed %d, record %d", seed, i)
			value := steftest.Value(d.Record(), c.Schema, nil)
			require.Empty(t, steftest.Diff(c.Schema, value, follower.Next(d.Record())), "seed %d, record %d by its marks", seed, i)
		}
		require.False(t, d.Next())
		require.NoError(t, d.Err())
	}
}

func changeLog(r *rand.Rand, rec *otelstef.LogRecord, texts []string) {
	id := make([]byte, 16)
	for i := range id {
		id[i] = byte(r.IntN(256))
	}
	if r.IntN(2) == 0 {
		rec.SetTraceID(id[:16*r.IntN(2)])
	}
	if r.IntN(2) == 0 {
		rec.SetSpanID(id[:8*r.IntN(2)])
	}
	if r.IntN(2) == 0 {
		rec.SetTime(r.Uint64() >> 3)
	}
	if r.IntN(3) == 0 {
		rec.Attributes().SetLen(r.IntN(3))
	}
	for i := range rec.Attributes().Len() {
		v := rec.Attributes().Value(i)
		switch r.IntN(9) {
		case 0:
			v.SetString(strings.Repeat("s", r.IntN(3)))
		case 1:
			v.SetInt64(int64(r.Uint64()) >> r.IntN(64))
		case 2:
			v.SetBool(true)
		case 4, 5:
			v.SetFloat64(float64(r.IntN(1e6)) / 1000)
		case 3:
			v.SetArray().SetLen(r.IntN(3))
			if a := v.Array(); a.Len() > 0 {
				a.At(0).SetString("only")
			}
		}
	}
	switch r.IntN(6) {
	case 0:
		rec.Body().SetString("text")
	case 1, 2:
		p := rec.Body().SetTemplate().Params()
		p.SetLen(r.IntN(5))
		for i := range p.Len() {
			p.SetKey(i, r.IntN(3) > 0)
			p.SetValue(i, texts[r.IntN(len(texts))])
		}
	case 3:
		if body := rec.Body(); body.Type() == otelstef.LogBodyTypeTemplate {
			for i := range body.Template().Params().Len() {
				if r.IntN(2) == 0 {
					body.Template().Params().SetValue(i, texts[r.IntN(len(texts))])
				}
			}
		}
	}
}

// The total length of the texts that references stand for is limited. Otherwise a few bytes could stand for
// a very large text.
func TestTooManyReferences(t *testing.T) {
	f := func(size, references int) error {
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, otelstef.CompactLogs())
		require.NoError(t, err)
		rec := w.Record().Record()
		rec.Attributes().AppendString("k", "")
		rec.Attributes().Value(0).SetString(strings.Repeat("x", size))
		p := rec.Body().SetTemplate().Params()
		p.SetLen(references)
		for i := range references {
			p.Set(i, true, otelstef.ReferenceAttribute+"\x00")
		}
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
		r, err := otelstef.NewLogsReader(&out)
		require.NoError(t, err)
		for r.Next() {
			require.Equal(t, strings.Repeat("x", size), r.Record().Record().Body().Template().Params().Value(references-1))
		}
		return r.Err()
	}
	require.NoError(t, f(1<<18, 4))
	err := f(1<<18+1, 4)
	require.ErrorIs(t, err, stef.ErrCorrupt)
	requireTyped(t, err)
}
