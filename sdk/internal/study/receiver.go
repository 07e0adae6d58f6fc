// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package study

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
)

// Addresses are where the receivers listen.
type Addresses struct {
	GRPC    string // STEF and OTLP
	Delayed string // STEF and OTLP, with a round trip of 20 ms
	HTTP    string // OTLP
}

// Delay is the round trip to the delayed receiver.
const Delay = 20 * time.Millisecond

// Receive starts receivers that discard all telemetry. The gRPC receivers decode it first.
func Receive() (Addresses, error) {
	discard := func(otlpfile.Batch) error { return nil }
	server := grpc.NewServer(replay.Options()...)
	if _, err := replay.Register(server, discard); err != nil {
		return Addresses{}, err
	}
	listener, err1 := net.Listen("tcp", "127.0.0.1:0")
	web, err2 := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err1, err2); err != nil {
		return Addresses{}, err
	}
	proxy, err := netfault.NewProxy(netfault.Link{RoundTrip: Delay}, listener.Addr().String())
	if err != nil {
		return Addresses{}, err
	}
	go func() { _ = server.Serve(listener) }()
	go func() {
		_ = http.Serve(web, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/x-protobuf")
		}))
	}()
	return Addresses{listener.Addr().String(), proxy.Addr(), web.Addr().String()}, nil
}
