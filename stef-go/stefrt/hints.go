// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/otelstef/stef/stef-go/column"
)

// hints are the sizes of the columns in the last large frame of all streams with the
// same root and number of columns. Later streams grow large columns to these sizes in few
// steps. The sizes affect memory only, never the written bytes.
type hints struct {
	mu    sync.Mutex
	sizes []int
}

// largeFrame is the minimum size of a frame that stores hints.
const largeFrame = 64 << 10

// allHints is bounded by the number of roots and schemas of a process.
var allHints sync.Map // string -> *hints

func hintsFor(root string, columns int) *hints {
	h, _ := allHints.LoadOrStore(fmt.Sprintf("%s/%d", root, columns), new(hints))
	return h.(*hints)
}

// writeColumns and readColumns are the numbers of columns in the last column tree of a writer and of a
// reader. The next tree usually has the same schema, so it starts with this capacity. A complete tree of
// a reader releases unused capacity, because idle streams must need little memory.
var writeColumns, readColumns atomic.Int64

func (h *hints) expect(t *column.WriteTree) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.Expect(h.sizes)
}

func (h *hints) saw(t *column.WriteTree) {
	if t.FrameData() < largeFrame {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sizes = t.Sizes(h.sizes)
}
