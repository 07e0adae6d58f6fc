// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// The error text omits the middle of a long path. Field of the error contains the whole path.
func TestLongPaths(t *testing.T) {
	long := "Attributes[\"start\"]" + strings.Repeat(".Value.Array[0]", 40) + "[\"end\"]"
	reason := errors.New("too deep")
	for text, err := range map[string]error{
		"resource 0, item 1: ": &ItemError{Scope: -1, Metric: -1, Item: 1, Offset: -1, Field: long, Err: reason},
		"record 3: ":           &RecordError{First: 3, Last: 3, Field: long, Err: reason},
		"records 3 to 4: ":     &RecordError{First: 3, Last: 4, Field: long, Err: reason},
	} {
		require.Less(t, len(err.Error()), 200)
		require.True(t, strings.HasPrefix(err.Error(), text+"Attributes[\"start\"].Value"), err.Error())
		require.True(t, strings.HasSuffix(err.Error(), "Array[0][\"end\"]: too deep"), err.Error())
	}
	require.Equal(t, "a", shortPath("a"))
	require.Len(t, shortPath(strings.Repeat("a", maxPath)), maxPath)
	require.True(t, utf8.ValidString(shortPath(strings.Repeat("\u00e4", maxPath))))
}

// CheckID accepts the result of EncodeID, and DecodeID returns the original id.
func TestIDs(t *testing.T) {
	for _, n := range []int{SpanIDBytes, TraceIDBytes} {
		for _, id := range [][]byte{make([]byte, n), bytes.Repeat([]byte{0xa5}, n)} {
			for _, raw := range []bool{true, false} {
				var text IDText
				held := EncodeID(&text, id, raw)
				switch {
				case Unset(id):
					require.Empty(t, held)
				case raw:
					require.Equal(t, id, held)
				default:
					require.Equal(t, hex.EncodeToString(id), string(held))
				}
				require.NoError(t, CheckID("ID", held, n))
				got := make([]byte, n)
				require.True(t, DecodeID(got, held))
				require.Equal(t, id, got)
			}
		}
		for _, bad := range []string{"x", string(bytes.Repeat([]byte("x"), 2*n)), string(make([]byte, n+1))} {
			require.False(t, DecodeID(make([]byte, n), []byte(bad)))
			err := CheckID("ID", []byte(bad), n)
			require.ErrorIs(t, err, ErrRecord)
			path, _ := Split(err)
			require.Equal(t, "ID", path)
		}
	}
}

func TestBudget(t *testing.T) {
	var b Budget
	b.Begin()
	require.NoError(t, b.Take(MaxItemBytes))
	require.ErrorIs(t, b.Take(1), stef.ErrLimit)
	b.Begin()
	require.NoError(t, b.TakePairs(stef.MaxPairs))
	require.Equal(t, MaxItemBytes-stef.MaxPairs*ValueBytes, b.Left)
	require.ErrorIs(t, b.TakePairs(stef.MaxPairs+1), stef.ErrLimit)
	require.NoError(t, CheckDepth(MaxDepth))
	require.ErrorIs(t, CheckDepth(MaxDepth+1), stef.ErrLimit)
}

// The path of an error begins with the part that was added last. Long keys are truncated.
func TestPaths(t *testing.T) {
	reason := errors.New("reason")
	err := InField("attributes", InPair(string(bytes.Repeat([]byte("k"), 100)), InElement(3, reason)))
	path, inner := Split(err)
	require.Equal(t, `attributes["`+string(bytes.Repeat([]byte("k"), 60))+`"][3]`, path)
	require.Equal(t, reason, inner)
	require.ErrorIs(t, err, reason)

	items := AddItems(nil, Place{Offset: -1, Resource: 1, Scope: 2, Metric: -1, Item: 3}, "body", InField(".x", reason), 2)
	require.EqualError(t, items, "stef: 2 items were not written, the first: resource 1, scope 2, item 3: body.x: reason")
	items = AddItems(items, Place{Offset: 7, Resource: 1, Scope: -1, Metric: -1, Item: -1}, "", InField("x", reason), 5)
	require.Equal(t, 7, items.Items())
	require.EqualError(t, items[1], "resource 1 at byte 7: x: reason")
	require.ErrorIs(t, items, reason)
}

// Adjacent records with the same reason form one range.
func TestRecordRanges(t *testing.T) {
	var list RecordErrors
	for _, n := range []uint64{1, 2, 4, 5, 6} {
		list = AddRecord(list, n, NotOTLP("F", "why"))
	}
	list = AddRecord(list, 7, NotOTLP("G", "why"))
	require.Len(t, list, 3)
	require.Equal(t, uint64(6), list.Records())
	require.EqualError(t, list, "stef: 6 records were not converted, the first: records 1 to 2: F: OTLP cannot express the record: why")
	require.EqualError(t, list[2], "record 7: G: OTLP cannot express the record: why")
	require.ErrorIs(t, list, ErrRecord)
}

func TestCheckTemplate(t *testing.T) {
	params := otelstef.NewBodyParams()
	params.SetLen(2)
	params.SetValue(0, "ab")
	size, err := CheckTemplate("x\x00y\x00", 2, params)
	require.NoError(t, err)
	require.Equal(t, len("xaby"), size)
	_, err = CheckTemplate("x\x00y", 1, params)
	require.ErrorIs(t, err, ErrRecord)
	params.SetValue(1, string(make([]byte, MaxItemBytes)))
	_, err = CheckTemplate("x\x00y\x00", 2, params)
	require.ErrorContains(t, err, "the body has 8388612 bytes")
}

// Lists of errors have a text even if they are empty.
func TestErrorTexts(t *testing.T) {
	require.EqualError(t, ItemErrors{}, "stef: 0 items were not written")
	require.EqualError(t, RecordErrors{}, "stef: 0 records were not converted")
	items := AddItems(nil, Place{Offset: -1, Resource: 1, Scope: 0, Metric: -1, Item: 4}, "Span.", InField("Name", stef.ErrLimit), 1)
	items = AddItems(items, Place{Offset: 7, Resource: 2, Scope: -1, Metric: -1, Item: -1}, "", InField("Resource", ErrDamaged), 3)
	require.EqualError(t, items, "stef: 4 items were not written, the first: resource 1, scope 0, item 4: Span.Name: limit exceeded")
	require.EqualError(t, items[1], "resource 2 at byte 7: Resource: damaged message")
	records := AddRecord(AddRecord(nil, 5, NotOTLP("Span.SpanID", "3 bytes")), 6, NotOTLP("Span.SpanID", "3 bytes"))
	require.EqualError(t, records, "stef: 2 records were not converted, the first: records 5 to 6: Span.SpanID: OTLP cannot express the record: 3 bytes")
}
