// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/frame"
	"github.com/otelstef/stef/stef-go/schema"
)

func TestVarHeader(t *testing.T) {
	f := func(want string, h frame.VarHeader) {
		t.Helper()
		b, err := h.Append([]byte{})
		require.NoError(t, err)
		require.Equal(t, unhex(t, want), b)
		got, err := frame.ParseVarHeader(b)
		require.NoError(t, err)
		require.Equal(t, h, got)
	}
	f("00 00", frame.VarHeader{})
	f("02 01 09 01 01 6b 02 76 76", frame.VarHeader{
		Schema: schema.WireSchema{9}, UserData: map[string]string{"k": "vv"},
	})
	f("02 01 03 00", frame.VarHeader{Schema: schema.WireSchema{3}})
	f("10 0f 06 01 08 07 03 05 04 05 05 09 02 03 02 05 02 00",
		frame.VarHeader{Schema: schema.WireSchema{6, 1, 8, 7, 3, 5, 4, 5, 5, 9, 2, 3, 2, 5, 2}})
	f("00 03 00 00 01 61 01 78 02 61 62 00", frame.VarHeader{
		UserData: map[string]string{"": "", "a": "x", "ab": ""},
	})
}

// TestUserDataOrder: pairs are written in the order of their keys.
func TestUserDataOrder(t *testing.T) {
	h := frame.VarHeader{UserData: map[string]string{}}
	want := "00 28"
	for i := range 40 {
		key := fmt.Sprintf("%02d", i)
		h.UserData[key] = "v"
		want += fmt.Sprintf(" 02 %x 01 76", key)
	}
	for range 5 {
		b, err := h.Append([]byte{})
		require.NoError(t, err)
		require.Equal(t, unhex(t, want), b)
	}
}

func TestParseVarHeader(t *testing.T) {
	f := func(content string, want frame.VarHeader) {
		t.Helper()
		h, err := frame.ParseVarHeader(unhex(t, content))
		require.NoError(t, err)
		require.Equal(t, want, h)
	}
	f("00 00", frame.VarHeader{})
	// Varints of sizes and counts may be longer than necessary.
	f("80 00 80 80 00", frame.VarHeader{})
	f("83 00 01 89 00 81 00 81 00 6b 80 00", frame.VarHeader{
		Schema: schema.WireSchema{9}, UserData: map[string]string{"k": ""},
	})
	// A schema without entries is not the same as no schema.
	f("01 00 00", frame.VarHeader{Schema: schema.WireSchema{}})
	// For equal keys, the last value counts.
	f("00 03 01 6b 01 31 01 6c 01 32 01 6b 01 33", frame.VarHeader{UserData: map[string]string{"k": "3", "l": "2"}})
	// Bytes after the last pair of user data are ignored.
	f("00 00 ff ff", frame.VarHeader{})
	f("00 01 01 6b 00 ff", frame.VarHeader{UserData: map[string]string{"k": ""}})
}

func TestParseVarHeaderErrors(t *testing.T) {
	f := func(content string, kind error, text string) {
		t.Helper()
		_, err := frame.ParseVarHeader(unhex(t, content))
		require.ErrorIs(t, err, kind)
		require.ErrorContains(t, err, text)
	}
	f("", stef.ErrCorrupt, "the size of the schema is cut off")
	f("80", stef.ErrCorrupt, "the size of the schema is cut off")
	f("ff ff ff ff ff ff ff ff ff 02", stef.ErrCorrupt, "the size of the schema is cut off or too long")
	f("02", stef.ErrCorrupt, "the schema has 2 bytes, but only 0 remain")
	f("02 01", stef.ErrCorrupt, "the schema has 2 bytes, but only 1 remain")
	f("81 80 40", stef.ErrLimit, "the schema has 1048577 bytes, at most 1048576")
	f("01 01 00", stef.ErrCorrupt, "it announces 1 entries, but only 0 bytes follow")
	f("03 01 09 00 00", stef.ErrCorrupt, "1 bytes follow the last entry of the wire schema")
	f("03 81 08 09 00", stef.ErrCorrupt, "1025")

	f("00", stef.ErrCorrupt, "the number of user data pairs is cut off")
	f("00 80", stef.ErrCorrupt, "the number of user data pairs is cut off")
	f("00 81 08", stef.ErrLimit, "1025 pairs of user data, at most 1024")
	f("00 01", stef.ErrCorrupt, "the size of the user data key is cut off")
	f("00 01 02 6b", stef.ErrCorrupt, "the user data key has 2 bytes, but only 1 remain")
	f("00 01 01 6b", stef.ErrCorrupt, "the size of the user data value is cut off")
	f("00 01 01 6b 02 76", stef.ErrCorrupt, "the user data value has 2 bytes, but only 1 remain")
	f("00 01 81 02", stef.ErrLimit, "the user data key has 257 bytes, at most 256")
	f("00 01 00 81 02", stef.ErrLimit, "the user data value has 257 bytes, at most 256")
	f("00 02 01 6b 00", stef.ErrCorrupt, "user data key is cut off")
}

func TestVarHeaderLimits(t *testing.T) {
	h := frame.VarHeader{UserData: map[string]string{}}
	for i := range stef.MaxUserDataPairs {
		h.UserData[fmt.Sprintf("%0*d", stef.MaxUserDataBytes, i)] = strings.Repeat("v", stef.MaxUserDataBytes)
	}
	b, err := h.Append(nil)
	require.NoError(t, err)
	got, err := frame.ParseVarHeader(b)
	require.NoError(t, err)
	require.True(t, maps.Equal(h.UserData, got.UserData))

	_, err = (&frame.VarHeader{Schema: make(schema.WireSchema, 1025)}).Append(nil)
	require.ErrorIs(t, err, stef.ErrSchema)
	_, err = (&frame.VarHeader{Schema: schema.WireSchema{-1}}).Append(nil)
	require.ErrorIs(t, err, stef.ErrSchema)
}
