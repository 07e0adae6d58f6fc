// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package figure_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/figure"
)

func TestGrouped(t *testing.T) {
	f := func(n uint64, want string) {
		t.Helper()
		require.Equal(t, want, figure.Grouped(n))
	}
	f(0, "0")
	f(999, "999")
	f(1000, "1,000")
	f(123456, "123,456")
	f(1234567, "1,234,567")
	f(math.MaxUint64, "18,446,744,073,709,551,615")
}

func TestWait(t *testing.T) {
	for d, want := range map[time.Duration]string{
		7200 * time.Millisecond: "7s", time.Hour: "1h0m", time.Hour - time.Millisecond: "1h0m", 90 * time.Minute: "1h30m", 47 * time.Hour: "47h0m",
		48 * time.Hour: "2 days", 134 * time.Hour: "5.6 days", 6 * 24 * time.Hour: "6 days", 250 * time.Hour: "10 days", 1000 * 24 * time.Hour: "1,000 days",
	} {
		require.Equal(t, want, figure.Wait(d))
	}
}

func TestSeconds(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		require.Equal(t, want, figure.Seconds(d))
	}
	f(0, "0.00 s")
	f(1234*time.Millisecond, "1.23 s")
	f(61*time.Second, "61 s")
}

func TestRatio(t *testing.T) {
	for r, want := range map[float64]string{
		0.0000123: "0.0000123", 0.00012: "0.000120", 0.5: "0.500", 1: "1.00", 18.12: "18.1", 638.4: "638", 999.49: "999", 999.5: "1,000", 1177.6: "1,178", 1234567: "1,234,567",
	} {
		require.Equal(t, want, figure.Ratio(r))
	}
}

func TestPercent(t *testing.T) {
	f := func(part, whole int64, want string) {
		t.Helper()
		require.Equal(t, want, figure.Percent(part, whole))
	}
	f(1, 3, "33.3%")
	f(3, 3, "100.0%")
	f(0, 3, "0.0%")
	f(0, 0, "")
}
