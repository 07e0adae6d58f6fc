// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package unfinished implements a client that begins gRPC messages and does not finish them.
// Tests use it to check how much memory servers hold for such clients.
package unfinished

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// MessageBytes is the length that each message announces.
	MessageBytes = 60 << 20
	partBytes    = 16 << 10 // the largest frame that every server accepts
)

// stalled is how long Begin waits for a server that reads no more data.
const stalled = 2 * time.Second

// ErrStalled is the error of Begin if the server reads no more data.
var ErrStalled = errors.New("unfinished: the server reads no more data")

// Begin opens streams of a method, such as /STEFDestination/Stream, on a connection. On each
// stream it begins a message and sends at least bytesEach bytes of the message. It sends one
// frame per stream in turn. It never sends more bytes than the windows of the server allow,
// because a server closes such connections. The error is ErrStalled, or the error of the
// connection, which the server may have closed.
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
	w := newWindows()
	go w.read(framer)
	// A message begins with a prefix: 0 for no compression, then its length in 4 bytes. Each
	// part begins with this prefix, although only the first part of a message needs it.
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
			if err := w.take(stream, len(part)); err != nil {
				return err
			}
			if err := framer.WriteData(stream, false, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// windows counts the bytes that the server allows the client to send: on the connection, which
// is stream 0, and on each stream.
type windows struct {
	mu      sync.Mutex
	initial int            // of a stream
	granted map[uint32]int // bytes of later window updates minus the bytes that were sent
	err     error          // of the connection
	change  chan struct{}  // has an element after a change
}

const initialWindow = 1<<16 - 1 // RFC 9113, section 6.9.2

func newWindows() *windows {
	return &windows{initial: initialWindow, granted: map[uint32]int{0: initialWindow}, change: make(chan struct{}, 1)}
}

// read reads the frames of the server until the connection ends.
func (w *windows) read(framer *http2.Framer) {
	for {
		frame, err := framer.ReadFrame()
		w.mu.Lock()
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
				w.initial = int(size)
			}
		case *http2.WindowUpdateFrame:
			w.granted[f.StreamID] += int(f.Increment)
		}
		w.err = err
		w.mu.Unlock()
		select {
		case w.change <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// take waits until n bytes may be sent on a stream.
func (w *windows) take(stream uint32, n int) error {
	for {
		w.mu.Lock()
		err := w.err
		ok := w.granted[0] >= n && w.initial+w.granted[stream] >= n
		if ok {
			w.granted[0] -= n
			w.granted[stream] -= n
		}
		w.mu.Unlock()
		if err != nil || ok {
			return err
		}
		select {
		case <-w.change:
		case <-time.After(stalled):
			return ErrStalled
		}
	}
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
