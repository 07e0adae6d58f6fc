// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package teltest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Vector is a reference vector: a stream that the reference implementation wrote, or a
// malformed stream. The manifest in the folder of the vectors contains these fields.
type Vector struct {
	Name            string
	File            string
	Root            string
	Sidecar         string
	Records         uint64
	CanonicalSHA256 string `json:"canonical_sha256"`
	DataFrames      int    `json:"data_frames"`
	Compression     string
	HasSchema       bool   `json:"has_schema"`
	ReferenceError  string `json:"reference_error"`
	Expect          string // expected result for a malformed stream: error, accept or any
	First200        string
	Canonical       struct {
		Root    string
		Records uint64
		SHA256  string
	}

	folder string
}

// Vectors returns the vectors of a folder: edge, data or malformed. If the vectors are missing, it
// skips the test like Golden.
func Vectors(tb testing.TB, folder string) (list []Vector) {
	tb.Helper()
	path := Golden(tb, folder, "MANIFEST.jsonl")
	manifest, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer manifest.Close()
	for dec := json.NewDecoder(manifest); ; {
		v := Vector{folder: filepath.Dir(path)}
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) && len(list) > 0 {
			return list
		}
		if err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		list = append(list, v)
	}
}

// Path returns the path of the stream.
func (v *Vector) Path() string { return filepath.Join(v.folder, v.File) }

// Stream returns the bytes of the stream.
func (v *Vector) Stream(tb testing.TB) []byte {
	tb.Helper()
	stream, err := os.ReadFile(v.Path())
	if err != nil {
		tb.Fatal(err)
	}
	return stream
}

// JSON returns the records as canonical JSON: all of them, or the first 200 of a large
// stream.
func (v *Vector) JSON(tb testing.TB) []byte {
	tb.Helper()
	name := v.Sidecar
	if name == "" {
		name = v.First200
	}
	text, err := os.ReadFile(filepath.Join(v.folder, name))
	if err == nil && strings.HasSuffix(name, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(z)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// FirstDifference returns the first lines in which two texts differ.
func FirstDifference(want, have []byte) string {
	w, h := bytes.Split(want, []byte("\n")), bytes.Split(have, []byte("\n"))
	for i := range w {
		if i >= len(h) || !bytes.Equal(w[i], h[i]) {
			return "want\n" + string(w[i]) + "\nhave\n" + string(bytes.Join(h[min(i, len(h)):min(i+1, len(h))], nil))
		}
	}
	return "more records than wanted"
}

// WatchHeap samples the heap until the test ends. The returned function returns the peak so
// far, in bytes above the heap at the start.
func WatchHeap(tb testing.TB) func() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	var peak uint64
	sample := make(chan chan uint64)
	go func() {
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			var reply chan uint64
			select {
			case r, ok := <-sample:
				if !ok {
					tick.Stop()
					return
				}
				reply = r
			case <-tick.C:
			}
			runtime.ReadMemStats(&m)
			if m.HeapAlloc > before {
				peak = max(peak, m.HeapAlloc-before)
			}
			if reply != nil {
				reply <- peak
			}
		}
	}()
	tb.Cleanup(func() { close(sample) })
	return func() uint64 {
		reply := make(chan uint64)
		sample <- reply
		return <-reply
	}
}
