// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"fmt"
	"strings"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// joiner puts templates and parameters together. It remembers where the
// placeholders of some templates are.
type joiner struct {
	slots []joinSlot // made at the first template
}

type joinSlot struct {
	template string
	pieces   []string // between the placeholders
	size     int      // of all pieces
}

const joinSlots = 64

// join returns the text of a template and parameters.
//
// spec: #otlp-logs
func (j *joiner) join(template string, params *otelstef.BodyParams) (string, error) {
	n := params.Len()
	if n == 0 && strings.IndexByte(template, placeholder) < 0 {
		return template, nil
	}
	slot, found := j.slot(template)
	if found != n {
		return "", fmt.Errorf("%w: a template with %d placeholders has %d parameters", ErrRecord, found, n)
	}
	size := slot.size
	for i := range n {
		size += len(params.Value(i))
	}
	var text strings.Builder
	text.Grow(size)
	for i, piece := range slot.pieces[:n] {
		text.WriteString(piece)
		text.WriteString(params.Value(i))
	}
	text.WriteString(slot.pieces[n])
	return text.String(), nil
}

// slot returns where the placeholders of a template are, and how many. With more
// than parameters can be it returns the number only.
func (j *joiner) slot(template string) (*joinSlot, int) {
	if template == "" {
		return nil, 0
	}
	if j.slots == nil {
		j.slots = make([]joinSlot, joinSlots)
	}
	slot := &j.slots[(len(template)*31+int(template[len(template)/2]))%joinSlots]
	if slot.template != template {
		if n := strings.Count(template, "\x00"); n > stef.MaxPairs {
			return nil, n
		}
		slot.template = template
		slot.pieces = strings.Split(template, "\x00")
		slot.size = len(template) - len(slot.pieces) + 1
	}
	return slot, len(slot.pieces) - 1
}
