// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

type signal struct {
	name, encoder string
	message       *shape // the whole message, without attributes
}

// The signals. Metrics are first: a gauge can look like a span with its name as the
// trace id, but no span looks like a metric.
var (
	metricsSignal = signal{"metrics", "MetricsEncoder", messageOf(newShape(
		field{1, actBytes, "name", nil},
		field{2, actBytes, "description", nil},
		field{3, actBytes, "unit", nil},
		field{5, actMessage, "gauge", newShape(field{1, actMessage, "data_points", numberShape})},
		field{7, actMessage, "sum", sumOf(numberShape)},
		field{9, actMessage, "histogram", sumOf(histogramShape)},
		field{10, actMessage, "exponential_histogram", sumOf(exponentialShape)},
		field{11, actMessage, "summary", newShape(field{1, actMessage, "data_points", summaryShape})},
		field{12, actBytes, "metadata", nil},
	))}
	logsSignal   = signal{"logs", "LogsEncoder", messageOf(recordShape)}
	tracesSignal = signal{"traces", "TracesEncoder", messageOf(spanShape)}
	signals      = [...]*signal{&metricsSignal, &logsSignal, &tracesSignal}
)

// messageOf returns the shape of a message whose items have the shape item.
func messageOf(item *shape) *shape {
	scopes := newShape(
		field{1, actMessage, "scope", scopeShape},
		field{2, actMessage, "items", item},
		field{3, actBytes, "schema_url", nil},
	)
	resources := newShape(
		field{1, actMessage, "resource", resourceShape},
		field{2, actMessage, "scopes", scopes},
		field{3, actBytes, "schema_url", nil},
	)
	return newShape(field{1, actMessage, "resources", resources})
}

// sumOf returns the shape of a Sum or a histogram whose points have the shape point.
func sumOf(point *shape) *shape {
	return newShape(
		field{1, actMessage, "data_points", point},
		field{2, actVarint, "aggregation_temporality", nil},
		field{3, actVarint, "is_monotonic", nil},
	)
}

// fits reports whether b is a message of s, with known fields only.
func (s *signal) fits(b []byte) bool {
	var c checker
	return c.message(s.message, b, 0, 0) && c.unknown == 0
}

// foreign returns an error if b is recognized as a message of another signal.
func (s *signal) foreign(b []byte) error {
	for _, other := range signals {
		if other != s && other.fits(b) {
			return &WireError{Err: &damage{0, fmt.Sprintf("it holds %s, not %s: use a %s", other.name, s.name, other.encoder)}}
		}
	}
	return nil
}

// formats are the beginnings of data that is often passed to an encoder by mistake.
var formats = []struct{ start, hint string }{
	{"{", "it looks like JSON, but only the protobuf encoding is read"},
	{"\x1f\x8b", "it is compressed with gzip: decompress it first"},
	{"\x28\xb5\x2f\xfd", "it is compressed with zstd: decompress it first"},
	{"STEF", "it is a STEF stream, not OTLP: read it with a reader of package otelstef"},
}

// looksLike returns a text about b, which is not a message: what b seems to be. It returns reason
// if it does not recognize b.
func looksLike(b []byte, reason string) string {
	for _, f := range formats {
		if bytes.HasPrefix(b, []byte(f.start)) {
			return f.hint
		}
	}
	switch n := len(b); {
	case n > 5 && b[0] <= 1 && uint64(binary.BigEndian.Uint32(b[1:])) == uint64(n-5):
		return "it begins with the 5 bytes that gRPC puts before a message: remove them"
	case n > 4 && uint64(binary.BigEndian.Uint32(b)) == uint64(n-4):
		return "it begins with its length in 4 bytes: remove them"
	}
	if n := framed(b); n > 1 && bytes.ContainsFunc(b, func(r rune) bool { return r != 0 }) {
		return fmt.Sprintf("it is a file of %d messages with their lengths in 4 bytes: encode each message without its length", n)
	}
	return reason
}

// framed returns the number of messages in b if each message is preceded by its length, as in files
// of the Collector's file exporter. Otherwise framed returns 0.
func framed(b []byte) (messages int) {
	for ; len(b) > 0; messages++ {
		if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
			return 0
		}
		b = b[4+binary.BigEndian.Uint32(b):]
	}
	return messages
}
