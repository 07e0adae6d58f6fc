// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// headSize is the number of bytes that Open examines to guess.
const headSize = 64 << 10

// GuessFormat guesses the format from the first bytes of the uncompressed
// content. If the content is empty, it guesses from the end of the file name.
// It returns FormatUnknown if neither decides. Name may be empty.
func GuessFormat(name string, head []byte) Format {
	head = bytes.TrimPrefix(head, byteOrderMark)
	c := firstVisible(head)
	if len(head) == 0 || c == 0 && len(bytes.TrimSpace(head)) == 0 {
		return formatOfName(name)
	}
	// Protobuf begins with the tag of field 1, the byte 0x0a, and a length. JSON can also
	// begin with 0x0a, a line break, and then a brace. A length can have the value of a brace,
	// so the bytes after the length decide. A file of parts rarely begins with 0x0a: its first
	// part would have at least 160 MiB.
	message := head[0] == 1<<3|wireLen
	if c == '{' && !(message && fitting(head, true) != 0) {
		return JSON
	}
	if message {
		return Proto
	}
	if len(head) >= 4 {
		size := binary.BigEndian.Uint32(head)
		inside := len(head) > 4 && head[4] == 1<<3|wireLen
		if size == 0 || size <= DefaultMaxPart && inside {
			return Parts
		}
	}
	return FormatUnknown
}

func formatOfName(name string) Format {
	base := baseName(name)
	for _, end := range []struct {
		text   string
		format Format
	}{
		{".json", JSON}, {".jsonl", JSON}, {".ndjson", JSON},
		{".pb", Proto}, {".binpb", Proto},
		{".parts", Parts}, {".otlp-parts", Parts}, {".otlp", Parts},
	} {
		if strings.HasSuffix(base, end.text) {
			return end.format
		}
	}
	return FormatUnknown
}

// GuessSignal guesses the signal from the first bytes of content in a format.
// If they fit more than one signal, it uses a name such as host-metrics.zst. It
// returns SignalUnknown if neither decides. Name may be empty.
func GuessSignal(name string, f Format, head []byte) Signal {
	if s := signalOfContent(f, head, true); s != SignalUnknown {
		return s
	}
	// A newer version of the protocol may have fields that this code does not
	// know.
	if s := signalOfContent(f, head, false); s != SignalUnknown {
		return s
	}
	return signalOfName(name)
}

func signalOfName(name string) Signal {
	base := baseName(name)
	found := SignalUnknown
	for _, word := range []struct {
		text   string
		signal Signal
	}{
		{"metrics", Metrics}, {"traces", Traces}, {"spans", Traces}, {"logs", Logs},
	} {
		if !strings.Contains(base, word.text) {
			continue
		}
		if found != SignalUnknown && found != word.signal {
			return SignalUnknown
		}
		found = word.signal
	}
	return found
}

func signalOfContent(f Format, head []byte, strict bool) Signal {
	switch f {
	case Proto:
		return theOne(fitting(head, strict))
	case Parts:
		return signalOfParts(head, strict)
	case JSON:
		return signalOfJSON(head)
	}
	return SignalUnknown
}

// signalOfParts returns the signal that fits all parts in the head.
func signalOfParts(head []byte, strict bool) Signal {
	fits := allSignals
	for len(head) > 4 {
		size := uint64(binary.BigEndian.Uint32(head))
		head = head[4:]
		part := head[:min(uint64(len(head)), size)]
		fits &= fitting(part, strict)
		if fits&(fits-1) == 0 {
			break
		}
		head = head[len(part):]
	}
	return theOne(fits)
}

// allSignals is the set of signals; bit n stands for signal n.
const allSignals uint8 = 1<<Metrics | 1<<Traces | 1<<Logs

// fitting returns the signals whose messages can begin with the bytes of head: bit n of the result
// stands for signal n.
func fitting(head []byte, strict bool) uint8 {
	var fits uint8
	for s := Metrics; s <= Logs; s++ {
		w := walk{strict: strict, cut: true}
		if ft := w.message(head, 0, roots[s], 0, 0); ft == nil || ft.err == errCut {
			fits |= 1 << s
		}
	}
	return fits
}

func theOne(fits uint8) Signal {
	for s := Metrics; s <= Logs; s++ {
		if fits == 1<<s {
			return s
		}
	}
	return SignalUnknown
}

// Names of the field that holds all content, in the two spellings of JSON.
var jsonNames = [...][2]string{
	Metrics: {"resourceMetrics", "resource_metrics"},
	Traces:  {"resourceSpans", "resource_spans"},
	Logs:    {"resourceLogs", "resource_logs"},

	profiles: {"resourceProfiles", "resource_profiles"},
}

// profiles stands for the profiles in a file. They are no Signal, because STEF does not support them.
const profiles = Logs + 1

// signalOfJSON returns the signal whose field name occurs first, or SignalUnknown.
func signalOfJSON(head []byte) Signal {
	found, at := SignalUnknown, len(head)
	for s := Metrics; s <= Logs; s++ {
		for _, name := range jsonNames[s] {
			if i := bytes.Index(head, []byte(`"`+name+`"`)); i >= 0 && i < at {
				found, at = s, i
			}
		}
	}
	return found
}

// firstVisible returns the first byte that is not white space in JSON.
func firstVisible(b []byte) byte {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 {
		return 0
	}
	return b[0]
}
