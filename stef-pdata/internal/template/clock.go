// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"strings"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// clockSize is the length of a clock without decimals, such as 15:04:05. A clock is a time of day
// in a text.
const clockSize = 8

// maxClocks is the maximum number of clocks of a text that are compared with the time.
const maxClocks = 8

// Clock searches text[from:] for the time unixNano, in any format and zone. It returns the format
// and the place of the time, or false if the text does not have the time. The time must not be part
// of a longer word or number.
//
// spec: #compact-references
func Clock(text string, from int, unixNano uint64) (format otelstef.ClockFormat, at Span, ok bool) {
	var memory [64]byte
	for looks := 0; looks < maxClocks; looks++ {
		i := nextClock(text, from)
		if i < 0 {
			return "", Span{}, false
		}
		from = i + clockSize
		layout, start := layoutBefore(text, i)
		if layout == 0 {
			continue
		}
		decimals, end := decimalsAt(text, from)
		if layout == otelstef.ClockApache {
			end += len(" 2006")
		}
		all, n := quartersOf(text[i:], unixNano)
		for _, zone := range [...]byte{zoneAt(text, end), '0'} {
			for _, quarters := range all[:n] {
				f := [4]byte{layout, decimals, zone, byte(otelstef.ClockUTC + quarters)}
				made, ok := otelstef.AppendClock(memory[:0], otelstef.ClockFormat(f[:]), unixNano)
				to := start + len(made)
				if ok && to >= end && to <= len(text) && text[start:to] == string(made) && alone(text, start, to) {
					return otelstef.ClockFormat(f[:]), Span{uint32(start), uint32(to)}, true
				}
			}
		}
	}
	return "", Span{}, false
}

// nextClock returns where the next 15:04:05 in a text begins, or -1.
func nextClock(text string, from int) int {
	for {
		colon := strings.IndexByte(text[from:], ':')
		if colon < 0 {
			return -1
		}
		from += colon + 1
		if i := from - 3; i >= 0 && from+5 <= len(text) && text[from+2] == ':' && digits(text[i:i+2]) &&
			digits(text[from:from+2]) && digits(text[from+3:from+5]) && (i == 0 || !digits(text[i-1:i])) {
			return i
		}
	}
}

func digits(text string) bool {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// layoutBefore returns the layout of the date that precedes the clock at i, and where the date
// begins. layout is 0 if no date precedes the clock. The digits of the date are not examined.
func layoutBefore(text string, i int) (layout byte, start int) {
	switch {
	case i >= 12 && text[i-1] == ':' && text[i-6] == '/' && text[i-10] == '/':
		return otelstef.ClockCommon, i - 12
	case i >= 11 && text[i-4] == '-' && text[i-7] == '-':
		return text[i-1], i - 11
	case i >= 11 && text[i-4] == '/' && text[i-7] == '/':
		return otelstef.ClockSlash, i - 11
	case i >= 11 && text[i-1] == ' ' && text[i-4] == ' ' && text[i-8] == ' ' && len(text) >= i+clockSize+5 &&
		strings.Contains(weekdays, text[i-11:i-8]):
		return otelstef.ClockApache, i - 11
	case i >= 7 && text[i-1] == ' ' && text[i-4] == ' ':
		return otelstef.ClockSyslog, i - 7
	}
	return 0, 0
}

const weekdays = "MonTueWedThuFriSatSun"

// decimalsAt returns the decimals of the clock that ends at i, as the second byte of a ClockFormat,
// and the end of the decimals.
func decimalsAt(text string, i int) (decimals byte, end int) {
	if i == len(text) || text[i] != '.' && text[i] != ',' {
		return '0', i
	}
	end = i + 1
	for end < len(text) && end <= i+9 && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n := byte(end - i - 1)
	switch {
	case n == 0:
		return '0', i
	case text[i] == ',':
		return 'a' + n - 1, end
	}
	return '0' + n, end
}

// zoneAt returns how a text writes the zone that begins at i, as the third byte of a ClockFormat.
func zoneAt(text string, i int) byte {
	space := i < len(text) && text[i] == ' '
	if space {
		i++
	}
	switch {
	case i >= len(text): // the text ends, or lacks the year of ClockApache
	case text[i] == 'Z' && !space:
		return 'Z'
	case text[i] != '+' && text[i] != '-':
	case space:
		return ' '
	case i+3 < len(text) && text[i+3] == ':':
		return ':'
	default:
		return '+'
	}
	return '0'
}

// quartersOf returns the zones in which clock shows the time unixNano, in quarters of an hour ahead
// of UTC. There can be several zones, because the date of a zone may be a day ahead or behind.
// There is no zone if the difference to UTC is not a multiple of a quarter of an hour.
func quartersOf(clock string, unixNano uint64) (all [3]int, n int) {
	two := func(i int) int { return int(clock[i]-'0')*10 + int(clock[i+1]-'0') }
	ahead := two(0)*3600 + two(3)*60 + two(6) - int(unixNano/1e9%86400)
	const quarter, day = 900, 86400 / 900
	if ahead%quarter != 0 {
		return all, 0
	}
	for _, q := range [...]int{ahead / quarter, ahead/quarter - day, ahead/quarter + day} {
		if q >= -otelstef.ClockFarthest && q <= otelstef.ClockFarthest {
			all[n] = q
			n++
		}
	}
	return all, n
}
