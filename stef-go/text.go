// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import "github.com/otelstef/stef/stef-go/codec"

// TextDict is a dictionary of text of a writer, for looking up references. The
// Dicts method of a writer returns those of its stream. The methods of a nil
// TextDict, that of a stream without the dictionary, find nothing.
type TextDict codec.StringDict

// TextRef is a reference to an entry of a TextDict. It is valid until the writer
// restarts the dictionary; setters recognize and ignore one that is not. 0 is none.
type TextRef = codec.Ref

// Text is a text with its reference, which is 0 if it is not known.
type Text = codec.Text

func (d *TextDict) dict() *codec.StringDict { return (*codec.StringDict)(d) }

// Ref returns the reference to v, or 0 if v is not in the dictionary. Two texts are
// the same if their references to one dictionary are.
func (d *TextDict) Ref(v string) TextRef { return d.dict().Ref(v) }

// Holds says whether ref is a valid reference to an entry of d.
func (d *TextDict) Holds(ref TextRef) bool { return d.dict().Holds(ref) }

// Is says whether ref is a valid reference to v.
func (d *TextDict) Is(ref TextRef, v string) bool { return d.dict().Is(ref, v) }

// Epoch returns a number that changes with every restart of d and that no other
// dictionary has. It is 0 for a nil d.
func (d *TextDict) Epoch() uint64 { return d.dict().Epoch() }

// Resolve sets the references of texts as Ref returns them, but to 0 for texts of
// more than 256 bytes whose present reference is wrong. It is faster than Ref for
// each of them.
func (d *TextDict) Resolve(texts []Text) { d.dict().Resolve(texts) }
