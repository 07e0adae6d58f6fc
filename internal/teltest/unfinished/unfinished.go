// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package unfinished plays a client that begins messages of gRPC and does not finish them,
// for tests of what servers hold for such clients.
package unfinished

import (
	"bytes"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// MessageBytes is the length of the messages that begin.
	MessageBytes = 60 << 20
	partBytes    = 16 << 10 // the largest frame that every server accepts
)

// Begin opens streams of a method on a connection, such as /STEFDestination/Stream. On
// each it begins a message and sends at least a number of bytes of it, a frame for each
// stream in turn. It ignores what the server sends. The error is that of the connection:
// the server may have closed it.
func Begin(conn net.Conn, method string, streams, bytesEach int) error {
	headers, err := headersOf(method)
	if err != nil {
		return err
	}
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return err
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		return err
	}
	go func() {
		for {
			if _, err := framer.ReadFrame(); err != nil {
				return
			}
		}
	}()
	// A message begins with a prefix: 0 for no compression, then its length in 4 bytes. Each
	// part begins with the prefix, although only the first one needs it.
	part := make([]byte, partBytes)
	copy(part, []byte{0, MessageBytes >> 24, MessageBytes >> 16 & 0xff, MessageBytes >> 8 & 0xff, MessageBytes & 0xff})
	for sent := 0; sent < bytesEach; sent += len(part) {
		for i := range streams {
			stream := uint32(2*i + 1)
			if sent == 0 {
				if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers, EndHeaders: true}); err != nil {
					return err
				}
			}
			if err := framer.WriteData(stream, false, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// headersOf returns the headers with which a client of gRPC calls a method.
func headersOf(method string) ([]byte, error) {
	var out bytes.Buffer
	e := hpack.NewEncoder(&out)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "x"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
