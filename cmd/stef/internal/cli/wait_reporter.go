// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/figure"
)

// waitReporter prints why batches wait, whenever the cause changes. It prints that sent batches are not
// answered, once a minute at most.
type waitReporter struct {
	out      io.Writer
	endpoint string
	plainly  func(error) error

	mu         sync.Mutex
	last       string
	unanswered time.Time // when silent last printed
}

func (p *waitReporter) notice(cause error) {
	text := "no answer yet; waiting"
	if cause != nil {
		text = message(p.plainly(cause)) + "; trying again"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if text != p.last {
		p.last = text
		fmt.Fprintf(p.out, "%s: %s\n", p.endpoint, text)
	}
}

// silent prints that sent batches are not answered. after is how long one of these batches waits.
func (p *waitReporter) silent(batches int, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.unanswered) < time.Minute {
		return
	}
	p.unanswered = time.Now()
	text := "1 batch has no answer"
	if batches > 1 {
		text = figure.Grouped(uint64(batches)) + " batches have no answer, the oldest"
	}
	fmt.Fprintf(p.out, "%s: %s for %s; waiting (the queue of the endpoint may be full, or its own destination may not answer: see its log)\n",
		p.endpoint, text, figure.Wait(after))
}
