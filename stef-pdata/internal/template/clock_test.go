// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// Clock finds a given time in a text, in any format. If AppendClock formats the time with the
// returned format, the result is the part of the text that Clock found.
func TestClock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	const layouts, decimals, zones = "T /CJA", "0123456789abcdefghi", "0Z+: "
	for range 20_000 {
		format := otelstef.ClockFormat([]byte{layouts[r.IntN(len(layouts))], decimals[r.IntN(len(decimals))], zones[r.IntN(len(zones))], byte(8 + r.IntN(113))})
		unixNano := uint64(1e18) + r.Uint64N(1e18)
		made, ok := otelstef.AppendClock(nil, format, unixNano)
		require.True(t, ok)
		before := []string{"", "[", "at 10:20 ", "01:02:03 ", "2001-01-01T00:00:00Z ", "x=\""}[r.IntN(6)]
		after := []string{"", "]", " and more", ": 12:13:14", "\""}[r.IntN(5)]
		text := before + string(made) + after
		got, at, ok := Clock(text, 0, unixNano)
		require.True(t, ok, "%q in %q", format, text)
		// Several formats can write the same text, so Clock may return another format than the text
		// was written with. The returned format may also cover a longer part of the text.
		found := text[at.From:at.To]
		stands, ok := otelstef.AppendClock(nil, got, unixNano)
		require.True(t, ok)
		require.Equal(t, string(stands), found)
		require.Contains(t, found, string(made[:len("Jan _2")]))
		require.Equal(t, len(before), int(at.From), "%q in %q", format, text)
		require.GreaterOrEqual(t, found, string(made), "%q in %q: %q", format, text, got)
	}
}

// Clock finds nothing in texts that show another time, or in which the time is part of a longer
// word.
func TestClockOfOtherTimes(t *testing.T) {
	const unixNano = 1482161509310000000 // 2016-12-19T15:31:49.31Z
	for _, text := range []string{
		"", ":", "::", "15:31:49", "2016-12-19T15:31", "2016-12-19T15:31:48Z", "2016-12-19T15:32:49Z", "2016-12-20T15:31:49Z",
		"2015-12-19T15:31:49Z", "2016-12-19T15:31:49.311Z", "2016-12-19X15:31:49Z", "a2016-12-19T15:31:49Z", "2016-12-19T15:31:49Zulu",
		"2016-12-19T15:38:49+0007", "19/Dec/2015:15:31:49 +0000", "Dec 18 15:31:49", "Tue Dec 19 15:31:49 2016", "Mon Dec 19 15:31:49 2017",
		strings.Repeat("15:31:49 ", 20) + "2016-12-19T15:31:49Z",
	} {
		_, _, ok := Clock(text, 0, unixNano)
		require.False(t, ok, text)
	}
}

// Clock does not panic on incomplete or truncated times. If AppendClock formats the time with the
// returned format, the result is exactly the part of the text that Clock found.
func TestClockOfAnyText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	const unixNano = 1482161509123400000 // 2016-12-19T15:31:49.1234Z
	parts := []string{"Mon Dec 19 ", "2016-12-19T", "2016-12-19 ", "2016/12/19 ", "19/Dec/2016:", "Dec 19 ", "15:31:49", "16:31:49", ":", ".123", ",1234", ".",
		" 2016", "2016", "Z", "+0100", "+01:00", " +0000", " ", "-", "9", "a"}
	f := func(text string) {
		format, at, ok := Clock(text, 0, unixNano)
		if !ok {
			return
		}
		stands, ok := otelstef.AppendClock(nil, format, unixNano)
		require.True(t, ok, "%q", text)
		require.Equal(t, string(stands), text[at.From:at.To], "%q", text)
	}
	f("Mon Dec 19 15:31:49.1234")
	for range 300_000 {
		text := ""
		for range 1 + r.IntN(7) {
			text += parts[r.IntN(len(parts))]
		}
		f(text[:len(text)-r.IntN(min(len(text), 4))])
	}
}
