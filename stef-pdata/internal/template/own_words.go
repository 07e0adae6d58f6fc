// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import "strings"

// OwnWords gives words memory that only such words share. Those of short bodies
// stay where they are.
type OwnWords struct{ text strings.Builder }

// MaxHeldBody is what may stay in memory for a word that a record holds. A record
// has stef.MaxPairs words at most, each of another body.
const MaxHeldBody = 2 << 10

// Copy returns a word in other memory.
func (w *OwnWords) Copy(word string) string {
	if w.text.Cap()-w.text.Len() < len(word) {
		w.text.Reset()
		w.text.Grow(MaxHeldBody)
	}
	from := w.text.Len()
	w.text.WriteString(word)
	return w.text.String()[from:]
}
