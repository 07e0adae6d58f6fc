// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Format is the format of telemetry in a file.
type Format uint8

// The formats. Unknown means that names and content decide.
const (
	Unknown Format = iota
	STEF
	OTLPParts
	OTLP
	OTLPJSON
	// STEFParts is a file of STEF streams. The length of each stream precedes it.
	STEFParts
	// Parquet and Arrow are tables of package lake.
	Parquet
	Arrow
)

// FormatNames lists the names of the formats.
const FormatNames = "stef, otlp-parts, otlp, otlp-json, stef-parts, parquet or arrow"

// writtenNames lists the names of the formats that can be written.
const writtenNames = "stef, otlp-parts, otlp, otlp-json, parquet or arrow"

var formatNames = [...]string{Unknown: "unknown", STEF: "stef", OTLPParts: "otlp-parts", OTLP: "otlp", OTLPJSON: "otlp-json",
	STEFParts: "stef-parts", Parquet: "parquet", Arrow: "arrow"}

// otlpFormats are the formats as values of package otlpfile.
var otlpFormats = [...]otlpfile.Format{OTLPParts: otlpfile.Parts, OTLP: otlpfile.Proto, OTLPJSON: otlpfile.JSON}

// String returns the name of the format.
func (f Format) String() string { return formatNames[f] }

// namesOf lists the names of the formats of an input or of an output.
func namesOf(output bool) string {
	if output {
		return writtenNames
	}
	return FormatNames
}

// Formats returns the names of the formats of an input or of an output.
func Formats(output bool) []string {
	return strings.Split(strings.Replace(namesOf(output), " or ", ", ", 1), ", ")
}

// ParseFormat returns the format with a name, of an input or of an output.
func ParseFormat(name string, output bool) (Format, error) {
	for f := STEF; f <= Arrow; f++ {
		if name == formatNames[f] {
			return f, nil
		}
	}
	names := namesOf(output)
	if name == "csv" {
		return Unknown, fmt.Errorf("must be one of %s; %s", names, viaParquet("x"))
	}
	if output && (name == "feather" || name == "ipc") {
		return Unknown, fmt.Errorf("must be one of %s; %s writes a stream, not a Feather file (IPC)", names, Arrow)
	}
	if name == "json" || name == "jsonl" || name == "ndjson" {
		return Unknown, fmt.Errorf("must be one of %s; for OTLP in JSON write %s", names, OTLPJSON)
	}
	return Unknown, fmt.Errorf("must be one of %s", names)
}

// viaParquet says how to make CSV, which is not written because it has no maps and lists.
func viaParquet(base string) string {
	return fmt.Sprintf("for CSV write %s.parquet and export it with DuckDB; ids need hex() and attributes to_json(): docs/data-lake.md of github.com/otelstef/stef has the commands", base)
}

// peeked is how much of the content guessInput examines.
const peeked = 64 << 10

// firstBytes are the first bytes of some formats. They identify a file that is cut within
// these bytes. A file of otlp-parts begins with the first byte of a length below 16 MiB.
var firstBytes = map[Format]string{OTLPParts: "\x00", Parquet: "PAR1", Arrow: "\xff\xff\xff\xff"}

// guessInput returns the format of the content, or the format of the name if
// the content is empty or cut in its first bytes.
func guessInput(name string, head []byte) Format {
	if n := min(len(head), 4); n > 0 && string(head[:n]) == "STEF"[:n] || n == 0 && formatOfName(name) == STEF {
		return STEF
	}
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet
	case bytes.HasPrefix(head, []byte("\xff\xff\xff\xff")):
		return Arrow
	case framed(head):
		return STEFParts
	case len(head) > 0 && len(head) <= 4:
		f := formatOfName(name)
		if first := firstBytes[f]; first != "" && strings.HasPrefix(first, string(head[:min(len(head), len(first))])) {
			return f
		}
	}
	return ours(otlpfile.GuessFormat(name, head))
}

// allowsEmpty reports whether an empty input is valid in a format: a file of OTLP without messages.
func (f Format) allowsEmpty(head []byte) bool { return f == OTLPJSON || f.otlp() && len(head) == 0 }

// isRecord reports whether content begins with a line of stef cat: a record of a stream of
// telemetry as JSON.
func isRecord(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	var record map[string]json.RawMessage
	if json.Unmarshal(line, &record) != nil {
		return false
	}
	of := 0 // number of keys that only one signal has
	for key := range record {
		switch key {
		case "point", "span", "record":
			of++
		case "envelope", "metric", "resource", "scope", "attributes":
		default:
			return false
		}
	}
	return of == 1
}

// formatOfName returns the format that the end of an output name implies.
func formatOfName(name string) Format {
	name = file.UnpackedName(name)
	if strings.HasSuffix(strings.ToLower(name), ".stef") {
		return STEF
	}
	for end, f := range map[string]Format{".parquet": Parquet, ".arrow": Arrow, ".arrows": Arrow} {
		if strings.HasSuffix(strings.ToLower(name), end) {
			return f
		}
	}
	return ours(otlpfile.GuessFormat(name, nil))
}

// otherEnds are further ends of names, for errors: they imply the formats of .otlp, .pb and .json.
const otherEnds = ".parts, .otlp-parts, .binpb, .jsonl, .ndjson"

// HasFormat reports whether the end of an output name implies a format.
func HasFormat(name string) bool { return formatOfName(name) != Unknown }

func ours(f otlpfile.Format) Format {
	for our := OTLPParts; our <= OTLPJSON; our++ {
		if f == otlpFormats[our] {
			return our
		}
	}
	return Unknown
}

// Mode is the order in which items are written into a stream.
type Mode uint8

// The modes. DefaultMode is sorted for metrics and traces, ordered for logs.
const (
	DefaultMode Mode = iota
	Ordered
	Sorted
)

// String returns the name of the mode.
func (m Mode) String() string { return [...]string{"default", "ordered", "sorted"}[m] }

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	switch name {
	case "ordered":
		return Ordered, nil
	case "sorted":
		return Sorted, nil
	}
	return DefaultMode, fmt.Errorf("%q is neither ordered nor sorted", name)
}

// of returns the mode to use for a signal.
func (m Mode) of(s otlpfile.Signal) Mode {
	switch {
	case m != DefaultMode:
		return m
	case s == otlpfile.Logs:
		return Ordered
	}
	return Sorted
}
