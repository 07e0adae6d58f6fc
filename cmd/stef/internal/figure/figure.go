// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package figure writes numbers for people.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Grouped writes a number with commas: 12,345.
func Grouped[N int | int64 | uint64](n N) string {
	digits := strconv.FormatUint(uint64(n), 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Count writes a number with a noun: 1 frame, 2 frames, 2 batches.
func Count[N int | int64 | uint64](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	default:
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// Seconds writes a duration in seconds, with two decimals if it is below 10 s.
func Seconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// Wait writes a waiting time: 7s, 1h0m, 40 days.
func Wait(d time.Duration) string {
	const day = 24 * time.Hour
	d = d.Round(time.Second)
	switch {
	case d >= 2*day && d < 10*day:
		return strconv.FormatFloat(math.Round(10*d.Hours()/24)/10, 'f', -1, 64) + " days"
	case d >= 2*day:
		return Count(int64(d.Round(day)/day), "day")
	case d >= time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.String()
}

// Ratio writes a ratio with three digits, or as a whole number: 0.500, 1.00, 18.1, 1,178.
func Ratio(r float64) string {
	// For very large and very small ratios, %g would write an exponent.
	switch {
	case r >= 999.5:
		return Grouped(uint64(math.Round(r)))
	case r > 0 && r < 1e-4:
		return strconv.FormatFloat(r, 'f', 2-int(math.Floor(math.Log10(r))), 64)
	}
	return strings.TrimSuffix(fmt.Sprintf("%#.3g", r), ".")
}

// Percent writes a share in percent, or nothing if the whole is 0.
func Percent(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
