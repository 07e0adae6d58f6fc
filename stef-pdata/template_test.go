// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

func TestSplitText(t *testing.T) {
	f := func(text, template string, params ...string) {
		t.Helper()
		got, spans, ok := splitText(nil, nil, text)
		require.True(t, ok)
		var words []string
		for _, s := range spans {
			words = append(words, text[s.from:s.to])
		}
		require.Equal(t, strings.ReplaceAll(template, "*", "\x00"), string(got))
		require.Equal(t, params, words)
		require.Equal(t, text, joined(t, string(got), words))
	}
	f("", "")
	f("no digits here, none.", "no digits here, none.")
	f("7", "*", "7")
	f("user 7", "user *", "7")
	f("user7, v1.2.", "*, *.", "user7", "v1.2")
	f("2016-12-19T16:31:46.725+0100: [x]", "*:*:*: [x]", "2016-12-19T16", "31", "46.725+0100")
	f("a=1,b=2 c", "* c", "a=1,b=2")
	f("-5- _5_ /5/", "*- * *", "-5", "_5_", "/5/")
	f("0.5, 0.7", "*, *", "0.5", "0.7")
	f("...1...", "*...", "...1")
	f("größe7 7ß 7", "größ* *ß *", "e7", "7", "7")
	f("\xff1\xff", "\xff*\xff", "1")
	f("12345678901234567890 1", "* *", "12345678901234567890", "1")
	f("seven bytes, then 8", "seven bytes, then *", "8")
	f(strings.Repeat("7", maxParam), "*", strings.Repeat("7", maxParam))
	f(strings.Repeat("7", maxParam+1)+" 7", strings.Repeat("7", maxParam+1)+" *", "7")
	_, _, ok := splitText(nil, nil, "1\x002")
	require.False(t, ok)
}

// joined puts a template and its parameters together.
func joined(t *testing.T, template string, words []string) string {
	t.Helper()
	params := otelstef.NewBodyParams()
	params.SetLen(len(words))
	for i, word := range words {
		params.SetValue(i, word)
	}
	var j joiner
	text, again := joinWith(t, &j, template, params), joinWith(t, &j, template, params)
	require.Equal(t, text, again)
	return text
}

func joinWith(t *testing.T, j *joiner, template string, params *otelstef.BodyParams) string {
	t.Helper()
	text, err := j.join(template, params)
	require.NoError(t, err)
	body := pcommon.NewValueEmpty()
	j.give(body, text)
	j.flush()
	require.Len(t, body.Str(), text.size())
	return body.Str()
}

// A joiner keeps templates apart, and refuses those that parameters do not fit.
func TestJoiner(t *testing.T) {
	var j joiner
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		params := otelstef.NewBodyParams()
		var template, want strings.Builder
		for range r.IntN(4) {
			params.SetLen(params.Len() + 1)
			params.SetValue(params.Len()-1, fmt.Sprint(r.IntN(100)))
			piece := strings.Repeat(string(rune('a'+r.IntN(3))), r.IntN(3))
			template.WriteString(piece + "\x00")
			want.WriteString(piece + params.Value(params.Len()-1))
		}
		require.Equal(t, want.String(), joinWith(t, &j, template.String(), params))
		_, err := j.join(template.String()+"\x00", params)
		require.ErrorIs(t, err, ErrRecord)
		params.SetLen(params.Len() + 1)
		_, err = j.join(template.String(), params)
		require.ErrorIs(t, err, ErrRecord)
	}
	_, err := j.join(strings.Repeat("\x00", 1<<20), otelstef.NewBodyParams())
	require.ErrorIs(t, err, ErrRecord)
	require.ErrorContains(t, err, "0 parameters for 1048576 places")
}

// Bodies that are joined at once are apart, and one that is kept keeps little of
// the others.
func TestJoinedBodies(t *testing.T) {
	var j joiner
	r := rand.New(rand.NewPCG(5, 6))
	var bodies []pcommon.Value
	var want []string
	for range 2000 {
		params := otelstef.NewBodyParams()
		params.SetLen(1)
		params.SetValue(0, strings.Repeat("7", r.IntN(1<<r.IntN(15))))
		text, err := j.join("<\x00>", params)
		require.NoError(t, err)
		require.LessOrEqual(t, len(j.buffer), joinedBytes)
		bodies, want = append(bodies, pcommon.NewValueEmpty()), append(want, "<"+params.Value(0)+">")
		j.give(bodies[len(bodies)-1], text)
	}
	j.flush()
	require.Empty(t, j.buffer)
	require.LessOrEqual(t, cap(j.buffer), 2*joinedBytes)
	for i, body := range bodies {
		require.Equal(t, want[i], body.Str())
	}
	for _, b := range j.waiting[:cap(j.waiting)] {
		require.Equal(t, joinedBody{}, b)
	}
}

// A few bytes of a stream cannot make a body that is far larger than items are.
func TestJoinedBodiesAreBounded(t *testing.T) {
	var j joiner
	params := otelstef.NewBodyParams()
	params.SetLen(9)
	for i := range params.Len() {
		params.SetValue(i, strings.Repeat("7", 1<<20))
	}
	_, err := j.join(strings.Repeat("\x00", 9), params)
	require.ErrorIs(t, err, ErrRecord)
	require.ErrorContains(t, err, "a body of 9437184 bytes, at most 8388608")
	require.Empty(t, j.buffer)
}

// FuzzTemplate: whatever way a text is taken apart, joining gives it back, and a
// learned template finds what the first look found.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"", "1", "user 7, v1.2.", "a\x001", "0.5,0.7, -1-", "größe7 7ß", strings.Repeat("1 ", 2000)} {
		f.Add(text, text+"2")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		template, spans, ok := splitText(nil, nil, a)
		require.Equal(t, !strings.Contains(a, "\x00"), ok)
		if !ok || len(spans) > stef.MaxPairs {
			return
		}
		require.Equal(t, a, joined(t, string(template), cut(a, spans)))
		for i, s := range spans {
			require.True(t, strings.ContainsAny(a[s.from:s.to], "0123456789"))
			require.True(t, i == 0 || spans[i-1].to <= s.from)
		}
		shape := newTextShape(template, a, spans)
		other, otherSpans, ok := splitText(nil, nil, b)
		if ok && string(other) == shape.whole {
			shape.compare(b, otherSpans)
		}
		shape.learn()
		for _, text := range []string{a, b} {
			if found, ok := shape.match(text, nil); ok {
				require.Equal(t, text, joined(t, shape.learned, cut(text, found)))
			}
		}
		learned, kept := shape.reduce(a, spans)
		require.Equal(t, a, joined(t, learned, cut(a, kept)))
	})
}

func cut(text string, spans []span) (words []string) {
	for _, s := range spans {
		words = append(words, text[s.from:s.to])
	}
	return words
}

// Words that are the same in all texts become part of the template, until they
// change too often.
func TestLearnedTemplates(t *testing.T) {
	var shape *textShape
	f := func(text, template string, params ...string) {
		t.Helper()
		whole, spans, _ := splitText(nil, nil, text)
		if shape == nil {
			shape = newTextShape(whole, text, spans)
		}
		require.Equal(t, shape.whole, string(whole))
		shape.see(text, spans)
		got, spans := shape.reduce(text, spans)
		require.Equal(t, strings.ReplaceAll(template, "*", "\x00"), got)
		require.Equal(t, params, cut(text, spans))
		matched, ok := shape.match(text, nil)
		require.Equal(t, got == shape.learned, ok)
		if ok {
			require.Equal(t, params, cut(text, matched))
		}
	}
	for i := range learnAfter - 1 {
		n := fmt.Sprint(i)
		f("v1 took 0."+n+" of 5.", "* took * of *.", "v1", "0."+n, "5")
	}
	f("v1 took 1 of 5.", "v1 took * of 5.", "1")
	for range allowMisses {
		f("v1 took 1 of 6.", "* took * of *.", "v1", "1", "6")
	}
	f("v1 took 2 of 5.", "v1 took * of 5.", "2")
	f("v1 took 2 of 6.", "v1 took * of *.", "2", "6")
	f("v1 took 2 of 7.", "v1 took * of *.", "2", "7")
	f("v2 took 2 of 7.", "* took * of *.", "v2", "2", "7")
}

// logsOf returns log records with bodies.
func logsOf(bodies ...string) plog.Logs {
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, body := range bodies {
		lrs.AppendEmpty().Body().SetStr(body)
	}
	return ld
}

// templated counts the bodies that went out as templates.
func templated(t *testing.T, stream []byte) (n int) {
	t.Helper()
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	for r.Next() {
		if r.Record().Record().Body().Type() == otelstef.LogBodyTypeTemplate {
			n++
		}
	}
	require.NoError(t, r.Err())
	return n
}

// Templates are used where they return, in the streams that want them.
func TestWhenTemplatesAreUsed(t *testing.T) {
	returning, unique := make([]string, 600), make([]string, 600)
	accesses, short := make([]string, 600), make([]string, 600)
	for i := range returning {
		accesses[i] = fmt.Sprintf("10.1.%d.7 - - [%[1]d/Oct/2025:13:%[1]d] GET /images/%[1]d/photo-%[1]d.jpg 200 https://example.com/galleries/%[1]d/photographs-%[1]d.html", i)
		short[i] = fmt.Sprintf("%d %d %d", i, i*i, i*i*i)
		returning[i] = fmt.Sprintf("request %d took %d ms", i, i*i)
		unique[i] = strings.Repeat("x", i) + fmt.Sprintf(" took %d ms", i)
	}
	f := func(want int, compression stef.Compression, bodies []string, options ...EncoderOption) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out, stef.WithCompression(compression))
		require.NoError(t, err)
		e := NewLogsEncoder(w, options...)
		require.NoError(t, e.Encode(logsOf(bodies...)))
		require.NoError(t, w.Close())
		require.Equal(t, want, templated(t, out.Bytes()))
	}
	f(600, stef.Zstd, returning)
	f(600, stef.Zstd, returning, WithMode(Sorted))
	f(600, stef.None, returning, WithTemplates(TemplatesOn))
	f(0, stef.None, returning)
	f(0, stef.Zstd, returning, WithTemplates(TemplatesOff))
	f(0, stef.Zstd, unique)
	f(0, stef.Zstd, accesses)
	f(600, stef.Zstd, short)
	f(0, stef.None, unique, WithTemplates(TemplatesOn))
	f(0, stef.Zstd, []string{"a\x001", strings.Repeat("1 ", stef.MaxPairs+1), strings.Repeat("x", maxTemplate+1)})
}

// Where templates do not return, bodies are looked at ever more rarely, and not
// given up.
func TestTemplateTrials(t *testing.T) {
	w, err := otelstef.NewLogsWriter(new(bytes.Buffer), stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	e := NewLogsEncoder(w)
	n := 0
	looks := 0
	for range 1000 {
		bodies := make([]string, 20)
		for i := range bodies {
			n++
			bodies[i] = strings.Repeat(string(rune('a'+n%26)), n%97) + strings.Repeat("y", n/97) + " 1"
		}
		before := len(e.split.shapes)
		require.NoError(t, e.Encode(logsOf(bodies...)))
		if len(e.split.shapes) != before {
			looks++
		}
	}
	require.Less(t, looks, 60)
	var out bytes.Buffer
	require.NoError(t, w.Reset(&out))
	for i := range 3 * maxPause {
		require.NoError(t, e.Encode(logsOf(fmt.Sprintf("returning %d", i))))
	}
	require.NoError(t, w.Close())
	require.Positive(t, templated(t, out.Bytes()))
}

// What the encoder remembers and what the dictionaries hold is bounded.
func TestTemplateMemoryIsBounded(t *testing.T) {
	const dictBytes = 1 << 20
	r := rand.New(rand.NewPCG(1, 1))
	w, err := otelstef.NewLogsWriter(new(bytes.Buffer), stef.WithCompression(stef.Zstd), stef.WithDictBytes(dictBytes))
	require.NoError(t, err)
	e := NewLogsEncoder(w)
	trials, shapes := 0, 0
	for n := range 400 {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutInt("n", int64(n))
		for s := range 60 {
			sl := rl.ScopeLogs().AppendEmpty()
			sl.Scope().Attributes().PutInt("n", int64(s))
			shape := make([]byte, r.IntN(400))
			for i := range shape {
				shape[i] = byte('a' + r.IntN(26))
			}
			for range 3 {
				sl.LogRecords().AppendEmpty().Body().SetStr(fmt.Sprintf("%s %d %d", shape, r.Uint32(), r.Uint32()))
			}
		}
		require.NoError(t, e.Encode(ld))
		require.NoError(t, w.Flush())
		require.LessOrEqual(t, w.Stats().DictBytes, dictBytes+1000)
		require.LessOrEqual(t, len(e.split.shapes), maxTextShapes+60)
		require.LessOrEqual(t, len(e.split.trials), maxTrials+60)
		require.LessOrEqual(t, e.split.size, maxTextShapeBytes+60*1024)
		trials, shapes = max(trials, len(e.split.trials)), max(shapes, e.split.size)
	}
	require.Greater(t, trials, maxTrials-60)
	require.Greater(t, shapes, maxTextShapeBytes-60*1024)
}

// The containers that an encoder remembers are bounded, and forgetting them
// changes nothing that is written.
func TestContainersOfLogsAreBounded(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out)
	require.NoError(t, err)
	e := NewLogsEncoder(w)
	n := int64(0)
	for range maxContainers/500 + 3 {
		ld := plog.NewLogs()
		scopes := ld.ResourceLogs().AppendEmpty().ScopeLogs()
		for range 500 {
			n++
			sl := scopes.AppendEmpty()
			sl.Scope().Attributes().PutInt("n", n)
			sl.LogRecords().AppendEmpty().Body().SetInt(n)
		}
		require.NoError(t, e.Encode(ld))
		require.LessOrEqual(t, e.scopes.size(), maxContainers+500)
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewLogsReader(&out)
	require.NoError(t, err)
	read := int64(0)
	for r.Next() {
		read++
		require.Equal(t, read, r.Record().Record().Body().Value().Int64())
		require.Equal(t, read, r.Record().Scope().Attributes().Value(0).Int64())
	}
	require.NoError(t, r.Err())
	require.Equal(t, n, read)
}

// What a record holds of bodies is bounded.
func TestOwnWords(t *testing.T) {
	var own ownWords
	var copies, words []string
	for i := range 10_000 {
		word := strings.Repeat(fmt.Sprint(i), 1+i%(maxParam/4))
		words, copies = append(words, word), append(copies, own.copy(word))
		require.LessOrEqual(t, own.text.Cap(), maxHeldBody)
	}
	require.Equal(t, words, copies)

	long := "took 7 " + strings.Repeat("and more ", maxHeldBody/8)
	e := splitting(t, long+"1", long+"2", long+"3", long+"4", long+"5")
	require.Positive(t, e.own.text.Len())
	e = splitting(t, "took 1", "took 2", "took 3", "took 4", "took 5")
	require.Zero(t, e.own.text.Len())
}

// splitting returns an encoder that wrote templates for bodies.
func splitting(t *testing.T, bodies ...string) *LogsEncoder {
	t.Helper()
	w, err := otelstef.NewLogsWriter(new(bytes.Buffer), stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	e := NewLogsEncoder(w)
	require.NoError(t, e.Encode(logsOf(bodies...)))
	require.Equal(t, otelstef.LogBodyTypeTemplate, e.rec.Record().Body().Type())
	return e
}

// Encoders keep nothing of a batch that could change or stay in memory with it.
func TestSplitterForgets(t *testing.T) {
	for _, mode := range []Mode{Ordered, Sorted} {
		w, err := otelstef.NewLogsWriter(new(bytes.Buffer), stef.WithCompression(stef.Zstd))
		require.NoError(t, err)
		e := NewLogsEncoder(w, WithMode(mode))
		require.NoError(t, e.Encode(logsOf("a 1", "a 2", "a 3")))
		for _, b := range e.split.bodies[:cap(e.split.bodies)] {
			require.Equal(t, splitBody{}, b)
		}
		for _, x := range e.sorter.items[:cap(e.sorter.items)] {
			require.Equal(t, logItem{}, x)
		}
		for _, l := range e.sorter.lists[:cap(e.sorter.lists)] {
			require.Equal(t, logList{}, l)
		}
	}
}
