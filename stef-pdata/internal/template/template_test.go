// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/xpdata"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

func TestSplitText(t *testing.T) {
	f := func(text, template string, params ...string) {
		t.Helper()
		got, spans, ok := Split(nil, nil, text)
		require.True(t, ok)
		var words []string
		for _, s := range spans {
			words = append(words, text[s.From:s.To])
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
	_, _, ok := Split(nil, nil, "1\x002")
	require.False(t, ok)
}

func joined(t *testing.T, template string, words []string) string {
	t.Helper()
	params := otelstef.NewBodyParams()
	params.SetLen(len(words))
	for i, word := range words {
		params.SetValue(i, word)
	}
	var j Joiner
	text, again := joinWith(t, &j, template, params), joinWith(t, &j, template, params)
	require.Equal(t, text, again)
	return text
}

func joinWith(t *testing.T, j *Joiner, template string, params *otelstef.BodyParams) string {
	t.Helper()
	text, err := j.Join(template, params)
	require.NoError(t, err)
	return text
}

// A joiner distinguishes templates, and rejects templates that do not match the
// parameters.
func TestJoiner(t *testing.T) {
	var j Joiner
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
		_, err := j.Join(template.String()+"\x00", params)
		require.ErrorIs(t, err, mapping.ErrRecord)
		params.SetLen(params.Len() + 1)
		_, err = j.Join(template.String(), params)
		require.ErrorIs(t, err, mapping.ErrRecord)
	}
	_, err := j.Join(strings.Repeat("\x00", 1<<20), otelstef.NewBodyParams())
	require.ErrorIs(t, err, mapping.ErrRecord)
	require.ErrorContains(t, err, "the template has 1048576 placeholders, but there are 0 parameters")
}

// Texts that share an allocation, a chunk, do not overwrite each other. Chunks are small, so a
// caller that keeps one text keeps only little memory of other texts.
func TestJoinedTexts(t *testing.T) {
	var j Joiner
	r := rand.New(rand.NewPCG(5, 6))
	var texts, want []string
	for i := range 2000 {
		params := otelstef.NewBodyParams()
		params.SetLen(1)
		params.SetValue(0, strings.Repeat("7", r.IntN(1<<r.IntN(15))))
		text, err := j.Join("<\x00>", params)
		require.NoError(t, err)
		require.LessOrEqual(t, cap(j.chunk), joinedBytes)
		texts, want = append(texts, text), append(want, "<"+params.Value(0)+">")
		if i%100 == 99 {
			j.Renew()
			require.Zero(t, cap(j.chunk), "later texts share no memory with earlier ones")
		}
	}
	require.Equal(t, want, texts)
}

// The first texts of a stream allocate smaller chunks than later texts.
func TestJoinedTextsGrow(t *testing.T) {
	var j Joiner
	params := otelstef.NewBodyParams()
	params.SetLen(1)
	params.SetValue(0, strings.Repeat("7", 200))
	sizes := []int{}
	for range 200 {
		joinWith(t, &j, "<\x00>", params)
		if n := cap(j.chunk); len(sizes) == 0 || sizes[len(sizes)-1] != n {
			sizes = append(sizes, n)
		}
	}
	require.Equal(t, []int{firstJoined, 2 * firstJoined, 4 * firstJoined, joinedBytes}, sizes)
}

// A short stream cannot create a body that is far larger than the limit of an item.
func TestJoinedBodiesAreBounded(t *testing.T) {
	var j Joiner
	params := otelstef.NewBodyParams()
	params.SetLen(9)
	for i := range params.Len() {
		params.SetValue(i, strings.Repeat("7", 1<<20))
	}
	_, err := j.Join(strings.Repeat("\x00", 9), params)
	require.ErrorIs(t, err, mapping.ErrRecord)
	require.ErrorContains(t, err, "the body has 9437184 bytes, at most 8388608")
	require.Zero(t, cap(j.chunk))
}

// FuzzTemplate: joining a split text always restores it, and a learned template finds
// the same parameters as the first split.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"", "1", "user 7, v1.2.", "a\x001", "0.5,0.7, -1-", "größe7 7ß", strings.Repeat("1 ", 2000)} {
		f.Add(text, text+"2")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		template, spans, ok := Split(nil, nil, a)
		require.Equal(t, !strings.Contains(a, "\x00"), ok)
		if !ok || len(spans) > stef.MaxPairs {
			return
		}
		require.Equal(t, a, joined(t, string(template), cut(a, spans)))
		for i, s := range spans {
			require.True(t, strings.ContainsAny(a[s.From:s.To], "0123456789"))
			require.True(t, i == 0 || spans[i-1].To <= s.From)
		}
		shape := new(shapeMemory).newShape(template, a, spans)
		other, otherSpans, ok := Split(nil, nil, b)
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

func cut(text string, spans []Span) (words []string) {
	for _, s := range spans {
		words = append(words, text[s.From:s.To])
	}
	return words
}

// Words that are the same in all texts become part of the template, until they
// change too often.
func TestLearnedTemplates(t *testing.T) {
	var shape *textShape
	f := func(text, template string, params ...string) {
		t.Helper()
		whole, spans, _ := Split(nil, nil, text)
		if shape == nil {
			shape = new(shapeMemory).newShape(whole, text, spans)
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

// addAll adds bodies of a resource and scope. It returns how many bodies are written as templates.
func addAll(s *Splitter, resource, scope uint32, bodies ...string) (templates int) {
	s.Begin()
	trial := s.Policy(resource, scope, len(bodies))
	for _, body := range bodies {
		lr := plog.NewLogRecord()
		lr.Body().SetStr(body)
		s.Add(lr, trial)
	}
	s.Decide(trial)
	for _, b := range s.bodies {
		if b.shape != nil {
			templates++
		}
	}
	return templates
}

// If templates do not recur, bodies are split less and less often, but the splitter never
// stops trying.
func TestPolicies(t *testing.T) {
	var s Splitter
	n, looks := 0, 0
	for range 1000 {
		bodies := make([]string, 20)
		for i := range bodies {
			n++
			bodies[i] = strings.Repeat(string(rune('a'+n%26)), n%97) + strings.Repeat("y", n/97) + " 1"
		}
		before := len(s.shapes)
		addAll(&s, 1, 1, bodies...)
		if len(s.shapes) != before {
			looks++
		}
	}
	require.Less(t, looks, 60)
	templates := 0
	for i := range 3 * maxPause {
		templates += addAll(&s, 1, 1, fmt.Sprintf("returning %d", i))
	}
	require.Positive(t, templates)
}

func TestMemoryIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var s Splitter
	trials, bytes := 0, 0
	for n := range uint32(400) {
		for scope := range uint32(60) {
			shape := make([]byte, r.IntN(400))
			for i := range shape {
				shape[i] = byte('a' + r.IntN(26))
			}
			text := func() string { return fmt.Sprintf("%s %d %d", shape, r.Uint32(), r.Uint32()) }
			addAll(&s, n, scope, text(), text(), text())
		}
		require.LessOrEqual(t, len(s.shapes), maxTextShapes+60)
		require.LessOrEqual(t, len(s.policies), maxPolicies+60)
		require.LessOrEqual(t, s.size, maxTextShapeBytes+60*1024)
		trials, bytes = max(trials, len(s.policies)), max(bytes, s.size)
	}
	require.Greater(t, trials, maxPolicies-60)
	require.Greater(t, bytes, maxTextShapeBytes-60*1024)
}

// Words are copied into chunks of at most MaxHeldBody bytes, so one copied word keeps at most one
// small chunk in memory.
func TestOwnWords(t *testing.T) {
	var own OwnWords
	var copies, words []string
	for i := range 10_000 {
		word := strings.Repeat(fmt.Sprint(i), 1+i%(maxParam/4))
		words, copies = append(words, word), append(copies, own.Copy(word))
		require.LessOrEqual(t, own.text.Cap(), MaxHeldBody)
	}
	require.Equal(t, words, copies)
}

// A splitter keeps no references to bodies after the next Begin.
func TestSplitterForgets(t *testing.T) {
	var s Splitter
	require.Equal(t, 3, addAll(&s, 1, 1, "a 1", "a 2", "a 3"))
	s.Begin()
	for _, b := range s.bodies[:cap(s.bodies)] {
		require.Equal(t, Body{}, b)
	}
}

// A log record can have more attributes than references can name. Known lists only the first ones,
// so it does not keep memory for all attributes of a large record.
func TestKnownAttributes(t *testing.T) {
	lr := plog.NewLogRecord()
	var b xpdata.MapBuilder
	for i := range 100_000 {
		b.AppendEmpty("key").SetStr(fmt.Sprintf("value %d", i))
	}
	b.UnsafeIntoMap(lr.Attributes())
	var k Known
	k.of(lr)
	require.Len(t, k.list(), maxKnown)
	require.Equal(t, 9, k.prefix("value 255", attributeRefs[255]))
	require.Len(t, k.fieldRefs("value 255 and value 256"), 1)
	k.forget()
	require.LessOrEqual(t, cap(k.attributes), 2*maxKnown)
}
