// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"sync"
)

// streamMemory bounds the memory that all streams together hold between batches:
// dictionaries, the buffers of the last frame, windows of zstd. When the limit is
// exceeded, the stream that holds the most memory must end. The client opens another
// stream, which starts with empty dictionaries.
type streamMemory struct {
	limit int64

	mu      sync.Mutex
	held    int64 // memory beyond the allowance of each stream
	ending  int64 // part of held: memory of streams that were asked to end
	streams map[*streamUsage]struct{}
	freed   chan struct{} // closed when the streams are within the limit again; nil: no stream waits
}

// streamAllowance is the memory of a stream that is not counted: the decoder of an ordinary
// zstd window, frames of ordinary size, and a small dictionary. So clients that send ordinary
// data do not reach the limit, however many clients there are.
const streamAllowance = 3 * mib

type streamUsage struct {
	held   int64 // memory beyond the allowance
	end    func()
	ending bool
}

// join adds a stream. If the stream must end, end is called at most once. end must
// not call streamMemory.
func (m *streamMemory) join(end func()) *streamUsage {
	s := &streamUsage{end: end}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams[s] = struct{}{}
	return s
}

// leave removes a stream that holds no memory any more.
func (m *streamMemory) leave(s *streamUsage) {
	m.set(s, 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.streams, s) // after set, m.held and m.ending do not include the stream
}

// set records how much memory a stream holds in total.
func (m *streamMemory) set(s *streamUsage, bytes int64) {
	bytes = max(0, bytes-streamAllowance)
	m.mu.Lock()
	defer m.mu.Unlock()
	change := bytes - s.held
	if change == 0 {
		return
	}
	s.held = bytes
	m.held += change
	if s.ending {
		m.ending += change
	}
	for m.held-m.ending > m.limit {
		m.endLargest()
	}
	if m.freed != nil && m.held <= m.limit {
		close(m.freed)
		m.freed = nil
	}
}

func (m *streamMemory) endLargest() {
	var most *streamUsage
	for s := range m.streams {
		if !s.ending && (most == nil || s.held > most.held) {
			most = s
		}
	}
	most.ending = true
	m.ending += most.held
	most.end()
}

// wait returns nil when the streams are within the limit, or the error of ctx.
func (m *streamMemory) wait(ctx context.Context) error {
	for {
		m.mu.Lock()
		if m.held <= m.limit {
			m.mu.Unlock()
			return nil
		}
		if m.freed == nil {
			m.freed = make(chan struct{})
		}
		freed := m.freed
		m.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// bytes returns the memory that the streams hold beyond their allowance.
func (m *streamMemory) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}
