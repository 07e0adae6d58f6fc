// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// logStream returns a stream of n frames with one log record each.
func logStream(t *testing.T, n int, options ...stef.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewLogsWriter(&buf, options...)
	require.NoError(t, err)
	for i := range n {
		r := w.Record().Record()
		r.SetSeverityText("information of the checkout service")
		r.SetEventName(fmt.Sprintf("order accepted %d", i))
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func readLogs(stream []byte, options ...stef.ReaderOption) ([]string, error) {
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream), options...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var names []string
	for r.Next() {
		names = append(names, r.Record().Record().EventName())
	}
	return names, r.Err()
}

// TestZstdDict: a stream is smaller with a zstd dictionary. Readers that have this dictionary, alone or with
// others, can read the stream. Readers without it return an error.
func TestZstdDict(t *testing.T) {
	dict, err := stef.NewZstdDict(logStream(t, 3))
	require.NoError(t, err)
	other, err := stef.NewZstdDict([]byte("something else"))
	require.NoError(t, err)
	require.NotEqual(t, dict.ID(), other.ID())

	plain := logStream(t, 2, stef.WithCompression(stef.Zstd))
	for _, restart := range []stef.FrameFlags{0, stef.RestartCompression} {
		stream := logStream(t, 2, stef.WithCompression(stef.Zstd), stef.WithZstdDict(dict), stef.WithRestart(restart))
		if restart == 0 {
			require.Less(t, len(stream), len(plain)-30)
		}
		want, err := readLogs(plain)
		require.NoError(t, err)
		got, err := readLogs(stream, stef.WithZstdDicts(other, dict))
		require.NoError(t, err)
		require.Equal(t, want, got)
		for _, options := range [][]stef.ReaderOption{nil, {stef.WithZstdDicts(other)}} {
			_, err = readLogs(stream, options...)
			require.ErrorIs(t, err, stef.ErrZstdDict)
			require.NotErrorIs(t, err, stef.ErrCorrupt)
			var at *stef.FormatError
			require.ErrorAs(t, err, &at)
		}
		// A reader with dictionaries also reads streams that need no dictionary.
		_, err = readLogs(plain, stef.WithZstdDicts(dict))
		require.NoError(t, err)
	}
	none := logStream(t, 2, stef.WithZstdDict(dict))
	_, err = readLogs(none)
	require.NoError(t, err)
}

func TestZstdDictOptions(t *testing.T) {
	_, err := stef.NewZstdDict(make([]byte, 7))
	require.ErrorContains(t, err, "from 8 to")
	_, err = stef.NewZstdDict(make([]byte, stef.MaxZstdDictBytes+1))
	require.ErrorContains(t, err, "from 8 to")
	dict, err := stef.NewZstdDict(make([]byte, stef.MaxZstdDictBytes))
	require.NoError(t, err)
	_, err = otelstef.NewLogsWriter(new(bytes.Buffer), stef.WithZstdDict(nil))
	require.ErrorContains(t, err, "WithZstdDict: the dictionary is nil or empty")
	_, err = otelstef.NewLogsWriter(new(bytes.Buffer), stef.WithZstdDict(new(stef.ZstdDict)))
	require.ErrorContains(t, err, "WithZstdDict: the dictionary is nil or empty")
	_, err = readLogs(nil, stef.WithZstdDicts(new(stef.ZstdDict)))
	require.ErrorContains(t, err, "dictionary 1 is nil or empty")
	_, err = readLogs(nil, stef.WithZstdDicts(dict, nil))
	require.ErrorContains(t, err, "dictionary 2 is nil or empty")
	_, err = readLogs(nil, stef.WithZstdDicts(dict, dict, dict, dict, dict))
	require.ErrorContains(t, err, "at most 4")
}
