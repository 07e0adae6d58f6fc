// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package freeport_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
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

// TestOtherProcesses: processes that search at the same time get different addresses, even before
// anything listens on these addresses. Without reservations, several processes would get some of the same
// addresses.
func TestOtherProcesses(t *testing.T) {
	const variable = "STEF_FREEPORT_PRINT"
	if os.Getenv(variable) != "" {
		for range 300 {
			fmt.Println("found", freeport.Address(t))
		}
		return
	}
	seen := map[string]bool{}
	for range 300 {
		seen[freeport.Address(t)] = true
	}
	command := exec.Command(os.Args[0], "-test.run=^TestOtherProcesses$")
	command.Env = append(os.Environ(), variable+"=1")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	found := 0
	for line := range strings.Lines(string(out)) {
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "found "); ok {
			require.False(t, seen[address], "%s was returned in two processes", address)
			found++
		}
	}
	require.Equal(t, 300, found)
}
