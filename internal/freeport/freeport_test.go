// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package freeport_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/freeport"
)

func TestAddressIsFreeAndNew(t *testing.T) {
	seen := map[string]bool{}
	for range 300 {
		address := freeport.Address(t)
		require.False(t, seen[address], "%s was returned twice", address)
		seen[address] = true
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}

// TestNoClientGetsThePort passes if all ports are below those that Linux chooses for clients unless its
// administrator changes the range.
func TestNoClientGetsThePort(t *testing.T) {
	for range 300 {
		_, port, err := net.SplitHostPort(freeport.Address(t))
		require.NoError(t, err)
		n, err := strconv.Atoi(port)
		require.NoError(t, err)
		require.Less(t, n, 32_768)
		require.Greater(t, n, 1_023)
	}
}
