// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// repeatedPair adds a random pair to m. Some pairs occur much more often than others.
func repeatedPair(rng *rand.Rand, m pcommon.Map, depth int) {
	n := int(rng.ExpFloat64() * 300)
	key := fmt.Sprintf("key.%d", n%40)
	if n%41 == 0 {
		key = strings.Repeat("k", n%250)
	}
	switch n % 11 {
	case 0:
		m.PutInt(key, int64(n))
	case 1:
		m.PutDouble(key, float64(n))
	case 2:
		m.PutBool(key, n%2 == 0)
	case 3:
		m.PutEmpty(key)
	case 4:
		m.PutEmptyBytes(key).FromRaw(bytes.Repeat([]byte{byte(n)}, n%9))
	case 5:
		inner := m.PutEmptyMap(key)
		for range n % 4 * (2 - depth) {
			repeatedPair(rng, inner, depth+1)
		}
	case 6:
		inner := m.PutEmptySlice(key)
		for range n % 4 {
			inner.AppendEmpty().SetStr(key)
		}
	case 7:
		m.PutStr(key, strings.Repeat("long ", n%150))
	default:
		m.PutStr(key, fmt.Sprint("value ", n))
	}
}

// repeatingLogs returns messages whose records have attributes and bodies with
// repeating pairs.
func repeatingLogs(tb testing.TB, seed uint64) (parts [][]byte) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for range 15 {
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for range 200 {
			lr := records.AppendEmpty()
			for range rng.IntN(8) {
				repeatedPair(rng, lr.Attributes(), 0)
			}
			switch rng.IntN(5) {
			case 0:
			case 1:
				lr.Body().SetStr("text")
			default:
				body := lr.Body().SetEmptyMap()
				body.PutStr("first", "always the same")
				inner := body.PutEmptyMap("second")
				inner.PutInt("number", int64(rng.IntN(3)))
				for range rng.IntN(6) {
					repeatedPair(rng, body, 0)
				}
			}
		}
		b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
		require.NoError(tb, err)
		parts = append(parts, b)
	}
	return parts
}

// Pairs that repeat are written with the dictionary references in the cache of the encoder. These
// references are correct, even after a restart of the dictionaries.
func TestPairsThatRepeat(t *testing.T) {
	f := func(seed uint64, options ...stef.WriterOption) {
		t.Helper()
		requireLogs(t, repeatingLogs(t, seed), options...)
	}
	f(1)
	f(2, stef.WithDictBytes(10_000))
	f(3, stef.WithDictBytes(1000), stef.WithFrameBytes(3000))
}

// A rejected record does not affect how the next record is written.
func TestPairsAfterRefusal(t *testing.T) {
	good := repeatingLogs(t, 4)
	bad := make([][]byte, len(good))
	deep := pcommon.NewValueEmpty()
	v := deep
	for range stefotlp.MaxDepth + 1 {
		v = v.SetEmptySlice().AppendEmpty()
	}
	for i, ld := range logs.unmarshal(t, good) {
		mixed := plog.NewLogs()
		records := mixed.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		from := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
		for j := range from.Len() {
			from.At(j).CopyTo(records.AppendEmpty())
			refused := records.AppendEmpty()
			from.At(j).CopyTo(refused)
			refused.Attributes().PutStr("key.1", "another")
			switch {
			case j%4 == 0:
				deep.CopyTo(refused.Body().SetEmptyMap().PutEmpty("deep"))
			case refused.Body().Type() == pcommon.ValueTypeMap && j%4 == 1:
				refused.Body().Map().PutStr("first", "another")
				deep.CopyTo(refused.Body().Map().PutEmpty("deep"))
			default:
				deep.CopyTo(refused.Attributes().PutEmpty("deep"))
			}
		}
		b, err := (&plog.ProtoMarshaler{}).MarshalLogs(mixed)
		require.NoError(t, err)
		bad[i] = b
	}

	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out)
	require.NoError(t, err)
	e := stefotlp.NewLogsEncoder(w)
	for _, part := range bad {
		var refused stefotlp.ItemErrors
		require.ErrorAs(t, e.EncodeOTLP(part), &refused)
		require.Equal(t, 200, refused.Items())
	}
	require.NoError(t, w.Close())
	sameLogRecords(t, logs.encode(t, good), out.Bytes())
}
