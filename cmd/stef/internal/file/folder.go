// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxPatterns is the maximum number of patterns in an error about a folder.
const maxPatterns = 3

// formatEnds are the usual ends of the names of telemetry files.
var formatEnds = []string{".stef", ".parquet", ".arrow", ".arrows", ".otlp", ".parts", ".otlp-parts", ".pb", ".binpb", ".json", ".jsonl", ".ndjson"}

// packedEnds are the ends of the names of compressed files.
var packedEnds = []string{".zst", ".zstd", ".gz"}

// UnpackedName returns the name of a file without the end that says how the file is compressed.
func UnpackedName(name string) string {
	for _, end := range packedEnds {
		if base, ok := strings.CutSuffix(name, end); ok {
			return base
		}
	}
	return name
}

// patterns returns patterns such as *.stef for the files of a folder: one for each end of a name,
// the most frequent ends first. If some files have the end of a format, it leaves out all other
// files, such as notes beside a recording.
func patterns(folder string) string {
	entries, _ := os.ReadDir(folder) // without entries, the pattern is for all files
	counts, known := map[string]int{}, map[string]int{}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		base := UnpackedName(e.Name())
		end, packed := filepath.Ext(base), strings.TrimPrefix(e.Name(), base)
		counts[end+packed]++
		if slices.Contains(formatEnds, end) {
			known[end+packed]++
		}
	}
	if len(known) > 0 {
		counts = known
	}
	ends := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(ends, func(a, b string) int { return counts[b] - counts[a] })
	if len(ends) == 0 {
		ends = []string{""}
	}
	var list []string
	for _, end := range ends[:min(len(ends), maxPatterns)] {
		path := filepath.Join(folder, "*"+end)
		if filepath.Dir(path) == "." { // a file whose name begins with a dash would be a flag
			path = "." + string(filepath.Separator) + path
		}
		list = append(list, path)
	}
	return strings.Join(list, " ")
}
