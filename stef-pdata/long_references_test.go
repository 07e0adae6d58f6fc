// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Log records that repeat long texts survive the round trip: their references never replace
// more bytes than readers accept.
func TestLongReferences(t *testing.T) {
	f := func(set func(lr plog.LogRecord, long string)) {
		t.Helper()
		ld := plog.NewLogs()
		lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := range 120 {
			size := 20
			if i%10 == 9 {
				size = 300 << 10
			}
			set(lrs.AppendEmpty(), strings.Repeat(string(rune('a'+i%26)), size))
		}
		lds := []plog.Logs{ld}
		requireSameLogs(t, stefpdata.Ordered, lds, decodeLogs(t, encodeLogs(t, lds, stefpdata.Ordered, otelstef.CompactLogs())))
	}
	f(func(lr plog.LogRecord, long string) { // a body that repeats an attribute
		lr.Attributes().PutStr("long", long)
		lr.Body().SetStr(strings.Repeat(long+" ", 6) + "took 12 ms")
	})
	f(func(lr plog.LogRecord, long string) { // attributes that repeat a structured body
		lr.Body().SetEmptyMap().PutStr("long", long)
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			lr.Attributes().PutStr(key, long)
		}
	})
	f(func(lr plog.LogRecord, long string) { // a body and attributes that repeat an attribute
		lr.Body().SetStr(strings.Repeat(long[:min(len(long), 15<<10)]+" ", 63))
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			lr.Attributes().PutStr(key, long[:min(len(long), 15<<10)])
		}
	})
}

// A reference to a pair of the body contains the key of the pair. If the key is long, attributes
// that repeat the pair are written without references. With references, each attribute would have
// its own copy of the key, and the log record would be too large for the writer.
func TestReferencesToLongKeys(t *testing.T) {
	ld := plog.NewLogs()
	lr := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	lr.Body().SetEmptyMap().PutStr(strings.Repeat("k", 80<<10), "the same value")
	for i := range 1000 {
		lr.Attributes().PutStr(fmt.Sprint("attribute ", i), "the same value")
	}
	lds := []plog.Logs{ld}
	stream := encodeLogs(t, lds, stefpdata.Ordered, otelstef.CompactLogs())
	requireSameLogs(t, stefpdata.Ordered, lds, decodeLogs(t, stream))
	require.Less(t, len(stream), 200<<10)
}
