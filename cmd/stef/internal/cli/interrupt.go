// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Interrupt passes interrupts of the process to the running command, if the command supports a
// graceful end. The zero value is ready for use.
type Interrupt struct {
	mu  sync.Mutex
	end context.CancelCauseFunc
}

var errInterrupted = errors.New("interrupted")

// Deliver asks the command to end gracefully. It returns false if the command does not support a
// graceful end or was asked before. The caller must then end the process.
func (i *Interrupt) Deliver() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.end == nil {
		return false
	}
	i.end(errInterrupted)
	i.end = nil
	return true
}

// PrintInterrupted prints that an interrupt ended convert or repair, and whether something was
// written. unfinished are the outputs whose temporary files were removed. For other commands it
// prints nothing.
func PrintInterrupted(w io.Writer, args, unfinished []string) {
	if len(args) == 0 || args[0] != convertCommand.name && args[0] != repairCommand.name {
		return
	}
	output := "no file was changed; a pipe, a device or standard output may hold a part of the output"
	if len(unfinished) > 0 {
		output = "nothing was written to " + strings.Join(unfinished, ", ")
	}
	fmt.Fprintf(w, "stef %s: %v; %s\n", args[0], errInterrupted, output)
}

// interruptible returns a context that ends with the first interrupt. Call stop
// when the command no longer watches the context.
func (env *Env) interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	i := env.Interrupt
	if i == nil {
		return ctx, func() { cancel(nil) }
	}
	i.mu.Lock()
	i.end = cancel
	i.mu.Unlock()
	return ctx, func() {
		i.mu.Lock()
		i.end = nil
		i.mu.Unlock()
		cancel(nil)
	}
}
