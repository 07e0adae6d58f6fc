// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/schema"
)

// lexer splits a file into tokens, one per call of next. It reports and skips text that
// is not a token.
type lexer struct {
	src    []byte
	offset int
	// pos is the line and the column at offset.
	pos  schema.Pos
	list *reports
	// fresh says that no token was found on the current line yet.
	fresh   bool
	comment commentBlock
	// quote is the last quotation mark that opened text, or 0; quoteLine is its line.
	quote     rune
	quoteLine int
	// generic is the last line with a '<', or 0 if there is none.
	generic int
	// unclosed is an offset after which no block comment ends.
	unclosed int
	// separated is the noun, such as "fields", for the elements that only white space separates in this
	// part of the file. Messages use it.
	separated string
}

func newLexer(src []byte, list *reports) *lexer {
	return &lexer{src: src, pos: schema.Pos{Line: 1, Column: 1}, list: list, fresh: true, unclosed: len(src), separated: "definitions"}
}

// commentBlock is a run of comments, each alone on its line, without a blank
// line between.
type commentBlock struct {
	lines []string
	// last is the number of the last line.
	last int
}

// text returns the block as documentation for something at the given line, or "" if
// the block is not directly above that line.
func (b *commentBlock) text(line int) string {
	if b.last+1 != line {
		return ""
	}
	return strings.Trim(strings.Join(b.lines, "\n"), "\n")
}

const eof rune = -1

// peek returns the next rune, or eof. Bytes that are not UTF-8 are
// utf8.RuneError of width 1.
func (l *lexer) peek() (r rune, width int) {
	if l.offset == len(l.src) {
		return eof, 0
	}
	return utf8.DecodeRune(l.src[l.offset:])
}

// advance steps over one rune. CR, LF and CRLF each end a line.
func (l *lexer) advance() {
	r, width := l.peek()
	l.offset += width
	if r == '\n' || r == '\r' && !l.at('\n') {
		l.pos = schema.Pos{Line: l.pos.Line + 1, Column: 1}
		l.fresh = true
		return
	}
	l.pos.Column++
}

func (l *lexer) at(c byte) bool { return l.offset < len(l.src) && l.src[l.offset] == c }

// next returns the next token, and endOfFile on every call after the last token.
func (l *lexer) next() token {
	for {
		r, width := l.peek()
		switch {
		case r == eof:
			return token{kind: endOfFile, span: span{l.pos, 1}, first: l.fresh}
		case r == utf8.RuneError && width == 1:
			l.skipInvalid()
		case unicode.IsSpace(r):
			l.advance()
		case r == '/':
			l.slash()
		case unicode.IsLetter(r) || r == '_':
			return l.word(r)
		case '0' <= r && r <= '9':
			return l.number()
		case strings.ContainsRune(".=()[]{}", r):
			return l.punctuation()
		case l.isText(r):
			return l.quotedText()
		default:
			l.skipUnknown(r)
		}
	}
}

// take consumes runes while ok returns true, and returns them with their place.
func (l *lexer) take(ok func(rune) bool) (text string, at span) {
	start, pos := l.offset, l.pos
	for {
		r, _ := l.peek()
		if r == eof || !ok(r) {
			return string(l.src[start:l.offset]), span{pos, l.pos.Column - pos.Column}
		}
		l.advance()
	}
}

// emit completes a token that was just consumed.
func (l *lexer) emit(t token) token {
	t.first = l.fresh
	if t.first {
		t.doc = l.comment.text(t.pos.Line)
	}
	l.fresh = false
	l.comment = commentBlock{}
	return t
}

func (l *lexer) word(start rune) token {
	text, at := l.take(isWordRune)
	if start == '_' {
		l.list.errorf(at, "%s is not a name: a name starts with a letter", quoted(text))
	}
	kind := identifier
	if isKeyword(text) {
		kind = tokenKind(text)
	}
	return l.emit(token{kind: kind, text: text, span: at})
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// number consumes all letters and digits that follow, so that a wrong number is one
// error and not two tokens.
func (l *lexer) number() token {
	text, at := l.take(isWordRune)
	value, err := strconv.ParseUint(text, 0, 64)
	// Keep an invalid number as a token: dropping it would cause one more error.
	switch {
	case errors.Is(err, strconv.ErrRange):
		l.list.errorf(at, "number %s does not fit in 64 bits", text)
	case err != nil:
		l.list.errorf(at, "%s is neither a name nor a number: a name starts with a letter, a number has decimal, 0x, 0b or 0o digits", quoted(text))
	}
	return l.emit(token{kind: number, text: text, span: at, value: value})
}

func (l *lexer) punctuation() token {
	at := span{l.pos, 1}
	text := string(l.src[l.offset])
	l.advance()
	return l.emit(token{kind: tokenKind(text), text: text, span: at})
}

func (l *lexer) slash() {
	at := span{l.pos, 1}
	l.advance()
	if l.at('*') {
		at.width++
		l.list.errorf(at, "block comments are not possible; a comment starts with //")
		l.skipBlock()
		return
	}
	if !l.at('/') {
		if bytes.HasPrefix(l.before(), []byte("package ")) {
			l.list.errorf(at, "the names of a package have dots between them, such as com.example.shop")
			return
		}
		l.list.errorf(at, "a single / has no meaning; a comment starts with //")
		return
	}
	l.advance()
	start := l.offset
	for {
		r, width := l.peek()
		if r == eof || r == '\n' || r == '\r' {
			break
		}
		if r == utf8.RuneError && width == 1 {
			l.skipInvalid()
			continue
		}
		l.advance()
	}
	l.addComment(at.pos.Line, string(l.src[start:l.offset]))
}

// skipBlock skips a block comment up to its end, if it has one: its text must not
// cause more errors.
func (l *lexer) skipBlock() {
	if l.offset >= l.unclosed {
		l.advance()
		return
	}
	length := bytes.Index(l.src[l.offset:], []byte("*/"))
	if length < 0 {
		l.unclosed = l.offset
		l.advance()
		return
	}
	l.skipTo(l.offset + length + len("*/"))
}

func (l *lexer) addComment(line int, text string) {
	if !l.fresh {
		return
	}
	if l.comment.last+1 != line {
		l.comment = commentBlock{}
	}
	text = strings.TrimPrefix(strings.TrimRight(text, " \t"), " ")
	l.comment.lines = append(l.comment.lines, text)
	l.comment.last = line
}

func (l *lexer) skipInvalid() {
	at := span{l.pos, 0}
	for {
		r, width := l.peek()
		if r != utf8.RuneError || width != 1 {
			break
		}
		l.advance()
		at.width++
	}
	l.list.errorf(at, "invalid character: the text is not UTF-8")
}

// before returns the line up to the current offset. It returns nil if no message will
// use the text: scanning a long line again for each of many errors would be slow.
func (l *lexer) before() []byte {
	if l.list.full() {
		return nil
	}
	line := l.src[:l.offset]
	return bytes.TrimSpace(line[bytes.LastIndexAny(line, "\r\n")+1:])
}

// inPackage reports whether the line so far is a package clause.
func (l *lexer) inPackage() bool {
	before := l.before()
	return bytes.HasPrefix(before, []byte("package ")) && !bytes.ContainsRune(before, '{')
}

// content returns the text from the quote at offset to the next quote on the line, without
// the quotes.
func (l *lexer) content(quote rune) (content []byte, ok bool) {
	rest := l.src[l.offset+1:] // quotes have one byte
	content, _, ok = bytes.Cut(rest, []byte{byte(quote)})
	return content, ok && !bytes.ContainsAny(content, "\r\n")
}

// isText reports whether r opens a text in quotes in a place where other languages have
// the default value of a field.
func (l *lexer) isText(r rune) bool {
	if r != '"' && r != '\'' && r != '`' {
		return false
	}
	const enough = len(" default") + 8 // 8 bytes for spaces after the word
	before := bytes.TrimRight(l.src[max(0, l.offset-enough):l.offset], " \t")
	if !bytes.HasSuffix(before, []byte("=")) && !bytes.HasSuffix(before, []byte(" default")) {
		return false
	}
	_, ok := l.content(r)
	return ok
}

func (l *lexer) quotedText() token {
	start, pos := l.offset, l.pos
	quote := rune(l.src[l.offset])
	content, _ := l.content(quote)
	l.skipTo(l.offset + len(content) + 2)
	return l.emit(token{kind: text, text: string(l.src[start:l.offset]), span: span{pos, l.pos.Column - pos.Column}})
}

// isTag reports whether the backquote at offset opens a tag of a Go field, not a name.
func (l *lexer) isTag() bool {
	content, ok := l.content('`')
	return ok && bytes.ContainsAny(content, `: "`)
}

func (l *lexer) skipTo(end int) {
	for l.offset < end {
		l.advance()
	}
}

// skipParameters skips type parameters up to the '>' that matches the '<' before offset, to a
// brace, or to the end of the line. The text between them would only cause more errors.
func (l *lexer) skipParameters() {
	for depth := 1; depth > 0; l.advance() {
		switch r, _ := l.peek(); r {
		case eof, '\n', '\r', '{', '}':
			return
		case '<':
			depth++
		case '>':
			depth--
		}
	}
}

// parameters reports type parameters. at is the place of their '<'.
func (l *lexer) parameters(at span) {
	before := l.before()
	message := `an array is written "[]Type", a map is a multimap defined outside`
	switch words := strings.Fields(string(before)); {
	case len(words) == 0 || bytes.ContainsRune(before, '{'):
	case words[0] == "multimap":
		name := "M"
		if len(words) > 1 && words[1] != "<" {
			name = strings.TrimSuffix(words[1], "<")
		}
		message = "write " + quoted("multimap "+name+" { key string value string }")
	case words[0] == "struct" || words[0] == "oneof":
		message = "types have no parameters"
	}
	l.list.errorf(at, "unexpected '<': %s", message)
	l.generic = at.pos.Line
	l.skipParameters()
}

// closes reports whether the quote that was just read is the second quote of a pair on
// its line. One error for each pair is enough.
func (l *lexer) closes(quote rune) bool {
	if l.quote == quote && l.quoteLine == l.pos.Line {
		l.quote = 0
		return true
	}
	l.quote, l.quoteLine = quote, l.pos.Line
	return false
}

func (l *lexer) skipUnknown(r rune) {
	at := span{l.pos, 1}
	if r == '`' && l.isTag() {
		content, _ := l.content(r)
		at.width = utf8.RuneCount(content) + 2
		l.list.errorf(at, "fields have no tags")
		l.skipTo(l.offset + len(content) + 2)
		return
	}
	l.advance()
	switch r {
	case ',', ';':
		if l.inPackage() {
			l.list.errorf(at, "unexpected %q: nothing follows the package name", r)
			return
		}
		l.list.errorf(at, "unexpected %q: separate %s with white space only", r, l.separated)
	case ':':
		l.list.errorf(at, "unexpected %q: a field is written \"Name Type\", an enum value \"Name = 1\"", r)
	case '-', '+':
		if l.inPackage() {
			l.list.errorf(at, "unexpected %q: a package name has letters, digits and _, and dots between its parts", r)
			return
		}
		if before, _ := utf8.DecodeLastRune(l.src[:l.offset-1]); unicode.IsLetter(before) {
			l.list.errorf(at, "unexpected %q: a name has letters, digits and _", r)
			return
		}
		l.list.errorf(at, "unexpected %q: numbers have no sign", r)
	case '<':
		l.parameters(at)
	case '#':
		l.list.errorf(at, "unexpected %q: a comment starts with //", r)
		for r, _ := l.peek(); r != eof && r != '\n' && r != '\r'; r, _ = l.peek() {
			l.advance()
		}
	case '"', '\'', '`':
		if !l.closes(r) {
			l.list.errorf(at, "unexpected character %q: names have no quotes", r)
		}
	case '?':
		l.list.errorf(at, "unexpected character %q: a field that may be absent is written \"Name Type optional\"", r)
	case '*':
		l.list.errorf(at, "unexpected character %q: there are no pointers, write the type alone", r)
	case '\ufeff':
		l.list.errorf(at, "unexpected byte order mark: save the file as UTF-8 without one")
	default:
		l.list.errorf(at, "unexpected character %q", r)
	}
}
