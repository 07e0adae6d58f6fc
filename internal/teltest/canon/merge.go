// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

// A container is the last resource, scope or metric that was read at its level. The
// merge functions merge a container into the previous container of the same parent
// if both containers are equal.
type container struct {
	text string
	open bool
}

// same reports whether the container is open and has the given text. If not, same
// opens it with this text.
func (c *container) same(text []byte) bool {
	if c.open && c.text == string(text) {
		return true
	}
	c.text, c.open = string(text), true
	return false
}

func (o Options) content(write func(*text)) []byte {
	t := text{Options: o}
	write(&t)
	return t.buf
}
