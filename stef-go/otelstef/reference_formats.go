// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"bytes"
	"math"
	"strconv"
)

// TimeFormat is how a time is written in a body. All formats are in UTC, and truncate
// digits that they do not show.
type TimeFormat byte

// The formats.
const (
	TimeSeconds      TimeFormat = '0' // 2006-01-02T15:04:05Z
	TimeMilliseconds TimeFormat = '3' // 2006-01-02T15:04:05.000Z
	TimeMicroseconds TimeFormat = '6' // 2006-01-02T15:04:05.000000Z
	TimeNanoseconds  TimeFormat = '9' // 2006-01-02T15:04:05.000000000Z
	TimeCommonLog    TimeFormat = 'C' // 02/Jan/2006:15:04:05 +0000
)

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// AppendTime formats a time and appends the text to dst. ok is false if the format is unknown.
func AppendTime(dst []byte, format TimeFormat, unixNano uint64) (text []byte, ok bool) {
	seconds, nanos := unixNano/1e9, unixNano%1e9
	if format == TimeCommonLog {
		dst = appendClock(appendDay(dst, ClockCommon, seconds/86400), seconds)
		return append(dst, " +0000"...), true
	}
	decimals := int(format) - '0'
	if decimals != 0 && decimals != 3 && decimals != 6 && decimals != 9 {
		return dst, false
	}
	dst = appendClock(appendDay(dst, ClockISO, seconds/86400), seconds)
	return append(appendDecimals(dst, '.', decimals, nanos), 'Z'), true
}

func appendDate(dst []byte, year, month, day uint64, mark byte) []byte {
	dst = append(two(two(dst, year/100), year%100), mark)
	return two(append(two(dst, month), mark), day)
}

// appendClock appends the time of the day.
func appendClock(dst []byte, seconds uint64) []byte {
	s := seconds % 86400
	dst = append(two(dst, s/3600), ':')
	dst = append(two(dst, s/60%60), ':')
	return two(dst, s%60)
}

// appendDecimals appends mark and the first decimals of a fraction of a second.
func appendDecimals(dst []byte, mark byte, decimals int, nanos uint64) []byte {
	if decimals > 0 {
		dst = append(dst, mark)
	}
	for unit := uint64(1e8); decimals > 0; decimals-- {
		dst = append(dst, byte('0'+nanos/unit%10))
		unit /= 10
	}
	return dst
}

func two(dst []byte, n uint64) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// date converts days since 1970 to the proleptic Gregorian calendar. It counts years
// from March, so that the leap day is the last day of a year.
func date(days uint64) (year, month, day uint64) {
	days += 719468
	era, inEra := days/146097, days%146097
	y := (inEra - inEra/1460 + inEra/36524 - inEra/146096) / 365
	inYear := inEra - (365*y + y/4 - y/100)
	m := (5*inYear + 2) / 153
	year, month, day = era*400+y, m+3, inYear-(153*m+2)/5+1
	if month > 12 {
		return year + 1, month - 12, day
	}
	return year, month, day
}

// ClockFormat is the format of a time in a body, in any time zone. It has four bytes:
// the layout, the decimals, how the zone is written, and the zone.
//
//   - The layout is one of the Clock constants.
//   - The decimals are '0' for no decimals, '1' to '9' for one to nine decimals after a point, or
//     'a' to 'i' for one to nine decimals after a comma. Further digits are truncated.
//   - The zone is written as '0' for nothing, 'Z' for the letter, '+' for +0100, ':' for +01:00,
//     or ' ' for +0100 after a space.
//   - The last byte is ClockUTC plus the quarters of an hour that the clock is ahead of UTC: 14
//     hours at most, in either direction.
//
// spec: #compact-references
type ClockFormat string

// The layouts.
const (
	ClockISO    = 'T' // 2006-01-02T15:04:05
	ClockSpace  = ' ' // 2006-01-02 15:04:05
	ClockSlash  = '/' // 2006/01/02 15:04:05
	ClockCommon = 'C' // 02/Jan/2006:15:04:05
	ClockSyslog = 'J' // Jan _2 15:04:05
	ClockApache = 'A' // Mon Jan 02 15:04:05 2006, with the decimals after the second
)

// ClockUTC is the zone UTC. ClockFarthest is the maximum difference of a zone from UTC,
// in quarters of an hour.
const (
	ClockUTC      = 64
	ClockFarthest = 14 * 4
)

// quarter is a quarter of an hour in seconds.
const quarter = 900

const weekdays = "ThuFriSatSunMonTueWed" // 1970 began with a Thursday

// AppendClock formats a time and appends the text to dst. ok is false if the format is unknown,
// or if the time in the zone is before 1970 or too late for 64 bits of nanoseconds.
func AppendClock(dst []byte, format ClockFormat, unixNano uint64) (text []byte, ok bool) {
	if len(format) != 4 {
		return dst, false
	}
	layout, decimals, offset := format[0], format[1], int(format[3])-ClockUTC
	mark := byte('.')
	if decimals >= 'a' {
		decimals, mark = decimals-'a'+'1', ','
	}
	if decimals < '0' || decimals > '9' || offset < -ClockFarthest || offset > ClockFarthest {
		return dst, false
	}
	local := unixNano + uint64(int64(offset)*quarter*1e9)
	if offset > 0 && local < unixNano || offset < 0 && local > unixNano {
		return dst, false
	}
	seconds := local / 1e9
	text = appendDay(dst, layout, seconds/86400)
	if len(text) == len(dst) {
		return dst, false
	}
	text = appendDecimals(appendClock(text, seconds), mark, int(decimals-'0'), local%1e9)
	if layout == ClockApache {
		year, _, _ := date(seconds / 86400)
		text = two(two(append(text, ' '), year/100), year%100)
	}
	if text, ok = appendZone(text, format[2], offset); !ok {
		return dst, false
	}
	return text, true
}

// appendDay appends the date, which precedes the time of day. It appends nothing if the layout is
// unknown.
func appendDay(dst []byte, layout byte, days uint64) []byte {
	year, month, day := date(days)
	name := months[3*month-3 : 3*month]
	switch layout {
	case ClockISO, ClockSpace:
		return append(appendDate(dst, year, month, day, '-'), layout)
	case ClockSlash:
		return append(appendDate(dst, year, month, day, '/'), ' ')
	case ClockCommon:
		dst = append(append(append(two(dst, day), '/'), name...), '/')
		return append(two(two(dst, year/100), year%100), ':')
	case ClockSyslog:
		dst = append(two(append(append(dst, name...), ' '), day), ' ')
		if day < 10 {
			dst[len(dst)-3] = ' '
		}
	case ClockApache:
		weekday := days % 7
		dst = append(append(dst, weekdays[3*weekday:3*weekday+3]...), ' ')
		dst = append(two(append(append(dst, name...), ' '), day), ' ')
	}
	return dst
}

// appendZone appends a zone as the third byte of a ClockFormat says.
func appendZone(dst []byte, zone byte, quarters int) ([]byte, bool) {
	switch zone {
	case '0':
		return dst, true
	case 'Z':
		return append(dst, 'Z'), true
	case ' ':
		dst = append(dst, ' ')
	case '+', ':':
	default:
		return dst, false
	}
	sign := byte('+')
	if quarters < 0 {
		sign, quarters = '-', -quarters
	}
	dst = two(append(dst, sign), uint64(quarters/4))
	if zone == ':' {
		dst = append(dst, ':')
	}
	return two(dst, uint64(quarters%4*15)), true
}

// AppendDecimal appends the shortest decimal without an exponent that reads back as f. It
// appends zeros if the decimal has fewer decimal places than digit says. ok is false if digit
// is not '0' to '9', or if the decimal could be very long: f must be 0, or its absolute value
// must be at least 2^-20 and below 2^53.
func AppendDecimal(dst []byte, f float64, digit byte) (text []byte, ok bool) {
	if a := math.Abs(f); digit < '0' || digit > '9' || a != 0 && !(a >= 1.0/(1<<20) && a < 1<<53) {
		return dst, false
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	least := int(digit - '0')
	if least == 0 {
		return dst, true
	}
	point := bytes.IndexByte(dst[from:], '.')
	if point < 0 {
		point = len(dst) - from
		dst = append(dst, '.')
	}
	for len(dst)-from-point-1 < least {
		dst = append(dst, '0')
	}
	return dst, true
}
