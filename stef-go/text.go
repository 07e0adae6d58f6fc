// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import "github.com/otelstef/stef/stef-go/codec"

// TextDict is a text dictionary of a writer, for looking up references. The Dicts
// method of a writer returns the dictionaries of its stream. A stream without the
// dictionary has a nil TextDict, whose methods find nothing.
type TextDict codec.StringDict

// TextRef is a reference to an entry of a TextDict. It is valid until the writer
// restarts the dictionary; setters recognize and ignore an invalid reference. 0 means no
// reference.
type TextRef = codec.Ref

// Text is a text with its reference, which is 0 if it is not known.
type Text = codec.Text

func (d *TextDict) dict() *codec.StringDict { return (*codec.StringDict)(d) }

// Ref returns the reference to v, or 0 if v is not in the dictionary. Two texts are equal if they
// have the same reference in the same dictionary.
func (d *TextDict) Ref(v string) TextRef { return d.dict().Ref(v) }

// Holds reports whether ref is a valid reference to an entry of d.
func (d *TextDict) Holds(ref TextRef) bool { return d.dict().Holds(ref) }

// Is reports whether ref is a valid reference to v.
func (d *TextDict) Is(ref TextRef, v string) bool { return d.dict().Is(ref, v) }

// Epoch returns a number that is unique to d and changes with every restart of d. It
// is 0 for a nil d.
func (d *TextDict) Epoch() uint64 { return d.dict().Epoch() }

// Resolve sets the reference of each text to the result of Ref. A text of more than 256 bytes is an
// exception: if its present reference is wrong, Resolve sets the reference to 0. Resolve is faster
// than a call of Ref for each text.
func (d *TextDict) Resolve(texts []Text) { d.dict().Resolve(texts) }
