// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// decodeOne reads the records of one frame made of the given columns.
func decodeOne(t *testing.T, text string, count uint64, runs ...[]byte) ([]string, error) {
	t.Helper()
	root := rootOf(t, text)
	stream := plainStream(t, dataFrame(count, runs...))
	_, err := failure(t, root, stream)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, rec := range read(t, root, stream) {
		lines = append(lines, jsonOf(t, root, nil, []*dynamic.Struct{rec}))
	}
	return lines, nil
}

// TestPresence makes absent fields present again. If the modified bit of the field is 0, a number keeps
// its earlier value. If the bit is 1, a struct starts from the initial value.
func TestPresence(t *testing.T) {
	lines, err := decodeOne(t, "struct Rec root { N uint64 optional  S Sub optional } struct Sub { A uint64  B uint64 }", 4,
		// Modified and presence bits, the last field first: both fields set, both fields
		// absent, N present with its old value, S present with only its field B.
		bitString("11 11  11 00  00 01  10 11"), []byte{10}, bitString("11 10"), []byte{2}, []byte{4, 3})
	require.NoError(t, err)
	require.Equal(t, []string{
		`{"n":"5","s":{"a":"1","b":"2"}}` + "\n",
		`{"n":null,"s":null}` + "\n",
		`{"n":"5","s":null}` + "\n",
		`{"n":"5","s":{"a":"0","b":"2"}}` + "\n",
	}, lines)

	// The struct becomes present for the first time, although its modified bit is 0.
	lines, err = decodeOne(t, "struct Rec root { S Sub optional } struct Sub { A uint64 }", 1, bitString("0 1"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{`{"s":{"a":"0"}}` + "\n"}, lines)
}

// TestForeignDictionary: another writer may send a string in full that is already in the dictionary. Then
// the dictionary has two entries with this string.
func TestForeignDictionary(t *testing.T) {
	lines, err := decodeOne(t, "struct Rec root { S string dict(D) }", 5, bitString("11111"),
		unhex(t, "04 61 62 | 04 61 62 | 04 63 64 | 03 | 05"))
	require.NoError(t, err)
	for i, s := range []string{"ab", "ab", "cd", "ab", "cd"} {
		require.Equal(t, `{"s":"`+s+"\"}\n", lines[i])
	}
}

// TestNestedStructDictionary decodes a struct inside another struct. Both have the same dictionary. The
// inner struct is complete first, so its entry has the lower number.
func TestNestedStructDictionary(t *testing.T) {
	lines, err := decodeOne(t, "struct Rec root { D Sub } struct Sub dict(Sub) { N uint64  A []Sub }", 3, bitString("111"),
		// Record 1 has a Sub with N 7 that contains a Sub with N 9. Records 2 and 3 refer to
		// the dictionary: entry 1 is the inner Sub, entry 2 is the outer Sub.
		bitString("1 11  1 01  0 01 01  0 01 10"), []byte{14, 9}, bitString("0101"))
	require.NoError(t, err)
	require.Equal(t, []string{
		`{"d":{"n":"7","a":[{"n":"9","a":[]}]}}` + "\n",
		`{"d":{"n":"9","a":[]}}` + "\n",
		`{"d":{"n":"7","a":[{"n":"9","a":[]}]}}` + "\n",
	}, lines)
}

// TestValuesOnly decodes changed values of a multimap of two pairs, without keys. One bit for each pair
// says whether its value changed. A bit for a third pair is an error.
func TestValuesOnly(t *testing.T) {
	const text = "struct Rec root { M MM } multimap MM { key string value uint64 }"
	f := func(change string, want string) {
		t.Helper()
		lines, err := decodeOne(t, text, 2, bitString("11"), unhex(t, "05"+change), unhex(t, "02 6b 02 6c"), []byte{2, 0, 4})
		if want == "" {
			require.ErrorIs(t, err, dynamic.ErrCorrupt)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want+"\n", lines[1])
	}
	f("02", `{"m":[{"key":"k","value":"5"},{"key":"l","value":"2"}]}`)
	f("04", `{"m":[{"key":"k","value":"1"},{"key":"l","value":"5"}]}`)
	f("08", "")
	f("0a", "")
	f("fe ff ff ff ff ff ff ff ff 01", "")
	_, err := decodeOne(t, text, 1, bitString("1"), []byte{2}, nil, nil)
	require.ErrorIs(t, err, dynamic.ErrCorrupt)
	_, err = decodeOne(t, text, 1, bitString("1"), []byte{0}, nil, nil)
	require.NoError(t, err)
}

// TestMissingChoices truncates the column of a oneof. Up to 56 bits may be missing: the reader reads them
// as zeros, which means that no choice is set. If bits are missing, unread data in other columns is no
// error.
func TestMissingChoices(t *testing.T) {
	f := func(want error, choices, count int, coded string, values ...byte) {
		t.Helper()
		text := "struct Rec root { A []Choice } oneof Choice {"
		for i := range choices {
			text += fmt.Sprintf(" C%d uint64", i)
		}
		runs := [][]byte{bitString("1"), bitString(fmt.Sprintf("0001%012b", count)), bitString(coded), values}
		_, err := decodeOne(t, text+" }", 1, append(runs, make([][]byte, choices-1)...)...)
		require.ErrorIs(t, err, want)
	}
	f(nil, 2, 4, "01 01 01 01", 0, 0, 0, 0)
	f(nil, 2, 5, "01 01 01 01", 0, 0, 0, 0)
	f(nil, 2, 4+28, "01 01 01 01", 0, 0, 0, 0)
	f(dynamic.ErrCorrupt, 2, 4+29, "01 01 01 01", 0, 0, 0, 0)
	f(dynamic.ErrCorrupt, 2, 4, "", 0)
	f(nil, 2, 5, "01 01 01 01", 0, 0, 0, 0, 0) // five values, but only four stored choices
	f(dynamic.ErrCorrupt, 2, 4, "01 01 01 01", 0, 0, 0, 0, 0)
	f(dynamic.ErrCorrupt, 2, 3, "01 01 01 01", 0, 0, 0)
	f(nil, 6, 2+19, "001 001 00", 0, 0)
	f(dynamic.ErrCorrupt, 6, 2+20, "001 001 00", 0, 0)
	f(dynamic.ErrCorrupt, 6, 3, "001 001 01", 0, 0) // a missing bit after 01
}

// TestMissingBits truncates columns of other types, in which no bit may be missing.
func TestMissingBits(t *testing.T) {
	f := func(text string, runs ...[]byte) {
		t.Helper()
		_, err := decodeOne(t, "struct Rec root { A []"+text, 1, append([][]byte{bitString("1"), bitString("001 01001")}, runs...)...)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
	f("bool }", bitString("00000000"))
	f("float64 }", bitString("00000000"))
	f("Sub } struct Sub { A bool }", bitString("00000000"), nil)
	f("Sub } struct Sub { A []bool }", bitString("11111111 1"), bitString("11111111"), nil)
}

func TestBadColumns(t *testing.T) {
	f := func(text string, runs ...[]byte) {
		t.Helper()
		_, err := decodeOne(t, text, 1, runs...)
		require.ErrorIs(t, err, dynamic.ErrCorrupt)
	}
	ok := func(text string, runs ...[]byte) {
		t.Helper()
		_, err := decodeOne(t, text, 1, runs...)
		require.NoError(t, err)
	}
	const number = "struct Rec root { N uint64 }"
	ok(number, bitString("1"), []byte{2})
	ok(number, bitString("1"), unhex(t, "82 80 00")) // a longer form
	ok(number, bitString("1"), unhex(t, "ff ff ff ff ff ff ff ff ff 01"))
	f(number, bitString("1"), nil)
	f(number, bitString("1"), []byte{0x80})
	f(number, bitString("1"), []byte{2, 0})
	f(number, bitString("0"), []byte{2})
	f(number, bitString("1 1"), []byte{2})         // padding bits that are not zero
	f(number, bitString("1 0000000 0"), []byte{2}) // a whole byte of padding
	f(number, bitString("1"), unhex(t, "ff ff ff ff ff ff ff ff ff 02"))

	const text = "struct Rec root { S string dict(D)  B bytes }"
	ok(text, bitString("01"), unhex(t, "02 61"), nil)
	f(text, bitString("01"), unhex(t, "04 61"), nil)
	f(text, bitString("01"), unhex(t, "01"), nil) // the dictionary is empty
	f(text, bitString("10"), nil, unhex(t, "01")) // B has no dictionary
	f(text, bitString("01"), unhex(t, "ff ff ff ff ff ff ff ff ff 01"), nil)
	f(text, bitString("01"), unhex(t, "fe ff ff ff ff ff ff ff ff 01"), nil)

	const choice = "struct Rec root { O Choice } oneof Choice { A bool B bool }"
	ok(choice, bitString("1"), bitString("10"), nil, bitString("1"))
	f(choice, bitString("1"), bitString("11"), nil, nil)

	const dict = "struct Rec root { D Sub } struct Sub dict(Sub) { N uint64 }"
	ok(dict, bitString("1"), bitString("10"), nil)
	f(dict, bitString("1"), bitString("0 1"), nil)     // reference 0
	f(dict, bitString("1"), bitString("0 01 01"), nil) // reference 1 to an empty dictionary
	f(dict, bitString("1"), bitString("0 00000000"), nil)

	const float = "struct Rec root { F float64 }"
	ok(float, bitString("1"), bitString("0"))
	f(float, bitString("1"), bitString("11 11111 100001")) // 31 leading bits and 34 bits
	f(float, bitString("1"), bitString("11 00000 111111 0000"))
}
