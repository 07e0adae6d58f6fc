// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package freeport finds ports for servers whose address must be known before they listen, for
// example because it is in the configuration of another process.
//
// A server that can choose its port itself listens on port 0 and needs no such search.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports from first to last are below those that systems choose for clients and for port 0 (from
// 32768 on Linux, from 49152 elsewhere). So between the search and the start of the server, and while
// a test restarts the server, no connection of this machine uses the port.
const first, last = 20_000, 31_999

// reserved has a UDP socket for each address that Find has returned. UDP has ports of its own, so the
// socket does not hinder a server that listens with TCP. It tells this and other processes, such as
// the tests of other packages, that the port is in use although nothing listens there at the moment.
// It is closed when the process ends.
var reserved struct {
	sync.Mutex
	sockets []net.PacketConn
}

// Find returns an address of the loopback interface on which nothing listens. No other call returns
// it while this process runs, in this process or another. The error says why the last of 1,000 ports
// could not be used.
func Find() (string, error) {
	var reason error
	for range 1_000 {
		address := pick()
		if reason = reserve(address); reason == nil {
			return address, nil
		}
	}
	return "", fmt.Errorf("no unused port: %w", reason)
}

func reserve(address string) error {
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	if err := l.Close(); err != nil {
		return errors.Join(err, socket.Close())
	}
	reserved.Lock()
	defer reserved.Unlock()
	reserved.sockets = append(reserved.sockets, socket)
	return nil
}

func pick() string {
	return fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(last-first+1))
}

// Address is Find for tests and benchmarks: t fails if there is no unused port.
func Address(t interface {
	Helper()
	Fatal(args ...any)
}) string {
	t.Helper()
	address, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
