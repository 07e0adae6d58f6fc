// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the figures of the report into the sentences of the pages that have others")

// words is a value of a sentence that is text, not a figure, such as a list of sets with their figures.
// It must not contain the words that follow the value in the sentence.
type words string

// failer is the part of testing.TB that a page needs.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// page is a document whose sentences are compared with the measured results. It may have several
// files.
type page struct {
	file, text string   // text has a line with the name of a file, see border, before each file after the first
	read       string   // the text before changes
	checked    [][2]int // the ranges of text that checked sentences cover
}

func document(t *testing.T, file ...string) *page {
	t.Helper()
	p := &page{file: filepath.Join(file...)}
	text, err := os.ReadFile(p.file)
	require.NoError(t, err)
	p.text, p.read = string(text), string(text)
	return p
}

// documents returns a page of several files.
func documents(t *testing.T, files ...string) *page {
	t.Helper()
	p := document(t, files[0])
	for _, file := range files[1:] {
		p.text += border + file + "\n" + document(t, file).text
	}
	p.read = p.text
	return p
}

// border separates the files of a page: it precedes the name of each file in the text. No Markdown file
// contains it.
const border = "\n\n\x00"

// save writes the files of the page that -update has changed.
func (p *page) save(t *testing.T) {
	t.Helper()
	read := strings.Split(p.read, border)
	for i, text := range strings.Split(p.text, border) {
		if text == read[i] {
			continue
		}
		file := p.file
		if i > 0 {
			file, text, _ = strings.Cut(text, "\n")
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		t.Logf("%s: figures written", file)
	}
}

const oneFigure = `\d+(?:,\d{3})*(?:\.\d+)?`

var (
	verb   = regexp.MustCompile(`%%|%[.0-9]*[a-z]`)
	figure = regexp.MustCompile(oneFigure + `(?:\s+to\s+` + oneFigure + `)?`)
	blank  = regexp.MustCompile(`\s+`)
)

// literal returns a pattern for text in which any white space may be a line break.
func literal(text string) string { return blank.ReplaceAllString(regexp.QuoteMeta(text), `\s+`) }

// anyFigure returns a pattern that matches the text of a value, and the same text with other
// figures.
func anyFigure(value string) string {
	var b strings.Builder
	at := 0
	for _, m := range figure.FindAllStringIndex(value, -1) {
		b.WriteString(literal(value[at:m[0]]) + figure.String())
		at = m[1]
	}
	return b.String() + literal(value[at:])
}

// form returns a pattern that matches the sentence with any figures. The pattern has one group for
// each value. form also returns the values as they are formatted in the sentence.
func form(sentence string, values []any) (*regexp.Regexp, []string) {
	var expr strings.Builder
	var wanted []string
	at := 0
	for _, m := range verb.FindAllStringIndex(sentence, -1) {
		expr.WriteString(literal(sentence[at:m[0]]))
		at = m[1]
		if v := sentence[m[0]:m[1]]; v == "%%" {
			expr.WriteString("%")
		} else {
			value := values[len(wanted)]
			text := fmt.Sprintf(v, value)
			wanted = append(wanted, text)
			if _, ok := value.(words); ok {
				expr.WriteString(`([^|]{1,600}?)`)
			} else {
				expr.WriteString("(" + anyFigure(text) + ")")
			}
		}
	}
	expr.WriteString(literal(sentence[at:]))
	return regexp.MustCompile(expr.String()), wanted
}

// place returns the file and the line of an offset of the text.
func (p *page) place(at int) string {
	file, text := p.file, p.text[:at]
	if i := strings.LastIndex(text, border); i >= 0 {
		file, text, _ = strings.Cut(text[i+len(border):], "\n")
	}
	return fmt.Sprintf("%s:%d", file, 1+strings.Count(text, "\n"))
}

// says checks that the page has a sentence with these values. If the sentence of the page has other
// figures, the error shows both sentences. With -update, says replaces the figures of the page
// instead.
func (p *page) says(t failer, sentence string, values ...any) {
	t.Helper()
	p.compare(t, *update, sentence, values...)
}

func (p *page) compare(t failer, write bool, sentence string, values ...any) {
	t.Helper()
	expr, wanted := form(sentence, values)
	text := fmt.Sprintf(sentence, values...)
	found := expr.FindAllStringSubmatchIndex(p.text, -1)
	if len(found) == 0 {
		t.Errorf("%s: no sentence has these words; if they were changed, change them in the test, too: %s", p.file, text)
	}
	for i := len(found) - 1; i >= 0; i-- { // from the end, so that offsets before a change stay valid
		m := found[i]
		current := blank.ReplaceAllString(p.text[m[0]:m[1]], " ")
		same := true
		for i := len(wanted) - 1; i >= 0; i-- {
			from, to := m[2*i+2], m[2*i+3]
			if blank.ReplaceAllString(p.text[from:to], " ") == blank.ReplaceAllString(wanted[i], " ") {
				continue
			}
			same = false
			if write {
				p.text = p.text[:from] + wanted[i] + p.text[to:]
			}
		}
		if !same && !write {
			t.Errorf("%s: the page does not say: %s\n\tit says: %s", p.place(m[0]), text, current)
		}
		p.checked = append(p.checked, [2]int{m[0], m[1]})
	}
}

// holds checks that the page has a sentence without figures. condition says whether the results
// confirm the sentence. -update cannot repair a sentence whose condition is false: write
// another sentence.
func (p *page) holds(t failer, condition bool, sentence string) {
	t.Helper()
	m := regexp.MustCompile(literal(sentence)).FindStringIndex(p.text)
	switch {
	case m == nil:
		t.Errorf("%s: no sentence has these words; if they were changed, change them in the test, too: %s", p.file, sentence)
	case !condition:
		t.Errorf("%s: no longer true by the results: %s", p.place(m[0]), sentence)
	default:
		p.checked = append(p.checked, [2]int{m[0], m[1]})
	}
}

var (
	generated = regexp.MustCompile(`(?s)<!-- begin \w[\w-]* \(written by make report\) -->.*?<!-- end [\w-]+ -->`)
	code      = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]+`|<!--.*?-->|\\]\\([^)]*\\)")
	pieces    = regexp.MustCompile(`\n\s*\n|\n *(?:[-*]|\d+\.) `)
	results   = regexp.MustCompile(`results/|speed\.html|benchmarks/\w+\.md`)
	decimal   = regexp.MustCompile(`\bv?\d+\.\d+(?:\.\d+)*`)
)

// unchecked returns the figures with a decimal point that no checked sentence contains. If
// all is set, it searches the whole page, otherwise only the paragraphs that cite results. It
// skips code, blocks that the report writes, and the sentences and tables in elsewhere.
func (p *page) unchecked(all bool, elsewhere []string) []string {
	covered := make([]bool, len(p.text))
	mark := func(from, to int) {
		for i := from; i < to; i++ {
			covered[i] = true
		}
	}
	for _, span := range p.checked {
		mark(span[0], span[1])
	}
	for _, m := range append(generated.FindAllStringIndex(p.text, -1), code.FindAllStringIndex(p.text, -1)...) {
		mark(m[0], m[1])
	}
	for _, text := range elsewhere {
		expr := literal(text)
		if strings.HasPrefix(text, "| ") {
			expr += `[^\n]*(\n *\|[^\n]*)*` // the whole table
		}
		for _, m := range regexp.MustCompile(expr).FindAllStringIndex(p.text, -1) {
			mark(m[0], m[1])
		}
	}
	var found []string
	from := 0
	for _, end := range append(pieces.FindAllStringIndex(p.text, -1), []int{len(p.text), len(p.text)}) {
		piece := p.text[from:end[0]]
		if all || results.MatchString(piece) {
			for _, m := range decimal.FindAllStringIndex(piece, -1) {
				number := piece[m[0]:m[1]]
				if !covered[from+m[0]] && number[0] != 'v' && strings.Count(number, ".") == 1 {
					found = append(found, p.place(from+m[0])+": "+number)
				}
			}
		}
		from = end[0]
	}
	return found
}

type failures []string

func (f *failures) Helper()                           {}
func (f *failures) Errorf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// TestSays checks the comparison of a sentence, and that figures are replaced in place.
func TestSays(t *testing.T) {
	const text = "# A\n\nThe sender has 0.40 to\n0.55 times (metrics)\nand 1,234 batches, mostly astronomy 0.4, kafka 1.2.\n"
	f := func(write bool, want, message, sentence string, values ...any) {
		t.Helper()
		p := &page{file: "A.md", text: text}
		var failed failures
		p.compare(&failed, write, sentence, values...)
		require.Equal(t, want, p.text)
		if message == "" {
			require.Empty(t, failed)
			return
		}
		require.Len(t, failed, 1)
		require.Contains(t, failed[0], message)
	}
	f(false, text, "", "has %.2f to %.2f times (metrics) and %s batches", 0.4, 0.55, "1,234")
	f(false, text, "", "has %s times (metrics)", "0.40 to 0.55")
	f(false, text, "", "mostly %s.\n", words("astronomy 0.4, kafka 1.2"))
	f(false, text, "A.md:3: the page does not say: has 0.40 to 0.56 times\n\tit says: has 0.40 to 0.55 times", "has %.2f to %.2f times", 0.4, 0.56)
	f(false, text, "A.md: no sentence has these words", "had %.2f", 0.4)
	f(true, strings.Replace(text, "0.55", "0.56", 1), "", "has %.2f to %.2f times", 0.4, 0.56)
	f(true, strings.Replace(text, "0.40 to\n0.55", "0.70", 1), "", "has %s times", "0.70")
	f(true, strings.Replace(text, "astronomy 0.4, kafka 1.2", "none", 1), "", "mostly %s.\n", words("none"))

	p := &page{file: "A.md", text: text}
	var failed failures
	p.holds(&failed, true, "times (metrics) and")
	require.Empty(t, failed)
	p.holds(&failed, false, "times (metrics) and")
	p.holds(&failed, true, "times (logs)")
	require.Len(t, failed, 2)
	require.Contains(t, failed[0], "A.md:4: no longer true by the results")
}

// TestUnchecked checks which figures of a page count as not compared.
func TestUnchecked(t *testing.T) {
	p := &page{file: "A.md", text: "Here 1.5 of v1.2 and 1.26.8, `0.7`.\n\n- [list](results/a.csv): 2.5\n  and 3.5\n- 4.5\n<!-- begin x (written by make report) -->\n5.5\n<!-- end x -->\n\n```sh\n6.5\n```\n"}
	require.Equal(t, []string{"A.md:1: 1.5", "A.md:3: 2.5", "A.md:4: 3.5", "A.md:5: 4.5"}, p.unchecked(true, nil))
	require.Equal(t, []string{"A.md:3: 2.5", "A.md:4: 3.5"}, p.unchecked(false, nil))
	require.Equal(t, []string{"A.md:3: 2.5"}, p.unchecked(false, []string{"and 3.5"}))
	p.says(t, "results/a.csv): %.1f and %.1f", 2.5, 3.5)
	require.Empty(t, p.unchecked(false, nil))
}

// TestDocuments checks that a page of several files names the file of a figure, and saves only the
// file that changed.
func TestDocuments(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("A.md", []byte("Here 1.5.\n"), 0o666))
	require.NoError(t, os.WriteFile("B.md", []byte("# B\nThere 2.5 times.\n"), 0o666))
	p := documents(t, "A.md", "B.md")
	require.Equal(t, []string{"A.md:1: 1.5", "B.md:2: 2.5"}, p.unchecked(true, nil))
	require.NoError(t, os.Remove("A.md"))
	p.compare(t, true, "There %.1f times", 3.5)
	p.save(t)
	require.NoFileExists(t, "A.md")
	require.Equal(t, "# B\nThere 3.5 times.\n", document(t, "B.md").text)
}
