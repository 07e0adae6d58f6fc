// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// field returns a length-delimited protobuf field.
func field(number byte, content ...[]byte) []byte {
	b := bytes.Join(content, nil)
	if len(b) > 127 {
		return append([]byte{number<<3 | 2, byte(len(b)) | 0x80, byte(len(b) >> 7)}, b...)
	}
	return append([]byte{number<<3 | 2, byte(len(b))}, b...)
}

func text(s string) []byte { return []byte(s) }

// attribute returns a KeyValue.
func attribute(key, value string) []byte {
	return append(field(1, text(key)), field(2, field(1, text(value)))...)
}

// fixed returns a fixed64 field with the value 1.
func fixed(number byte) []byte {
	return append([]byte{number<<3 | 1}, "\x01\x00\x00\x00\x00\x00\x00\x00"...)
}

// gauge returns a Metric with the points.
func gauge(points ...[]byte) []byte {
	return append(field(1, text("m")), field(5, points...)...)
}

func point(content ...[]byte) []byte { return field(1, append(content, fixed(6))...) }

// inScope returns a message with one resource and one scope that contains the items.
func inScope(items ...[]byte) []byte {
	scope := field(1, field(1, text("scope")))
	var list [][]byte
	for _, item := range items {
		list = append(list, field(2, item))
	}
	return field(1, field(1, field(1, attribute("k", "v"))), field(2, append([][]byte{scope}, list...)...))
}

// If a message does not consist of complete resources, nothing of the message is written.
func TestWireErrors(t *testing.T) {
	good := inScope(gauge(point()))
	f := func(b []byte, offset int) {
		t.Helper()
		for _, s := range signals {
			stream, err := s.encode(t, b)
			var damaged *stefotlp.WireError
			require.ErrorAs(t, err, &damaged)
			require.ErrorIs(t, err, stefotlp.ErrDamaged)
			require.Equal(t, offset, damaged.Offset)
			empty, err := s.encode(t, nil)
			require.NoError(t, err)
			require.Equal(t, empty, stream)
			require.Error(t, s.unmarshal(b))
		}
	}
	f(good[:len(good)-1], 0)
	f(append(bytes.Clone(good), 0x0a), len(good))
	f(append(bytes.Clone(good), 0x0a, 5), len(good))
	f(append(bytes.Clone(good), 0x80), len(good))
	f(append(bytes.Clone(good), 0x08, 1), len(good)) // a number
	f(append(bytes.Clone(good), 0x02, 0), len(good)) // field 0
	f(append(bytes.Clone(good), 0xfe, 0x01), len(good))
	f(append(bytes.Clone(good), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), len(good))
}

// Damaged items of a complete resource are omitted, and all other items are written.
func TestDamagedItems(t *testing.T) {
	f := func(name, path string, items int, bad []byte) {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := otelstef.NewMetricsWriter(&out)
			require.NoError(t, err)
			b := append(append(inScope(gauge(point())), bad...), inScope(gauge(point(), point()))...)
			err = stefotlp.NewMetricsEncoder(w).EncodeOTLP(b)
			var left stefotlp.ItemErrors
			require.ErrorAs(t, err, &left)
			require.ErrorIs(t, err, stefotlp.ErrDamaged)
			require.Len(t, left, 1)
			require.Equal(t, path, left[0].Field)
			require.Equal(t, items, left.Items())
			require.Equal(t, 1, left[0].Resource)
			at := len(b) - len(bad) - len(inScope(gauge(point(), point())))
			require.GreaterOrEqual(t, left[0].Offset, at)
			require.Less(t, left[0].Offset, at+len(bad))
			require.NotContains(t, left.Error(), ": : ")
			require.GreaterOrEqual(t, w.Stats().Records, uint64(3))
			require.Error(t, signals[0].unmarshal(b))
		})
	}
	cut := field(7)[:1] // the tag of attributes without a length
	f("point", "attributes", 1, inScope(gauge(point(), field(1, cut))))
	f("point, fixed64", "as_int", 1, inScope(gauge(point(), field(1, text("\x31123")))))
	f("point, wrong wire type", "as_int", 1, inScope(gauge(field(1, text("\x30\x01")))))
	f("point, unknown field", "", 1, inScope(gauge(field(1, text("\xf6\x01\x01")))))
	f("exemplar", "exemplars.as_int", 1, inScope(gauge(field(1, field(5, text("\x31123"))))))
	f("attribute", "attributes[0].value", 1, inScope(gauge(field(1, field(7, text("\x12\x05abc"))))))
	f("attribute, value", "attributes[1].value.array_value.values.int_value", 1, inScope(gauge(field(1,
		field(7, attribute("a", "b")), field(7, field(2, field(5, field(1, text("\x18\x80"))))))))) // the varint of an int
	f("attribute, text", "attributes[0].value.string_value", 1, inScope(gauge(field(1, field(7, field(1, text("k")), field(2, text("\x0a\x05abc")))))))
	f("histogram", "bucket_counts", 1, inScope(field(9, field(1, field(6, text("1234567"))))))
	f("exponential histogram", "positive.bucket_counts", 1, inScope(field(10, field(1, field(8, field(2, text("\x80")))))))
	f("summary", "quantile_values.quantile", 1, inScope(field(11, field(1, field(6, text("\x09123"))))))
	f("data", "", 2, inScope(append(gauge(), field(5, field(1), text("\x0a"))...)))
	f("data, temporality", "aggregation_temporality", 1, inScope(field(7, field(1), text("\x12\x00"))))
	f("metric", "gauge", 0, inScope(text("\x2a\x05")))
	f("metadata", "metric.metadata[0].key", 2, inScope(append(gauge(point(), point()), field(12, text("\x0a\x05"))...)))
	f("scope", "scope.name", 1, field(1, field(2, field(2, gauge(point())), field(1, text("\x0a\x05")))))
	f("scope, framing", "", 0, field(1, field(2, text("\x12\x05"))))
	f("scope, framing behind two metrics", "", 3, field(1, field(2, field(2, gauge(point(), point())), field(2, gauge(point())), text("\x1a\x05"))))
	f("scope, framing behind a metric without points", "", 0, field(1, field(2, field(2, gauge()), text("\x12\x05"))))
	f("resource", "resource.attributes", 2, field(1, field(2, field(2, gauge(point(), point()))), field(1, text("\x0a\x05"))))
	f("resource, framing", "", 0, field(1, text("\x12\x05")))
	f("resource, unknown fields", "", 0, field(1, text("\xfa\x01\x05")))
}

func TestDamagedSpansAndLogs(t *testing.T) {
	f := func(s signal, path string, bad []byte) {
		t.Run(s.name+"/"+path, func(t *testing.T) {
			good := fixed(map[string]byte{"traces": 7, "logs": 1}[s.name])
			b := inScope(good, bad, good)
			stream, err := s.encode(t, b)
			var left stefotlp.ItemErrors
			require.ErrorAs(t, err, &left)
			require.ErrorIs(t, err, stefotlp.ErrDamaged)
			require.Equal(t, 1, left.Items())
			require.Equal(t, 1, left[0].Item)
			require.Equal(t, -1, left[0].Metric)
			require.Equal(t, path, left[0].Field)
			require.Error(t, s.unmarshal(b))

			want, err := s.encode(t, inScope(good, good))
			require.NoError(t, err)
			s.records(t, want, stream)
		})
	}
	traces, logs := signals[1], signals[2]
	f(traces, "name", text("\x2a\x05"))
	f(traces, "start_time_unix_nano", text("\x391234567"))
	f(traces, "flags", text("\x85\x01123"))
	f(traces, "kind", text("\x32\x00"))
	f(traces, "attributes[0].key", field(9, text("\x0a\x05")))
	f(traces, "events.time_unix_nano", field(11, text("\x09123")))
	f(traces, "events[0].attributes[0].key", field(11, field(3, text("\x0a\x05"))))
	f(traces, "links.flags", field(13, text("\x35123")))
	f(traces, "links[0].attributes[0].key", field(13, field(4, text("\x0a\x05"))))
	f(traces, "status.code", field(15, text("\x18\x80")))
	f(logs, "body.string_value", field(5, text("\x0a\x05")))
	f(logs, "body.kvlist_value.values.key", field(5, field(6, field(1, text("\x0a\x05")))))
	f(logs, "time_unix_nano", text("\x09123"))
	f(logs, "flags", text("\x45123"))
	f(logs, "severity_number", text("\x10"))
	f(logs, "attributes", text("\x32\x05"))
	f(logs, "trace_id", text("\x4a\x05"))
}

// The error for a damaged attribute has its offset in the message. The offset is right even if a tag
// of the item is encoded in more bytes than necessary.
func TestOffsetsBehindLongTags(t *testing.T) {
	const value = "\x0a\x05abc" // a text that is cut off
	for _, s := range signals[1:] {
		number := map[string]byte{"traces": 9, "logs": 6}[s.name]
		for _, tag := range []int{0, 1, 2} { // the field with the long tag: before, at or after the damage
			var item []byte
			for i, f := range [][]byte{
				field(number, attribute("k", "v")),
				field(number, field(1, text("k")), field(2, text(value))),
				field(number, attribute("k", "v")),
			} {
				if i == tag {
					f = append([]byte{f[0] | 0x80, 0}, f[1:]...)
				}
				item = append(item, f...)
			}
			b := inScope(fixed(map[string]byte{"traces": 7, "logs": 1}[s.name]), item)
			_, err := s.encode(t, b)
			var left stefotlp.ItemErrors
			require.ErrorAs(t, err, &left)
			require.Equal(t, "attributes[1].value.string_value", left[0].Field)
			require.Equal(t, bytes.Index(b, text(value)), left[0].Offset)
		}
	}
}

// The offset in an error is also right if tags of the damaged item are encoded in more bytes than
// necessary.
func TestOffsetsInUnusualItems(t *testing.T) {
	f := func(s signal, item []byte, damaged string) {
		t.Helper()
		b := inScope(fixed(map[string]byte{"traces": 7, "logs": 1}[s.name]), item)
		_, err := s.encode(t, b)
		var left stefotlp.ItemErrors
		require.ErrorAs(t, err, &left)
		require.Len(t, left, 1)
		require.Equal(t, bytes.Index(b, text(damaged)), left[0].Offset, left.Error())
	}
	join := func(fields ...[]byte) []byte { return bytes.Join(fields, nil) }
	// A field with a number, whose tag takes three bytes instead of one.
	unusual := func(number byte) []byte { return []byte{number<<3 | 0x80, 0x80, 0, 5} }
	cut := "\x0a\x05cut" // a text of 5 bytes that is cut off
	traces, logs := signals[1], signals[2]
	f(traces, join(unusual(6), field(9, attribute("k", "v")), field(9, text(cut))), cut)
	f(traces, join(field(9, text(cut)), unusual(6)), cut)
	f(traces, join(unusual(6), unusual(6), field(11, field(3, text(cut)))), cut)
	f(logs, join(unusual(2), field(6, text(cut))), cut)
	f(logs, join(unusual(2), field(6, attribute("k", "v")), unusual(7), field(5, field(6, field(1, text(cut))))), cut)
}

// If stefotlp and pdata both accept a truncated or changed message, they convert it to the same
// records. They do not reject the same messages: only pdata rejects protobuf groups, and only stefotlp
// rejects tags of over 32 bits.
func TestMutations(t *testing.T) {
	for _, s := range signals {
		t.Run(s.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			refused := 0
			for seed := range uint64(60) {
				whole := stefotlp.RandomMessage(rand.New(rand.NewPCG(seed, 3)), s.name)
				for range 40 {
					b := bytes.Clone(whole)
					if len(b) == 0 {
						continue
					}
					switch at := rng.IntN(len(b)); rng.IntN(3) {
					case 0:
						b = b[:at]
					case 1:
						b[at] ^= 1 << rng.IntN(8)
					default:
						b[at] = byte(rng.IntN(256))
					}
					compare(t, s, b)
					if s.unmarshal(b) != nil {
						refused++
					}
				}
			}
			require.Greater(t, refused, 100)
		})
	}
}

// compare requires stefotlp and stefpdata to convert a message to the same records, if both accept it.
func compare(tb testing.TB, s signal, b []byte) {
	got, err := s.encode(tb, b)
	if s.unmarshal(b) != nil {
		return
	}
	want, wantErr := s.encodePdata(tb, b)
	if err != nil && wantErr == nil {
		require.ErrorIs(tb, err, stefotlp.ErrDamaged)
		return
	}
	s.records(tb, want, got)
	s.decoded(tb, got)
}
