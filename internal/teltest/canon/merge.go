// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

// A container is the last resource, scope or metric seen at its level. The
// merge functions descend the levels and merge each container into the previous
// one of the same parent if both are equal.
type container struct {
	text string
	open bool
}

// same reports whether the open container has this text. If not, it opens the
// container with the text.
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
