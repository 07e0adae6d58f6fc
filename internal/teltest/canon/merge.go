// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

// A container is a resource, scope or metric as it was seen last at its level.
// The merge functions go down the levels: what is equal to the container before
// it in the same parent is put into that one.
type container struct {
	text string
	open bool
}

// same says whether the container of a text is the one that is open, and opens
// it where it is not.
func (c *container) same(text []byte) bool {
	if c.open && c.text == string(text) {
		return true
	}
	c.text, c.open = string(text), true
	return false
}

// content writes the text of a container.
func (o Options) content(write func(*text)) []byte {
	t := text{Options: o}
	write(&t)
	return t.buf
}
