// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/config"
	"github.com/otelstef/stef/stef-go/internal/frame"
	"github.com/otelstef/stef/stef-go/schema"
)

func TestWriterDefaults(t *testing.T) {
	c, err := frame.WriterConfig(nil)
	require.NoError(t, err)
	require.Equal(t, config.Writer{
		Compression: uint8(stef.None),
		Level:       uint8(stef.LevelDefault),
		WindowBytes: stef.DefaultWindowBytes,
		FrameBytes:  stef.DefaultFrameBytes,
		DictBytes:   stef.DefaultDictBytes,
	}, c)
	// The default is a little below 4 MiB, the default message limit of gRPC, because a frame can
	// exceed the frame size by a part of its last record.
	require.Less(t, c.FrameBytes, 4<<20)
}

func TestWriterOptions(t *testing.T) {
	c, err := frame.WriterConfig([]stef.WriterOption{
		stef.WithCompression(stef.Zstd), stef.WithCompressionLevel(stef.LevelBest), stef.WithWindowBytes(1 << 16),
		stef.WithFrameBytes(1000), stef.WithDictBytes(2000), stef.WithRestart(stef.RestartAll),
		stef.WithSchema(schema.WireSchema{1, 2}), stef.WithSchemaHeader(), stef.WithUserData(map[string]string{"k": "v"}),
	})
	require.NoError(t, err)
	require.Equal(t, config.Writer{
		Compression: uint8(stef.Zstd), Level: uint8(stef.LevelBest), WindowBytes: 1 << 16,
		FrameBytes: 1000, DictBytes: 2000, Restart: uint8(stef.RestartAll),
		Schema: schema.WireSchema{1, 2}, WriteSchema: true, UserData: map[string]string{"k": "v"},
	}, c)
}

func TestWriterOptionErrors(t *testing.T) {
	f := func(want string, option stef.WriterOption) {
		t.Helper()
		_, err := frame.WriterConfig([]stef.WriterOption{stef.WithFrameBytes(100), option})
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, "stef: "+want)
	}
	f("", stef.WithCompression(stef.None))
	f("WithCompression(2): unknown compression", stef.WithCompression(2))

	f("WithCompressionLevel(0): unknown level", stef.WithCompressionLevel(0))
	f("", stef.WithCompressionLevel(stef.LevelFastest))
	f("WithCompressionLevel(6): unknown level", stef.WithCompressionLevel(6))

	f("", stef.WithWindowBytes(1<<10))
	f("", stef.WithWindowBytes(8<<20))
	f("WithMaxWindowBytes(1023): below 1 KiB", stef.WithMaxWindowBytes(1023))
	f("", stef.WithMaxWindowBytes(math.MaxInt))
	for _, window := range []int{-1024, 0, 512, 1000, 1<<10 + 1, 16 << 20} {
		f(fmt.Sprintf("WithWindowBytes(%d): not a power of two from 1 KiB to 8 MiB", window), stef.WithWindowBytes(window))
	}

	const most = stef.MaxFrameBytes - 1<<20
	f("", stef.WithFrameBytes(1))
	f("", stef.WithFrameBytes(most))
	for _, size := range []int{-1, 0, most + 1} {
		f(fmt.Sprintf("WithFrameBytes(%d): not between 1 and %d", size, most), stef.WithFrameBytes(size))
	}

	f("", stef.WithDictBytes(1))
	f("", stef.WithDictBytes(math.MaxInt))
	f("WithDictBytes(0): must be at least 1", stef.WithDictBytes(0))
	f("WithDictBytes(-1): must be at least 1", stef.WithDictBytes(-1))

	f("", stef.WithRestart(0))
	f("", stef.WithRestart(stef.RestartAll))
	f("WithRestart(0x8): unknown flags", stef.WithRestart(8))

	pairs := map[string]string{}
	for i := range stef.MaxUserDataPairs {
		pairs[fmt.Sprint(i)] = ""
	}
	f("", stef.WithUserData(pairs))
	pairs["one more"] = ""
	f("WithUserData: there are 1025 pairs, at most 1024 are allowed", stef.WithUserData(pairs))
	long := strings.Repeat("x", stef.MaxUserDataBytes)
	f("", stef.WithUserData(map[string]string{long: long}))
	f("", stef.WithUserData(nil))
	f(`WithUserData: the key or the value of "key" has more than 256 bytes`, stef.WithUserData(map[string]string{"key": long + "x"}))
	f(`WithUserData: the key or the value of "`+long[:32]+`" has more than 256 bytes`, stef.WithUserData(map[string]string{long + "x": ""}))
}

// TestOptionsCopy: options copy their arguments. If the caller changes an argument later, the option does
// not change.
func TestOptionsCopy(t *testing.T) {
	wire, pairs := schema.WireSchema{1}, map[string]string{"k": "v"}
	options := []stef.WriterOption{stef.WithSchema(wire), stef.WithUserData(pairs)}
	c, err := frame.WriterConfig(options)
	require.NoError(t, err)
	wire[0], pairs["k"] = 9, "w"
	require.Equal(t, schema.WireSchema{1}, c.Schema)
	require.Equal(t, "v", c.UserData["k"])
}

func TestReaderOptions(t *testing.T) {
	f := func(want stef.Limits, options ...stef.ReaderOption) {
		t.Helper()
		limits, err := frame.ReaderLimits(options)
		require.NoError(t, err)
		require.Equal(t, want, limits)
	}
	f(stef.DefaultLimits())
	f(stef.DefaultLimits(), stef.WithLimits(stef.Limits{}))

	// A field of 0 keeps the value of an earlier option, or the default.
	want := stef.DefaultLimits()
	want.Depth = 7
	f(want, stef.WithLimits(stef.Limits{Depth: 7}))
	f(want, stef.WithLimits(stef.Limits{Depth: 9}), stef.WithLimits(stef.Limits{Depth: 7}))
	want.DictBytes = 1000
	f(want, stef.WithLimits(stef.Limits{DictBytes: 1000}), stef.WithLimits(stef.Limits{Depth: 7}))
}

func TestNilOptions(t *testing.T) {
	_, err := frame.WriterConfig([]stef.WriterOption{stef.WithFrameBytes(100), nil})
	require.EqualError(t, err, "stef: an option is nil")
	_, err = frame.ReaderLimits([]stef.ReaderOption{nil})
	require.EqualError(t, err, "stef: an option is nil")
}

func TestFormatErrorText(t *testing.T) {
	require.EqualError(t, &stef.FormatError{}, "stef: variable header at offset 0: <nil>")
	require.EqualError(t, &stef.FormatError{Offset: 9, Frame: 2, Record: 3, Column: "Logs.Record", Err: stef.ErrLimit},
		"stef: frame 2 at offset 9, record 3, column Logs.Record: limit exceeded")
}

func TestLimits(t *testing.T) {
	least := 1
	f := func(name string, most int, set func(l *stef.Limits, n int)) {
		t.Helper()
		for _, n := range []int{least, most} {
			var l stef.Limits
			set(&l, n)
			_, err := frame.ReaderLimits([]stef.ReaderOption{stef.WithLimits(l)})
			require.NoError(t, err)
		}
		for _, n := range []int{-1, least - 1, most + 1} {
			if n == 0 {
				continue // the default
			}
			var l stef.Limits
			set(&l, n)
			_, err := frame.ReaderLimits([]stef.ReaderOption{stef.WithLimits(l)})
			require.EqualError(t, err, fmt.Sprintf("stef: WithLimits: %s is %d, but must be between %d and %d, or 0 for the default", name, n, least, most))
		}
	}
	const terabyte = min(1<<40, math.MaxInt) // the maximum of an int is smaller on 32-bit platforms
	f("HeaderBytes", stef.MaxHeaderBytes, func(l *stef.Limits, n int) { l.HeaderBytes = n })
	f("FrameBytes", stef.MaxFrameBytes, func(l *stef.Limits, n int) { l.FrameBytes = n })
	f("DictBytes", terabyte, func(l *stef.Limits, n int) { l.DictBytes = n })
	f("RecordBytes", terabyte, func(l *stef.Limits, n int) { l.RecordBytes = n })
	f("Depth", 100_000, func(l *stef.Limits, n int) { l.Depth = n })
	least = 1 << 10
	f("WindowBytes", 512<<20, func(l *stef.Limits, n int) { l.WindowBytes = n })
}

func TestFrameFlags(t *testing.T) {
	require.Equal(t, stef.FrameFlags(1), stef.RestartDictionaries)
	require.Equal(t, stef.FrameFlags(2), stef.RestartCompression)
	require.Equal(t, stef.FrameFlags(4), stef.RestartCodecs)
	for flags := range 256 {
		require.Equal(t, flags < 8, stef.FrameFlags(flags).Valid())
	}
}

func TestNames(t *testing.T) {
	f := func(v fmt.Stringer, want string) {
		t.Helper()
		require.Equal(t, want, v.String())
	}
	f(stef.None, "none")
	f(stef.Zstd, "zstd")
	f(stef.Compression(2), "Compression(2)")
	f(stef.Level(0), "Level(0)")
	f(stef.Level(6), "Level(6)")
	for level, name := range map[stef.Level]string{
		stef.LevelFastest: "fastest", stef.LevelDefault: "default", stef.LevelBetter: "better", stef.LevelBest: "best", stef.LevelAuto: "auto",
	} {
		f(level, name)
		parsed, err := stef.ParseLevel(name)
		require.NoError(t, err)
		require.Equal(t, level, parsed)
	}
	for _, name := range []string{"", "Best", "Level(0)", "3"} {
		_, err := stef.ParseLevel(name)
		require.EqualError(t, err, fmt.Sprintf("stef: compression level %q is not fastest, default, better, best or auto", name))
	}
}

func TestFormatError(t *testing.T) {
	f := func(want string, e stef.FormatError) {
		t.Helper()
		cause := errors.New("it broke")
		e.Err = fmt.Errorf("%w: %w", stef.ErrCorrupt, cause)
		require.EqualError(t, &e, want+": corrupt stream: it broke")
		require.ErrorIs(t, &e, stef.ErrCorrupt)
		require.ErrorIs(t, &e, cause)
		require.NotErrorIs(t, &e, stef.ErrLimit)
	}
	f("stef: fixed header", stef.FormatError{Frame: -1})
	f("stef: variable header at offset 7", stef.FormatError{Offset: 7})
	f("stef: frame 2 at offset 30", stef.FormatError{Offset: 30, Frame: 2})
	f("stef: frame 2 at offset 30, record 5", stef.FormatError{Offset: 30, Frame: 2, Record: 5})
	f("stef: frame 2 at offset 30, column A.B", stef.FormatError{Offset: 30, Frame: 2, Column: "A.B"})
	f("stef: frame 2 at offset 30, record 5, column A.B", stef.FormatError{Offset: 30, Frame: 2, Record: 5, Column: "A.B"})
}
