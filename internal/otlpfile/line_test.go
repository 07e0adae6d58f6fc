// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lines are lines that are one JSON object, and similar lines that are not.
var lines = []string{
	`{}`, `{ }`, ` {}`, `{}x`, `{} {}`, `{}` + "\r", `[]`, ``, `{`, `}`, `{]`,
	`{"resourceLogs":[]}`, `{"resource_spans" : [ ] , "resourceMetrics":null}`, `{"resourceLogs":[],}`, `{"resourceLogs"}`, `{"resourceLogs":}`,
	`{"resourceLogs":[1,2.5,-0,0.1e5,1E-7,-1.25e+10,true,false,null,"a\"b\\\/\b\f\n\r\t\u00e9"]}`,
	`{"resourceLogs":[01]}`, `{"resourceLogs":[1.]}`, `{"resourceLogs":[.5]}`, `{"resourceLogs":[1e]}`, `{"resourceLogs":[-]}`, `{"resourceLogs":[+1]}`,
	`{"resourceLogs":[tru]}`, `{"resourceLogs":[nul`, `{"resourceLogs":["\x"]}`, `{"resourceLogs":["\u12g4"]}`, `{"resourceLogs":["\u1`,
	"{\"resourceLogs\":[\"tab\t\"]}", "{\"resourceLogs\":[\"\x7f\xff\xc3\x28 not UTF-8\"]}", "{\"resourceLogs\":[\"\x00\"]}",
	`{"":1}`, `{"resourceLogs":[{"":1}]}`, `{"other":1}`, `{"other":{"resourceLogs":1}}`, `{"other":1,"resourceLogs":[]}`,
	`{"resource\u004cogs":[]}`, `{"resourceLogs":[1 2]}`, `{"resourceLogs":[1}]`, `{"a":1 "b":2}`, `{1:2}`, `{"resourceLogs":["abcdefgh"]}`,
	`{"resourceLogs":["abcdefghijklmno\"pqrstuvwxyz0123456789"]}`, `{"resourceLogs":["` + strings.Repeat("é", 40) + `"]}`,
}

// checkLine compares objectLine with the checks that it replaces.
func checkLine(t *testing.T, text string) {
	if strings.Contains(text, "\n") {
		return
	}
	body, signals, rescan, ok := objectLine([]byte(text + "\n"))
	trimmed := strings.TrimRight(text, " \t\r")
	want, wantRescan, err := checkJSON([]byte(trimmed))
	valid := err == nil && strings.HasPrefix(text, "{")
	if depth(text) > maxFlatDepth {
		require.False(t, ok)
		return
	}
	require.Equal(t, valid, ok, "%q: %v", text, err)
	if ok {
		require.Equal(t, want, signals, "%q", text)
		require.Equal(t, wantRescan, rescan, "%q", text)
		require.Equal(t, trimmed, string(body))
		require.True(t, json.Valid(body))
	}
}

// depth is how deep brackets are nested outside of strings.
func depth(text string) (deepest int) {
	var o objectScan
	for i := range len(text) {
		o.scan([]byte{text[i]})
		deepest = max(deepest, o.depth)
	}
	return deepest
}

func TestObjectLine(t *testing.T) {
	for _, l := range lines {
		checkLine(t, l)
		// Truncate and damage the line at each offset: a string then ends at each of the
		// 8 bytes that plain reads at once.
		for i := range len(l) {
			checkLine(t, l[:i])
			checkLine(t, l[:i]+"\x01"+l[i:])
		}
	}
	nested := func(n int) string {
		return `{"resourceLogs":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}"
	}
	_, _, _, ok := objectLine([]byte(nested(maxFlatDepth) + "\n"))
	require.True(t, ok)
	_, _, _, ok = objectLine([]byte(nested(maxFlatDepth+1) + "\n"))
	require.False(t, ok)
	_, _, _, ok = objectLine([]byte("{}")) // the caller adds the line break
	require.False(t, ok)
}

func FuzzObjectLine(f *testing.F) {
	for _, l := range lines {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, text string) { checkLine(t, text) })
}

// TestLinesAndObjects mixes objects on one line, objects on several lines, and several objects
// on one line. Each object has the right line and offset. Only an object that is a whole line is
// read in one pass.
func TestLinesAndObjects(t *testing.T) {
	texts := []string{
		`{"resourceLogs":[]}`, "{\"resourceLogs\":\n[]\n}", `{}`, "{\n\"resourceLogs\":[{\n}]}", `{"resourceLogs":[ ]}`, "{}",
	}
	separators := []string{"\n", "", "\n\n", " ", "\r\n", "\n \t\n", "\n"}
	content, places := "", []piece{}
	for i, text := range texts {
		places = append(places, piece{body: []byte(text), line: 1 + strings.Count(content, "\n"), offset: int64(len(content))})
		content += text + separators[i]
	}
	src, err := openSource(strings.NewReader(content))
	require.NoError(t, err)
	d := newJSONDecoder(src, 1000)
	checked := 0
	for _, want := range places {
		p, err := d.next(nil)
		require.NoError(t, err)
		require.Equal(t, want.body, bytes.Clone(p.body))
		require.Equal(t, want.line, p.line, "%s", p.body)
		require.Equal(t, want.offset, p.offset, "%s", p.body)
		if p.checked {
			checked++
		}
	}
	require.Equal(t, 4, checked, "the objects on one line with nothing after them")
	_, err = d.next(nil)
	require.EqualError(t, err, "EOF")
}

// If a file has one message per line, the error of a bad message names the line to remove. The
// error of a bad id shows the id.
func TestBrokenLine(t *testing.T) {
	const good = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}` + "\n"
	f := func(text string, line int, want string) {
		t.Helper()
		r, err := Open(strings.NewReader(text), JSON, Traces)
		require.NoError(t, err)
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		var at *Error
		require.ErrorAs(t, err, &at)
		require.Equal(t, line, at.OneLine, err)
		require.ErrorContains(t, err, want)
	}
	f(good+`{"resourceSpans":[x]}`+"\n"+good, 2, "invalid character 'x'")
	f(good+`{"resourceSpans":[{"a":-Infinity}]}`+"\n"+good, 2, `invalid character 'I' in numeric literal: write it as a text, "Infinity", "-Infinity" or "NaN"`)
	f(good+`{"resourceSpans":[{"a":NaN}]}`+"\n"+good, 2, `'N' looking for beginning of value: write it as a text`)
	f(good+`{"resourceSpans":[{]}`+"\n"+good+good, 2, "corrupt: the message is cut or damaged: it has no end, and later lines begin other messages")
	f(good+"{oops\n"+good, 2, "corrupt: the message is cut or damaged")
	f(good+`{"resourceSpans":[{"a`+"\n"+good+good, 2, "corrupt: ")
	f(good+`{"resourceSpans":[`, 0, "(head -c 62 of the file keeps the messages before it)")
	f("{\n \"resourceSpans\":[x]}\n"+good, 0, "invalid character 'x'")
	f(good+"noise\n"+good, 2, "'n' is not the start of a message")
	f(good+"\n \n  noise\n"+good, 4, "'n' is not the start of a message")
	f("{\n}\nnoise\n"+good, 3, "'n' is not the start of a message")
	f(strings.TrimSpace(good)+"noise\n"+good, 0, "'n' is not the start of a message")
	f("{\n}noise\n"+good, 0, "'n' is not the start of a message")
	f(strings.Replace(good, `"name"`, `"spanId":"0102030405060708","traceId":"zz","name"`, 1), 1, `traceId "zz" is not 32 hexadecimal digits`)
	f(strings.Replace(good, `"name"`, `"parent_span_id":"0102030405060g08","name"`, 1), 1, `parent_span_id "0102030405060g08" is not 16 hexadecimal digits`)
}
