// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest/benchdata"
)

var _ = benchdata.Name("synthetic: spans of the test in JSON")

func unknownIn(t *testing.T, signal Signal, content string, options ...ReaderOption) []UnknownField {
	t.Helper()
	r, err := Open(strings.NewReader(content), JSON, signal, options...)
	require.NoError(t, err)
	defer r.Close()
	for {
		_, err := r.Next()
		if err == io.EOF {
			return r.Unknown()
		}
		require.NoError(t, err)
	}
}

// Fields of versions of OTLP before 1.0, and misspelt fields, are counted.
func TestUnknownFields(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{`{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[{"name":"a"}]}]}]}`, "[{ResourceSpans instrumentationLibrarySpans 1}]"},
		{`{"resourceSpans":[{"scopeSpans":[{"instrumentationLibrary":{"name":"a"},"spans":[{"startTimeUnixNanos":1},{"startTimeUnixNanos":2}]}]}]}`,
			"[{ScopeSpans instrumentationLibrary 1} {Span startTimeUnixNanos 2}]"},
		{`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"intGauge":{}},{"gauge":{"isMonotonic":true,"dataPoints":[{"labels":[{"key":"a"}],"asInt":"1"}]}}]}]}]}`,
			"[{Metric intGauge 1} {Gauge isMonotonic 1} {NumberDataPoint labels 1}]"},
		{"{\"resourceLogs\":[\n{\"scopeLogs\" : [ {\"logs\":[{\"a\":[{}]}] } ]}]}\n{\"resourceLogs\":[{\"scopeLogs\":[{\"logs\":[]}]}]}", "[{ScopeLogs logs 2}]"},
		{`{"resourceLogs":[],"other":[{"x":{}}]}`, "[{LogsData other 1}]"},
		{`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"kvlistValue":{"values":[{"key":"any","value":{"arrayValue":{"values":[{"stringvalue":"a"}]}}}]}}}]}]}]}`,
			"[{AnyValue stringvalue 1}]"},
		{`{"resource_logs":[{"scope_logs":[{"log_records":[{"\u0062ody":{"stringValue":"\"b\\"},"time_unix_nano":1,"a\u000ab":null}]}]}]}`, "[{LogRecord a\nb 1}]"},
	} {
		for _, more := range [][]ReaderOption{nil, {WithConcurrency(4)}} {
			require.Equal(t, c.want, fmt.Sprint(unknownIn(t, SignalUnknown, c.content, more...)), c.content)
		}
	}
	// Fields of another signal in the same message or file do not count.
	mixed := `{"resourceLogs":[{"x":1}],"resourceSpans":[{"y":1}]}` + "\n" + `{"resourceSpans":[{"y":1}]}`
	require.Equal(t, []UnknownField{{"ResourceLogs", "x", 1}}, unknownIn(t, Logs, mixed, WithOtherSignals()))

	// A file that uses data as field names needs only bounded memory.
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `{"resourceLogs":[{"n%d%s":1}]}`+"\n", i, strings.Repeat("x", 1000))
	}
	found := unknownIn(t, Logs, many.String())
	require.Len(t, found, MaxUnknownFields+1)
	require.Len(t, found[0].Name, maxUnknownName)
	require.Equal(t, UnknownField{Objects: 80}, found[MaxUnknownFields])
}

// pdata keeps the last of several fields of a oneof. This is an error, because the other fields
// would be lost. A field of null is not set, so it excludes nothing.
func TestSecondField(t *testing.T) {
	const metric = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{%s}]}]}]}`
	const body = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{%s}}]}]}]}`
	point := `"dataPoints":[{"timeUnixNano":"1"}]`
	for _, c := range []struct{ signal, fields, want string }{
		{metric, `"sum":{` + point + `},"gauge":{` + point + `}`, "the message Metric has the field gauge after sum"},
		{metric, `"sum":{` + point + `},"gauge":null`, ""},
		{metric, `"exponential_histogram":{},"name":"a","summary":{` + point + `}`, "the message Metric has the field summary after exponential_histogram"},
		{metric, `"gauge":{"dataPoints":[{"asInt":"1","asDouble":1}]}`, "the message NumberDataPoint has the field asDouble after asInt"},
		{metric, `"gauge":{"dataPoints":[{"exemplars":[{"asInt":"1","as_double":1}]}]}`, "the message Exemplar has the field as_double after asInt"},
		{body, `"intValue":"1","stringValue":null`, ""},
		{body, `"intValue":"1","stringValue":""`, "the message AnyValue has the field stringValue after intValue"},
		{body, `"arrayValue":{"values":[{"stringValue":"a","bytesValue":""}]}`, "the message AnyValue has the field bytesValue after stringValue"},
		{metric, `"gauge":{` + point + `},"gauge":{` + point + `}`, "the message Metric has the field gauge twice"},
		{metric, `"gauge":null,"sum":{` + point + `}`, ""},
		{metric, `"histogram":{"dataPoints":[{"sum":1,"min":1}]}`, ""},
		{metric, `"gauge":{"dataPoints":[{"asInt":"1","intValue":2,"sum":3}]}`, ""}, // unknown fields are counted, but are no error
		{body, `"arrayValue":{"values":[{"stringValue":"a"},{"bytesValue":""}]}`, ""},
	} {
		line := fmt.Sprintf(c.signal, c.fields)
		for _, content := range []string{line, strings.Replace(line, "[", "[\n", 1)} {
			r, err := Open(strings.NewReader(content), JSON, SignalUnknown)
			require.NoError(t, err)
			_, err = r.Next()
			r.Close()
			if c.want == "" {
				require.NoError(t, err, content)
				continue
			}
			require.ErrorIs(t, err, ErrCorrupt, content)
			require.ErrorContains(t, err, c.want, content)
		}
	}
}

// In protobuf, a second field of a oneof is the same error.
func TestSecondFieldInProto(t *testing.T) {
	point := "\x0a\x09\x19\x05\x00\x00\x00\x00\x00\x00\x00"
	for _, c := range []struct{ metric, want string }{
		{"\x3a\x0b" + point + "\x2a\x0b" + point, "the message Metric has the field gauge after sum"},
		{"\x3a\x0b" + point + "\x3a\x0b" + point, "the message Metric has the field sum twice"},
		{"\x3a\x16" + point + point, ""},
	} {
		message := c.metric
		for _, tag := range []byte{0x12, 0x12, 0x0a} {
			message = string([]byte{tag, byte(len(message))}) + message
		}
		for signal, more := range map[Signal][]ReaderOption{SignalUnknown: nil, Metrics: {WithoutPdata(func(Signal) bool { return true })}} {
			r, err := Open(strings.NewReader(message), Proto, signal, more...)
			require.NoError(t, err)
			_, err = r.Next()
			r.Close()
			if c.want == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, c.want)
		}
	}
}

// isChoice returns true for exactly the names of fields that belong to a oneof. Only the name sum is
// ambiguous: the field sum of a metric belongs to a oneof, the field sum of a point does not. This does
// no harm, because a point with the field sum has no other field with a name of isChoice.
func TestChoices(t *testing.T) {
	seen := map[*descriptor]bool{}
	var walk func(s *descriptor)
	walk = func(s *descriptor) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, f := range s.fields {
			if f.name != "sum" || f.descriptor != nil {
				require.Equal(t, f.choice, isChoice([]byte(f.name)), f.name)
				require.Equal(t, f.choice, isChoice([]byte(camel(f.name))), f.name)
			}
			if f.descriptor != nil {
				walk(f.descriptor)
			}
		}
	}
	for s := Metrics; s <= Logs; s++ {
		walk(roots[s])
	}
}

// The table of fields has the names that pdata reads in JSON: pdata accepts each name of the table, and
// rejects the name with an additional letter.
func TestKeysArePdatas(t *testing.T) {
	eachField(t, func(s Signal, name, before, after string) {
		text := []byte(before + `{"` + name + `":null}` + after)
		_, err := unmarshalJSON(s, text, true)
		if err != nil { // pdata refuses null for some fields
			require.NotContains(t, err.Error(), "unknown", "%s", text)
		}
		require.Empty(t, findUnknown(s, bytes.Clone(text)), "%s", text)
		text = bytes.Replace(text, []byte(name+`":null`), []byte(name+`X":null`), 1)
		_, err = unmarshalJSON(s, text, true)
		require.ErrorContains(t, err, "unknown", "%s", text)
		require.NotEmpty(t, findUnknown(s, text), "%s", text)
	})
}

// eachField calls f for each field of OTLP, with the JSON before and after the object of the field.
func eachField(t *testing.T, f func(s Signal, name, before, after string)) {
	for s := Metrics; s <= Logs; s++ {
		seen := map[*jsonKeys]bool{}
		var walk func(k *jsonKeys, before, after string)
		walk = func(k *jsonKeys, before, after string) {
			if seen[k] {
				return
			}
			seen[k] = true
			for name, below := range k.fields {
				f(s, name, before, after)
				if below == nil {
					continue
				}
				open, end := `{"`+name+`":[`, "]}"
				for _, single := range []string{"resource", "scope", "body", "value", "status", "gauge", "sum", "histogram", "exponentialHistogram", "exponential_histogram",
					"summary", "positive", "negative", "arrayValue", "array_value", "kvlistValue", "kvlist_value"} {
					if name == single {
						open, end = `{"`+name+`":`, "}"
					}
				}
				walk(below, before+open, end+after)
			}
		}
		walk(keysOf[s], "", "")
		require.Greater(t, len(seen), 8)
	}
}

func BenchmarkUnknownFields(b *testing.B) {
	span := `{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"GET /cart","kind":2,"startTimeUnixNano":"1544712660000000000",` +
		`"endTimeUnixNano":"1544712661000000000","attributes":[{"key":"http.request.method","value":{"stringValue":"GET"}},{"key":"code","value":{"intValue":"200"}}]%s}`
	for _, c := range []struct{ name, more string }{{"none", ""}, {"each", `,"startTimeUnixNanos":"1"`}} {
		line := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Repeat(fmt.Sprintf(span, c.more)+",", 99) + fmt.Sprintf(span, c.more) + `]}]}]}` + "\n"
		content := strings.Repeat(line, 20)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				r, err := Open(strings.NewReader(content), JSON, Traces)
				require.NoError(b, err)
				for {
					if _, err := r.Next(); err == io.EOF {
						break
					}
				}
				r.Close()
			}
		})
	}
}

// A value of a wrong type has an error with its line, its offset and its field.
func TestWrongValue(t *testing.T) {
	const before = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[\n{\"name\":\"a\","
	for _, c := range []struct{ field, want string }{
		{`"name":5`, "the value of name: expected a text or null, but found 5"},
		{`"kind":"SERVER"`, "the value of kind: unknown string value"},
		{`"startTimeUnixNano":1.5e18`, "the value of startTimeUnixNano: can not decode float as int"},
		{`"attributes":{"a":"b"}`, "the value of attributes: expected an array or null, but found {"},
		{`"kind":true`, "the value of kind: unsupported value type"},
		{`"droppedLinksCount" : [ ]`, "the value of droppedLinksCount: unsupported value type"},
		{`"status":{"code":{}}`, "the value of code: unsupported value type"},
		{`"attributes":[{"key":"k","value":{"intValue":{}}}]`, "the value of intValue: unsupported value type"},
		{`"attributes":[{"key":" 1e999,","value":{"doubleValue":-1e999}}]`, `the value of doubleValue: "1e999": value out of range`},
		{`"attributes":[{"key":"k","value":{"intValue":1}},5]`, "the value of attributes: expected an object or null, but found 5"},
		{`"endTimeUnixNano":"x"`, `the value of endTimeUnixNano: "x": invalid syntax`},
	} {
		content := before + c.field + `,"flags":1}]}]}]}` + "\n"
		r, err := Open(strings.NewReader(content), JSON, Traces)
		require.NoError(t, err)
		_, err = r.Next()
		var at *Error
		require.ErrorAs(t, err, &at)
		require.ErrorIs(t, err, ErrCorrupt)
		require.Equal(t, "corrupt: "+c.want, at.Err.Error())
		require.Equal(t, 2, at.Line)
		value := len(before) + strings.Index(c.field, ":") + 1
		require.GreaterOrEqual(t, at.Offset, int64(value), c.field)
		require.LessOrEqual(t, at.Offset, int64(len(before)+len(c.field)), c.field)
		r.Close()
	}
}

// Every field of OTLP may be null, as in the JSON of protobuf: the field is then not set. An
// element of a list may be null only if it is a message.
func TestNull(t *testing.T) {
	read := func(signal Signal, content string) Batch {
		t.Helper()
		r, err := Open(strings.NewReader(content), JSON, signal)
		require.NoError(t, err)
		defer r.Close()
		b, err := r.Next()
		require.NoError(t, err, content)
		require.Empty(t, r.Unknown(), content)
		b.OTLP, err = b.Marshal()
		require.NoError(t, err)
		return b
	}
	eachField(t, func(s Signal, name, before, after string) {
		want := read(s, before+"{}"+after).OTLP
		for _, null := range []string{`{%q:null}`, `{ %q : null, %[1]q:null }`, "{%q:null\n,%[1]q:null,%[1]q:null}"} {
			require.Equal(t, want, read(s, before+fmt.Sprintf(null, name)+after).OTLP, "%s%s%s", before, name, after)
		}
	})
	// If a field is null, all other fields are kept, also a field of the same oneof. The order of the
	// fields does not matter.
	const line = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{%s}]}]}]}`
	want := read(Metrics, fmt.Sprintf(line, `"name":"a","sum":{"dataPoints":[{"asInt":"1"}]}`)).OTLP
	for _, fields := range []string{
		`"name":"a","sum":{"dataPoints":[{"asInt":"1","asDouble":null}]},"gauge":null`,
		`"gauge":null,"name":"a","unit":null,"sum":{"isMonotonic":null,"dataPoints":[{"asDouble":null,"flags":null,"asInt":"1"}]}`,
		`"g\u0061uge":null,"name":"a","sum":{"dataPoints":[{"as\u0044ouble":null,"asInt":"1"}]},"metadata":null`,
	} {
		require.Equal(t, want, read(Metrics, fmt.Sprintf(line, fields)).OTLP, fields)
	}
	// A null field is also valid in a skipped message of another signal.
	r, err := Open(strings.NewReader(fmt.Sprintf(line, `"sum":{"dataPoints":[{"flags":null}]}`)+"\n"+`{"resourceLogs":[]}`), JSON, Logs, WithOtherSignals())
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Next()
	require.NoError(t, err)
	require.Equal(t, uint64(1), r.Skipped(Metrics))

	r, err = Open(strings.NewReader(fmt.Sprintf(line, `"histogram":{"dataPoints":[{"bucketCounts":[1,null]}]}`)), JSON, Metrics)
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Next()
	require.ErrorContains(t, err, "the value of bucketCounts: unsupported value type")
}

// Messages with profiles are skipped and counted, like messages of other signals, or are an error.
func TestProfiles(t *testing.T) {
	const logs = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`
	part := func(content string) string { return "\x00\x00\x00" + string(rune(len(content))) + content }
	logsPart := part("\x0a\x06\x12\x04\x12\x02\x10\x01")
	profile := "\x0a\x02\x08\x01\x12\x00\x19\x05\x00\x00\x00\x00\x00\x00\x00"
	for _, tag := range []byte{0x12, 0x12, 0x0a} {
		profile = string([]byte{tag, byte(len(profile))}) + profile
	}
	profile = part(profile + "\x12\x02\x0a\x00") // ProfilesData with a dictionary
	for _, c := range []struct {
		format  Format
		content string
		items   int
		skipped uint64
		place   string
	}{
		{JSON, logs + "\n" + `{"resourceProfiles":[{}]}` + "\n" + logs + "\n" + `{"resource_profiles":[]}`, 2, 2, "message 2, line 2, byte 55"},
		{JSON, "{\"resourceProfiles\":\n[{}]}\n" + logs, 1, 1, "message 1, line 1, byte 0"},
		{JSON, `{"resourceProfiles":[{}],` + logs[1:], 1, 1, "message 1, line 1, byte 0"},
		{Parts, logsPart + profile + logsPart, 2, 1, "part 2, byte 16"},
	} {
		for _, more := range [][]ReaderOption{nil, {WithConcurrency(4)}} {
			r, err := Open(strings.NewReader(c.content), c.format, Logs, append(more, WithOtherSignals())...)
			require.NoError(t, err)
			items := 0
			for err == nil {
				var b Batch
				b, err = r.Next()
				items += b.Items()
			}
			require.Equal(t, io.EOF, err)
			require.Equal(t, c.items, items)
			require.Equal(t, []UnknownField{{ProfilesData, "", c.skipped}}, r.Unknown())
			r.Close()

			r, err = Open(strings.NewReader(c.content), c.format, SignalUnknown, append(more, WithName("logs"))...)
			require.NoError(t, err)
			for err == nil {
				_, err = r.Next()
			}
			require.ErrorIs(t, err, ErrProfiles)
			require.ErrorContains(t, err, c.place+": signal: it holds profiles, which STEF does not support: use OTLP for them")
			r.Close()
		}
	}
	for content, format := range map[string]Format{`{"resourceProfiles":[{}]}`: JSON, profile: Parts} {
		r, err := Open(strings.NewReader(content), format, Logs, WithOtherSignals())
		require.NoError(t, err)
		_, err = r.Next()
		require.ErrorIs(t, err, ErrProfiles)
		require.ErrorContains(t, err, "the file holds profiles, which STEF does not support: use OTLP for them")
		r.Close()
	}
}
