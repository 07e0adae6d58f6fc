// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"fmt"
	"strings"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// A text body may be written as a template and parameters: lines of one shape
// then share the template, and only the parameters that differ are written.
//
// A parameter is a word with a digit in it, a word being as many letters,
// digits, dots, dashes and underscores as stand together: numbers, addresses,
// versions, most ids and times. In the template each leaves a placeholder.
//
// spec: #otlp-logs

const placeholder = 0x00

// span is a part of a text.
type span struct{ from, to uint32 }

// Kinds of bytes, as bits.
const (
	inWord  = 1 << iota // may stand in a word
	isDigit             // makes the word a parameter
)

var byteKinds = func() (kinds [256]byte) {
	for c := range kinds {
		switch {
		case '0' <= c && c <= '9':
			kinds[c] = inWord | isDigit
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '.', c == '-', c == '_':
			kinds[c] = inWord
		}
	}
	return kinds
}()

// splitText appends the template of a text to template and its parameters to
// params. It reports false for texts that have no template.
func splitText(template []byte, params []span, text string) ([]byte, []span, bool) {
	if strings.IndexByte(text, placeholder) >= 0 {
		return template, params, false
	}
	literal := 0 // where the text begins that is not in template yet
	for i := 0; i < len(text); i++ {
		kinds := byteKinds[text[i]]
		if kinds == 0 {
			continue
		}
		from := i
		for i++; i < len(text); i++ {
			kind := byteKinds[text[i]]
			if kind == 0 {
				break
			}
			kinds |= kind
		}
		if kinds&isDigit != 0 {
			template = append(template, text[literal:from]...)
			template = append(template, placeholder)
			params = append(params, span{uint32(from), uint32(i)})
			literal = i
		}
	}
	return append(template, text[literal:]...), params, true
}

// joinText puts the parameters into a template.
func joinText(template string, params *otelstef.BodyParams) (string, error) {
	n := params.Len()
	if found := strings.Count(template, "\x00"); found != n {
		return "", fmt.Errorf("%w: a template with %d placeholders has %d parameters", ErrRecord, found, n)
	}
	if n == 0 {
		return template, nil
	}
	size := len(template) - n
	for i := range n {
		size += len(params.Value(i))
	}
	var text strings.Builder
	text.Grow(size)
	for i := range n {
		at := strings.IndexByte(template, placeholder)
		text.WriteString(template[:at])
		text.WriteString(params.Value(i))
		template = template[at+1:]
	}
	text.WriteString(template)
	return text.String(), nil
}
