// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxJSONDepth bounds the nesting of objects and arrays. It is enough for MaxValueDepth maps
	// in the attributes of an exemplar: a map has four nested objects and arrays, and the
	// messages around the value have 15. pdata and encoding/json refuse more than 10,000.
	maxJSONDepth = 4*MaxValueDepth + 15
	// maxFlatDepth is the nesting of objects and arrays up to which all values are within
	// MaxValueDepth: an array of a value has three nested objects and arrays, a map more.
	maxFlatDepth = 3 * MaxValueDepth
)

// maxLine is the number of bytes of a line that are read ahead, to check the line in one pass.
const maxLine = 16 << 20

// jsonDecoder splits a file into its top-level objects, which are separated by
// white space. Usually each object is one line, which is checked in one pass; an
// object on several lines is accepted.
type jsonDecoder struct {
	src   *source
	limit int
	part  int
	line  int  // line of the next byte
	begun bool // whether a part of this line was read, apart from white space
	// held has the bytes of a line from src that is not exactly one whole object. These bytes
	// precede the next bytes of src. failed is the error after these bytes.
	held   []byte
	failed error
}

func newJSONDecoder(src *source, limit int) *jsonDecoder {
	return &jsonDecoder{src: src, limit: limit, line: 1}
}

func (d *jsonDecoder) next(buf []byte) (piece, error) {
	d.part++
	p := piece{part: d.part, buf: buf[:0]}
	err := d.skipSpace()
	p.line, p.offset = d.line, d.src.offset-int64(len(d.held))
	if errors.Is(err, ErrCorrupt) && d.onlyZeros() {
		err = fmt.Errorf("the file ends in zeros, as after a crash of the machine%s: %w", d.advice(&p), io.ErrUnexpectedEOF)
	}
	if errors.Is(err, ErrCorrupt) && p.part > 1 && !d.begun {
		p.oneLine = p.line
	}
	if err != nil {
		return p, err
	}
	if len(d.held) == 0 && d.failed == nil && d.wholeLine(&p) {
		return p, nil
	}
	return p, d.object(&p)
}

// wholeLine reads a line. If the line is not exactly one whole object, wholeLine returns false
// and keeps the bytes of the line.
func (d *jsonDecoder) wholeLine(p *piece) bool {
	complete := false
	for !complete && len(p.buf) < maxLine {
		chunk, err := d.chunk()
		if err != nil {
			d.failed = err
			break
		}
		n := bytes.IndexByte(chunk, '\n') + 1
		if complete = n > 0; !complete {
			n = len(chunk)
		}
		p.buf = append(p.buf, chunk[:n]...)
		d.src.skip(n)
	}
	line := p.buf
	if d.failed == io.EOF {
		line = append(p.buf, '\n')
	}
	body, signals, rescan, ok := objectLine(line)
	if !ok || len(body) > d.limit {
		d.held = append(d.held[:0], p.buf...)
		p.buf = p.buf[:0]
		return false
	}
	d.begun = !complete
	if complete {
		d.line++
	}
	p.body, p.checked, p.signals, p.rescan = body, true, signals, rescan
	return true
}

// object reads an object, on one or several lines.
func (d *jsonDecoder) object(p *piece) error {
	var o objectScan
	for {
		chunk, err := d.chunk()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if errors.Is(err, io.ErrUnexpectedEOF) && endless(p) {
			return errEndless
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // the file is truncated, compressed or not
			return fmt.Errorf("the file ends inside the message that begins here%s: %w", d.advice(p), err)
		}
		if err != nil {
			return err
		}
		n, done := o.scan(chunk)
		if len(p.buf)+n > d.limit {
			if endless(p) {
				return errEndless
			}
			return fmt.Errorf("%w: a message of more than %d bytes", ErrTooLarge, d.limit)
		}
		if o.depth > maxJSONDepth {
			return fmt.Errorf("%w: objects and arrays are nested more than %d levels deep", ErrTooLarge, maxJSONDepth)
		}
		p.buf = append(p.buf, chunk[:n]...)
		d.skip(chunk[:n])
		if done {
			p.body, p.deep = p.buf, o.deepest > maxFlatDepth
			d.begun = true
			return nil
		}
	}
}

// errEndless is the error of a message that does not end although the file has more lines.
var errEndless = corrupt("the message is cut or damaged: it has no end, and later lines begin other messages")

// endless reports whether the second line of a message seems to begin another message. If so, it
// sets p.oneLine.
func endless(p *piece) bool {
	_, next, ok := bytes.Cut(p.buf, []byte("\n"))
	if ok = ok && bytes.HasPrefix(next, []byte("{")); ok {
		p.oneLine = p.line
	}
	return ok
}

// advice returns how to keep the messages before a message that is cut off.
func (d *jsonDecoder) advice(p *piece) string {
	if p.part == 1 {
		return ""
	}
	return d.src.keepAdvice(p.offset, "messages")
}

// chunk returns the next bytes, at least one, and io.EOF at the end.
func (d *jsonDecoder) chunk() ([]byte, error) {
	if len(d.held) > 0 {
		return d.held, nil
	}
	if d.failed != nil {
		return nil, d.failed
	}
	if _, err := d.src.Peek(1); err != nil {
		return nil, err
	}
	return d.src.Peek(d.src.Buffered())
}

// skip consumes the first bytes that chunk returned.
func (d *jsonDecoder) skip(b []byte) {
	d.line += bytes.Count(b, []byte{'\n'})
	if len(d.held) > 0 {
		d.held = d.held[len(b):]
		return
	}
	d.src.skip(len(b))
}

func (d *jsonDecoder) skipSpace() error {
	for {
		chunk, err := d.chunk()
		if err != nil {
			return err
		}
		rest := bytes.TrimLeft(chunk, " \t\r\n")
		space := chunk[:len(chunk)-len(rest)]
		d.begun = d.begun && bytes.IndexByte(space, '\n') < 0
		d.skip(space)
		if len(rest) == 0 {
			continue
		}
		if rest[0] != '{' {
			return corrupt("%q is not the start of a message", rest[0])
		}
		return nil
	}
}

// onlyZeros reports whether the rest of the file has only zeros. It consumes these zeros.
func (d *jsonDecoder) onlyZeros() bool {
	for {
		chunk, err := d.chunk()
		if err != nil {
			return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
		}
		if len(bytes.TrimLeft(chunk, "\x00")) > 0 {
			return false
		}
		d.skip(chunk)
	}
}

// An objectScan finds the end of an object by counting brackets outside of
// strings. Later checks decide whether the content is valid JSON.
type objectScan struct {
	depth    int
	deepest  int
	inString bool
	escaped  bool
}

// scan returns how many bytes of a chunk belong to the object, and whether the
// object ends with them. It stops early when nesting is too deep.
func (o *objectScan) scan(chunk []byte) (n int, done bool) {
	for i, c := range chunk {
		switch {
		case o.escaped:
			o.escaped = false
		case o.inString:
			o.escaped = c == '\\'
			o.inString = c != '"'
		case c == '"':
			o.inString = true
		case c == '{' || c == '[':
			o.depth++
			if o.deepest = max(o.deepest, o.depth); o.depth > maxJSONDepth {
				return i, false
			}
		case c == '}' || c == ']':
			if o.depth--; o.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(chunk), false
}

type errAt struct {
	offset int
	err    error
}

func (e *errAt) Error() string { return e.err.Error() }

var errNoSignal = corrupt("no field resourceMetrics, resourceSpans or resourceLogs")

// checkJSON returns the signals that a message holds, bit n for signal n. It also finds the errors
// that pdata does not report: invalid JSON after the part that pdata reads, an empty name, at which
// pdata stops reading, and a message without any known field. rescan has the same meaning as in
// piece.
func checkJSON(text []byte) (signals uint8, rescan bool, err error) {
	if !json.Valid(text) {
		var v json.RawMessage
		err := json.Unmarshal(text, &v)
		if e := (*json.SyntaxError)(nil); errors.As(err, &e) {
			hint := ""
			if notNumber.Match(text[max(int(e.Offset)-1, 0):]) {
				hint = `: write it as a text, "Infinity", "-Infinity" or "NaN"`
			}
			return 0, false, &errAt{int(e.Offset), corrupt("%v%s", e, hint)}
		}
		return 0, false, corrupt("%v", err)
	}
	names, rescan, empty := topNames(text)
	if empty >= 0 {
		return 0, false, &errAt{empty, corrupt("a field without a name")}
	}
	for s := Metrics; s <= profiles; s++ {
		for _, name := range names {
			if slices.Contains(jsonNames[s][:], name) {
				signals |= 1 << s
			}
		}
	}
	if signals == 0 && len(names) > 0 {
		return 0, false, fmt.Errorf("%w; the first is %q", errNoSignal, names[0])
	}
	return signals, rescan, nil
}

// topNames returns the field names of the outermost object of text, which must be valid JSON. Names
// keep their escapes. rescan has the same meaning as in piece. empty is the offset of an empty name
// at any depth, or -1 if there is none.
func topNames(text []byte) (names []string, rescan bool, empty int) {
	var chosen []bool // for each open object or array: whether it has a name of isChoice
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			chosen = append(chosen, false)
		case '}', ']':
			chosen = chosen[:len(chosen)-1]
		case 'n': // null
			rescan = true
		case '"':
			start := i + 1
			i = closingQuote(text, start)
			if firstVisible(text[i+1:]) != ':' {
				continue
			}
			if i == start {
				return names, rescan, start
			}
			if len(chosen) == 1 {
				names = append(names, string(text[start:i]))
			}
			if isChoice(text[start:i]) {
				last := len(chosen) - 1
				rescan = rescan || chosen[last]
				chosen[last] = true
			}
		}
	}
	return names, rescan, -1
}

// closingQuote returns the offset of the quotation mark that ends the string around offset i.
func closingQuote(text []byte, i int) int {
	for ; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// lineOf returns the line of a message if the file seems to have one message per line,
// otherwise 0. If brackets are missing in a line, the piece also contains the next lines, each
// of which begins with a brace.
func lineOf(p piece) int {
	if _, next, ok := bytes.Cut(p.body, []byte("\n")); ok && !bytes.HasPrefix(next, []byte("{")) {
		return 0
	}
	return p.line
}

func (r *Reader) jsonError(p piece, s Signal, err error) error {
	if p.part > 1 || !errors.Is(err, errNoSignal) { // if the first line has no known field, the next lines are probably not OTLP, either
		p.oneLine = lineOf(p)
	}
	if e := (*errAt)(nil); errors.As(err, &e) {
		at := min(e.offset, len(p.body))
		p.line += bytes.Count(p.body[:at], []byte{'\n'})
		p.offset += int64(at)
		err = e.err
	}
	return r.inContent(p, s, err)
}

// checkDepth returns an error if a value of a JSON message is nested deeper than MaxValueDepth. The
// number of brackets in the text does not show this depth, because arrays, maps and unknown fields need
// different numbers of brackets. Such messages are rare, so checkDepth may encode the batch.
func (r *Reader) checkDepth(p piece, b Batch) error {
	message, err := b.Marshal()
	if err != nil {
		return r.jsonError(p, r.signal, err)
	}
	if _, ft := check(r.signal, message); ft != nil {
		return r.jsonError(p, r.signal, ft.err)
	}
	return nil
}

// jsonPlace matches the place that the JSON library adds to an error: an offset, a short text
// that the offset is relative to, and a longer text that contains the short text.
var jsonPlace = regexp.MustCompile(`(?s)^(?:\w+: )?(.*?), error found in #(\d+) byte of \.\.\.\|(.*)\|\.\.\., bigger context \.\.\.\|(.*)\|\.\.\.$`)

// goName matches the name of a function of Go in the error about a number.
var goName = regexp.MustCompile(`strconv\.\w+: parsing `)

// outOfRange matches the error of a number that is too large for float64. This error of the library has
// no offset.
var outOfRange = regexp.MustCompile(`^"(.*)": value out of range$`)

// notNumber matches a special value that Python's json module writes as if it were a number.
var notNumber = regexp.MustCompile(`^(Infinity|NaN)\b`)

// wrongValue replaces the place in an error of the JSON library by the offset in the
// message and the name of the field.
func wrongValue(text []byte, err error) error {
	cause := goName.ReplaceAllString(err.Error(), "")
	if m := outOfRange.FindStringSubmatch(cause); m != nil {
		return numberAt(text, m[1], cause)
	}
	place := jsonPlace.FindStringSubmatch(cause)
	if place == nil {
		return corrupt("%s", cause)
	}
	// The library reads in order, so the error is at the first occurrence of the context.
	at := bytes.Index(text, []byte(place[4]))
	within := strings.Index(place[4], place[3])
	n, e := strconv.Atoi(place[2])
	if at < 0 || within < 0 || e != nil {
		return corrupt("%s", cause)
	}
	at = min(at+within+n, len(text))
	name, value := fieldAt(text, at)
	what := wantedTypes.Replace(place[1])
	// The library stops after the value, after its first byte, or before the value. Report at least
	// the offset of the value.
	return &errAt{max(at-1, value), corrupt("the value of %s: %s", name, what)}
}

// wantedTypes changes errors of the JSON library. The library names the characters with which the
// expected value can begin. The new text names the expected type.
var wantedTypes = strings.NewReplacer(`expects " or n,`, "expected a text or null,", "expect [ or , or ] or n,", "expected an array or null,",
	"expect { or , or } or n,", "expected an object or null,")

// numberAt returns an error about a number in text. The error has the offset at which the number first
// occurs outside of strings.
func numberAt(text []byte, number, cause string) error {
	for i := 0; i < len(text); i++ {
		if text[i] == '"' {
			i = closingQuote(text, i+1)
			continue
		}
		if rest, ok := bytes.CutPrefix(text[i:], []byte(number)); ok && len(rest) > 0 &&
			bytes.IndexByte([]byte(":,[- \t\r\n"), text[max(i-1, 0)]) >= 0 && bytes.IndexByte([]byte(",]} \t\r\n"), rest[0]) >= 0 {
			name, _ := fieldAt(text, i)
			return &errAt{i, corrupt("the value of %s: %s", name, cause)}
		}
	}
	return corrupt("%s", cause)
}

// fieldAt returns the name of the field at an offset of a valid message, and the offset of the
// value of the field. In the innermost object that contains the offset, the field is the last one
// that begins before the offset.
func fieldAt(text []byte, at int) (name string, value int) {
	type field struct {
		name  string
		value int
	}
	open := []field{{}} // a list or an object begins with the field that holds it
	for i := 0; i < at; i++ {
		last := len(open) - 1
		switch text[i] {
		case '{', '[':
			open = append(open, open[last])
		case '}', ']':
			open = open[:last]
		case '"':
			start := i + 1
			i = closingQuote(text, start)
			if rest := bytes.TrimLeft(text[i+1:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
				rest = bytes.TrimLeft(rest[1:], " \t\r\n")
				open[last] = field{string(text[start:i]), len(text) - len(rest)}
			}
		}
	}
	f := open[len(open)-1]
	return f.name, f.value
}

var jsonIDs = regexp.MustCompile(`"(traceId|trace_id|spanId|span_id|parentSpanId|parent_span_id)"\s*:\s*"([^"]*)"`)

// badID returns an error for the first id in a message that is not empty and does not have the
// right number of hexadecimal digits. It returns nil if there is no such id.
func badID(text []byte) error {
	for _, m := range jsonIDs.FindAllSubmatchIndex(text, -1) {
		digits := 16
		name, id := text[m[2]:m[3]], string(text[m[4]:m[5]])
		if bytes.HasPrefix(name, []byte("trace")) {
			digits = 32
		}
		if _, err := hex.DecodeString(id); id != "" && (err != nil || len(id) != digits) {
			hint := ""
			if decoded, err := base64.StdEncoding.DecodeString(id); err == nil && len(decoded) == digits/2 {
				hint = "; it looks like base64, which generic protobuf JSON has: write the message as protobuf (.pb) instead"
			}
			return &errAt{m[4], corrupt("%s %.64q is not %d hexadecimal digits%s", name, id, digits, hint)}
		}
	}
	return nil
}
