// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStreamMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := streamMemory{limit: 10 * mib, streams: map[*streamUsage]struct{}{}}
		var ended []string
		join := func(name string) *streamUsage {
			return m.join(func() { ended = append(ended, name) })
		}
		small, medium, large := join("small"), join("medium"), join("large")
		m.set(small, streamAllowance)
		require.Zero(t, m.bytes(), "the allowance is free")
		m.set(medium, streamAllowance+4*mib)
		m.set(large, streamAllowance+6*mib)
		require.Empty(t, ended)
		require.NoError(t, m.wait(context.Background()))

		m.set(small, streamAllowance+1)
		require.Equal(t, []string{"large"}, ended, "not the one that reached the limit")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		require.ErrorIs(t, m.wait(ctx), context.DeadlineExceeded, "it still holds its memory")
		cancel()
		m.set(large, streamAllowance+9*mib)
		require.Len(t, ended, 1, "memory that an ending stream adds ends no other stream")

		waited := make(chan error, 1)
		go func() { waited <- m.wait(context.Background()) }()
		synctest.Wait()
		require.Empty(t, waited)
		m.leave(large)
		require.NoError(t, <-waited)
		require.EqualValues(t, 4*mib+1, m.bytes())
		m.set(small, streamAllowance+7*mib)
		require.Equal(t, []string{"large", "small"}, ended)
		m.leave(small)
		m.leave(medium)
		require.Zero(t, m.bytes())
		require.Zero(t, m.ending)
		require.Empty(t, m.streams)
	})
}

func TestStreamMemoryOfOneStream(t *testing.T) {
	m := streamMemory{limit: mib, streams: map[*streamUsage]struct{}{}}
	ended := 0
	s := m.join(func() { ended++ })
	m.set(s, 100*mib)
	m.set(s, 200*mib)
	require.Equal(t, 1, ended)
	m.leave(s)
	require.Zero(t, m.bytes())
}
