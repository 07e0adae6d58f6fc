// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// recognised returns the name of the root, and checks that no byte is lost.
func recognised(t *testing.T, data []byte) (string, error) {
	t.Helper()
	root, rest, err := stream.Recognise(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	all, err := io.ReadAll(rest)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, all))
	return root.Name, nil
}

// The reference implementation announces no schema, so the data of its streams decide the
// root. The answer may be that the root is unknown, but never a wrong root.
func TestReferenceStreams(t *testing.T) {
	f := func(folder string, unknown int) {
		for _, v := range teltest.Vectors(t, folder) {
			data := v.Stream(t)
			root, err := recognised(t, data)
			switch {
			case v.Name == "m_userdata_long":
				require.ErrorIs(t, err, dynamic.ErrLimit)
			case errors.Is(err, stream.ErrRoot):
				t.Logf("%s: %v", v.Name, err)
				unknown--
			default:
				require.NoError(t, err, v.Name)
				if v.Records > 0 {
					require.Equal(t, v.Root+v.Canonical.Root, root, v.Name)
				}
			}
		}
		require.Zero(t, unknown)
	}
	f("edge", 1) // a record without any field set fits any root
	if !testing.Short() {
		f("data", 0)
	}
}

type writer interface {
	Write() error
	Flush() error
}

func written(t *testing.T, root string, records int, options ...stef.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w writer
	var err error
	switch root {
	case "metrics":
		m, e := otelstef.NewMetricsWriter(&buf, options...)
		w, err = m, e
		m.Record().EditMetric().SetName("requests")
	case "spans":
		s, e := otelstef.NewSpansWriter(&buf, options...)
		w, err = s, e
		s.Record().Span().SetName("GET")
	case "logs":
		l, e := otelstef.NewLogsWriter(&buf, options...)
		w, err = l, e
		l.Record().Record().Body().SetString("hello")
	}
	require.NoError(t, err)
	for range records {
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush())
	}
	return buf.Bytes()
}

func TestOwnStreams(t *testing.T) {
	for _, root := range []string{"metrics", "spans", "logs"} {
		for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
			f := func(records int, options ...stef.WriterOption) {
				t.Helper()
				data := written(t, root, records, append(options, stef.WithCompression(compression))...)
				got, err := recognised(t, data)
				require.NoError(t, err)
				require.Equal(t, root, got)
			}
			// The announced schema, the user data or the records determine the root.
			f(0, stef.WithSchemaHeader())
			f(0, stef.WithUserData(map[string]string{stream.UserDataKey: root}))
			f(3)
			switch root {
			case "metrics":
				f(3, otelstef.PublishedMetrics())
			case "spans":
				f(3, otelstef.PublishedSpans())
			}
		}
	}
}

func TestNoRecordsIsAnyRoot(t *testing.T) {
	for _, p := range []stef.Compression{stef.None, stef.Zstd} {
		root, err := recognised(t, written(t, "logs", 0, stef.WithSchema(otelstef.LogsBaseSchema()), stef.WithCompression(p)))
		require.NoError(t, err)
		require.Equal(t, "metrics", root)
	}
}

// Errors of a stream that do not depend on the root are reported without
// guesses about the root.
func TestDamaged(t *testing.T) {
	f := func(data []byte, kind error, want string) {
		t.Helper()
		_, err := recognised(t, data)
		require.ErrorIs(t, err, kind)
		require.EqualError(t, err, want)
	}
	f(nil, io.ErrUnexpectedEOF, "stef: offset 0: corrupt stream: signature: unexpected EOF")
	f([]byte("RIFF1234"), dynamic.ErrCorrupt, `stef: offset 0: corrupt stream: "RIFF" is not the signature of a STEF stream`)
}

func TestTruncatedAnywhere(t *testing.T) {
	for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
		data := written(t, "spans", 2, otelstef.PublishedSpans(), stef.WithCompression(compression))
		for n := range data {
			root, err := recognised(t, data[:n])
			// If no frame is whole, several roots may fit, and the result may be the wrong root.
			// Reading the stream as any root then reports the cut.
			if err == nil {
				require.Contains(t, []string{"metrics", "spans"}, root)
			}
		}
	}
}

func TestFailingSource(t *testing.T) {
	data := written(t, "logs", 2)
	failure := errors.New("the disk is gone")
	for n := range data {
		_, _, err := stream.Recognise(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(failure)))
		if err != nil {
			require.ErrorIs(t, err, failure)
		} else {
			require.Greater(t, n, len(data)/3)
		}
	}
}

func TestParseRoot(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		root, err := stream.ParseRoot(name)
		require.NoError(t, err)
		require.Equal(t, want, root.Name)
		require.Same(t, root, stream.RootOf(root.Signal))
	}
	f("metrics", "metrics")
	f("spans", "spans")
	f("traces", "spans")
	f("logs", "logs")
	_, err := stream.ParseRoot("profiles")
	require.ErrorIs(t, err, stream.ErrName)
	require.EqualError(t, err, `no such root: "profiles"; there are metrics, spans, logs`)
	_, err = stream.Roots()[:1].Parse("profiles")
	require.EqualError(t, err, `no such root: "profiles"; there is only metrics`)
}

// For arbitrary bytes, Recognise returns a result, and a reader of the unchanged bytes.
func FuzzRecognise(f *testing.F) {
	f.Add([]byte("STEF\x02\x00\x00\x00\x02\x00\x00"))
	f.Add([]byte("STEF\x02\x00\x01\x00\x02\x0b\x28\xb5\x2f\xfd\x20\x02\x11\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, rest, err := stream.Recognise(bytes.NewReader(data))
		if err != nil {
			require.Nil(t, root)
			return
		}
		all, err := io.ReadAll(rest)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, all))
	})
}
