// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
)

// randomText returns a text that is often a reference.
func randomText(r *rand.Rand) string {
	return pick(r, "", "\x00", "\x00t", "\x00s", "\x00T0", "\x00T9", "\x00TC", "\x00Tx", "\x00a\x00", "\x00a\x01", "\x00a\xff", "\x00k", "\x00ka", "\x00kb",
		"\x00kc", "\x00t ", "text", "another text", "\x00LT3+D", "\x00L c:\x08", "\x00L/6Zx", "\x00LC0 @", "\x00LJ00@", "\x00LA60y",
		"\x00LX00@", "\x00LTj0@", "\x00LT0Z", "\x00d\x000", "\x00d\x013", "\x00d\x02:", "\x00d\xff1", "\x00d\x00")
}

// randomReferences changes a log record at random. Many of its new texts are references.
func randomReferences(r *rand.Rand, log *otelstef.LogRecord) {
	log.SetTime(pick(r, start+uint64(r.IntN(5))*second, start+r.Uint64N(second), 0, math.MaxUint64))
	log.SetTraceID(pick(r, nil, []byte("trace-1-------16"), []byte("trace-2-------16"), []byte("odd")))
	log.SetSpanID(pick(r, nil, []byte("span-1-8"), []byte("span-2-8")))
	if r.IntN(3) > 0 {
		n := r.IntN(4)
		if r.IntN(20) == 0 {
			n = 70 // more pairs than bits of a mask
		}
		log.Attributes().SetLen(n)
		for i := range n {
			log.Attributes().SetKey(i, pick(r, "a", "b", "c"))
			switch r.IntN(9) {
			case 8:
				log.Attributes().Value(i).SetFloat64(pick(r, 0, math.Copysign(0, -1), 4.18, -7, 1e300, 1e-6, 1e-7, 1<<53-1, 1<<53, 123456789012.1, math.NaN(), math.Inf(1)))
			case 0:
				log.Attributes().Value(i).SetInt64(int64(r.IntN(3)))
			case 1:
				log.Attributes().Value(i).SetArray().SetLen(1)
				log.Attributes().Value(i).Array().At(0).SetString(randomText(r))
			default:
				log.Attributes().Value(i).SetString(randomText(r))
			}
		}
	}
	switch r.IntN(10) {
	case 0:
		log.Body().Reset()
	case 1:
		log.Body().SetString(randomText(r))
	case 2, 3:
		body := log.Body().SetTemplate()
		body.SetTemplate("\x00\x00")
		body.Params().SetLen(2)
		for i := range 2 {
			body.Params().Set(i, r.IntN(3) > 0, randomText(r))
		}
	case 4:
		log.Body().SetValue().SetString(randomText(r))
	case 5, 6, 7:
		randomBody(r, log.Body().SetValue(), 0)
	}
}

func randomBody(r *rand.Rand, v *otelstef.BodyValue, depth int) {
	switch kind := r.IntN(5); {
	case depth == 0 || kind == 0 && depth < 4:
		m := v.SetMap()
		m.SetLen(r.IntN(4))
		if depth == 0 && r.IntN(10) == 0 {
			m.SetLen(200)
		}
		for i := range m.Len() {
			m.SetKey(i, pick(r, "a", "b", "c"))
			randomBody(r, m.Value(i), depth+1)
		}
	case kind == 1 && depth < 4:
		a := v.SetArray()
		a.SetLen(r.IntN(3))
		for i := range a.Len() {
			randomBody(r, a.At(i), depth+1)
		}
	case kind == 2:
		v.SetInt64(int64(r.IntN(2)))
	default:
		v.SetString(randomText(r))
	}
}

// TestCompactReferences reads streams of random references: with the generated reader,
// and by the rules.
func TestCompactReferences(t *testing.T) {
	logs := compactRoots(t)[2]
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 19))
		var out bytes.Buffer
		options := []stef.WriterOption{otelstef.CompactLogs()}
		if seed%3 == 1 {
			options = append(options, stef.WithDictBytes(300))
		}
		if seed%4 == 3 {
			options = append(options, stef.WithRestart(stef.FrameFlags(r.IntN(int(stef.RestartAll)+1))))
		}
		w, err := otelstef.NewLogsWriter(&out, options...)
		require.NoError(t, err)
		for range 150 {
			randomReferences(r, w.Record().Record())
			w.SetReferences(r.IntN(5) > 0)
			require.NoError(t, w.Write())
			if r.IntN(20) == 0 {
				require.NoError(t, w.Flush())
			}
		}
		require.NoError(t, w.Close())
		want, err := readCompact(out.Bytes(), logs.compact, logs.full)
		require.NoError(t, err)
		i := 0
		require.NoError(t, logs.vectorRoot.read(out.Bytes(), func(rec any) {
			require.Empty(t, steftest.Diff(logs.full, want[i], steftest.Value(rec, logs.full, nil)), "seed %d: record %d", seed, i)
			i++
		}))
		require.Len(t, want, i)
	}
}

// TestReferencesTooLong reads references that stand for the maximum of text that a reader accepts,
// and for more. The references are attributes, parameters of templates, or both.
func TestReferencesTooLong(t *testing.T) {
	logs := compactRoots(t)[2]
	f := func(attributes, params, length int, refused bool) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, otelstef.CompactLogs())
		require.NoError(t, err)
		w.SetReferences(true)
		log := w.Record().Record()
		log.SetTraceID(bytes.Repeat([]byte("i"), length/2))
		log.Attributes().SetLen(attributes)
		for i := range attributes {
			log.Attributes().SetString(i, fmt.Sprint(i), otelstef.ReferenceTrace)
		}
		if params > 0 {
			body := log.Body().SetTemplate()
			body.SetTemplate(strings.Repeat("\x00", params))
			body.Params().SetLen(params)
			for i := range params {
				body.Params().Set(i, true, otelstef.ReferenceTrace)
			}
		}
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
		_, err = readCompact(out.Bytes(), logs.compact, logs.full)
		generated := logs.vectorRoot.read(out.Bytes(), func(any) {})
		if refused {
			require.ErrorIs(t, err, errRule)
			require.ErrorIs(t, generated, stef.ErrCorrupt)
			return
		}
		require.NoError(t, err)
		require.NoError(t, generated)
	}
	f(16, 0, 1<<16, false)
	f(17, 0, 1<<16, true)
	f(0, 16, 1<<16, false)
	f(8, 8, 1<<16, false)
	f(8, 9, 1<<16, true)
}

// TestFormats checks each line of the block stef-formats of the specification, with a reader
// and by the rules.
func TestFormats(t *testing.T) {
	lines := 0
	found := blocks("stef-formats")
	require.Len(t, found, 1)
	for line := range strings.Lines(found[0].text()) {
		line = strings.TrimSuffix(line, "\n")
		fields := strings.SplitN(line, " ", 3)
		ref, err := hex.DecodeString("00" + fields[1])
		require.NoError(t, err)
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, otelstef.CompactLogs())
		require.NoError(t, err)
		log := w.Record().Record()
		log.Attributes().SetLen(1)
		var text string
		ok := false
		if ref[1] == 'L' {
			unixNano, err := strconv.ParseUint(fields[0], 10, 64)
			require.NoError(t, err)
			log.SetTime(unixNano)
			text, ok = clockText(unixNano, string(ref[2:]))
		} else {
			f, err := strconv.ParseFloat(fields[0], 64)
			require.NoError(t, err)
			log.Attributes().Value(0).SetFloat64(f)
			text, ok = decimalText(f, ref[3])
		}
		want := fields[2]
		if want == "no reference" {
			require.False(t, ok, line)
			want = string(ref)
		} else {
			require.True(t, ok, line)
			require.Equal(t, want, text, line)
		}
		body := log.Body().SetTemplate()
		body.SetTemplate("\x00")
		body.Params().SetLen(1)
		body.Params().Set(0, true, string(ref))
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
		r, err := otelstef.NewLogsReader(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		require.True(t, r.Next(), r.Err())
		require.Equal(t, want, r.Record().Record().Body().Template().Params().Value(0), line)
		lines++
	}
	require.Greater(t, lines, 10)
}
