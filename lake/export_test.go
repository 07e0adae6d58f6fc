// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

// SetMaxItemElements sets the limit of a writer, and returns a function that restores it.
func SetMaxItemElements(n int) (restore func()) {
	was := maxItemElements
	maxItemElements = n
	return func() { maxItemElements = was }
}
