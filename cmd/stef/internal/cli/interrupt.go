// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
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
