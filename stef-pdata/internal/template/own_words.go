// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import "strings"

// OwnWords copies words of bodies. A word that is not copied is a substring of its body, so it keeps
// the whole body in memory. Callers copy only words of bodies larger than MaxHeldBody bytes.
type OwnWords struct{ text strings.Builder }

// MaxHeldBody is the maximum size of a body whose words are not copied (see OwnWords). A record has
// at most stef.MaxPairs words, and each of these words may keep another body in memory.
const MaxHeldBody = 2 << 10

// Copy returns a copy of a word in separate memory.
func (w *OwnWords) Copy(word string) string {
	if w.text.Cap()-w.text.Len() < len(word) {
		w.text.Reset()
		w.text.Grow(MaxHeldBody)
	}
	from := w.text.Len()
	w.text.WriteString(word)
	return w.text.String()[from:]
}
