// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/otelstef/stef/internal/netfault"
)

// rawPeer is an HTTP/2 server without gRPC, so a test can send answers that are invalid in gRPC.
type rawPeer struct {
	*http2.Framer
	stream  uint32
	headers bytes.Buffer
	encoder *hpack.Encoder
}

// listenRaw starts a peer that calls answer at the end of each request.
func listenRaw(t *testing.T, answer func(*rawPeer) error) (addr string) {
	t.Helper()
	listener := listenTCP(t, "127.0.0.1:0")
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveRaw(conn, answer)
		}
	}()
	return listener.Addr().String()
}

func serveRaw(conn net.Conn, answer func(*rawPeer) error) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	p := &rawPeer{Framer: http2.NewFramer(conn, conn)}
	p.encoder = hpack.NewEncoder(&p.headers)
	if p.WriteSettings() != nil {
		return
	}
	for {
		frame, err := p.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = p.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if p.stream = f.StreamID; f.StreamEnded() {
				err = answer(p)
			}
		}
		if err != nil {
			return
		}
	}
}

// send sends headers. pairs are names and values.
func (p *rawPeer) send(end bool, pairs ...string) error {
	p.headers.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = p.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return p.WriteHeaders(http2.HeadersFrameParam{StreamID: p.stream, BlockFragment: p.headers.Bytes(), EndHeaders: true, EndStream: end})
}

func (p *rawPeer) begin() error {
	return p.send(false, ":status", "200", "content-type", "application/grpc")
}

// TestBrokenAnswers uses peers whose answers end without a gRPC status, as when a proxy or the server
// breaks. For such an answer the gRPC client creates a status itself, often INTERNAL. The peer has
// not refused the batch, so the batch may be sent again.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	f := func(text string, permanent bool, answer func(*rawPeer) error) {
		t.Helper()
		x := start(t, otlpConfig(listenRaw(t, answer)))
		err := x.send("a")
		require.ErrorContains(t, err, text)
		require.Equal(t, permanent, consumererror.IsPermanent(err), "%v", err)
	}
	reset := func(code http2.ErrCode) func(p *rawPeer) error {
		return func(p *rawPeer) error { return p.WriteRSTStream(p.stream, code) }
	}
	for _, code := range []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeProtocol, http2.ErrCodeInternal, http2.ErrCodeFlowControl, http2.ErrCodeStreamClosed,
		http2.ErrCodeFrameSize, http2.ErrCodeRefusedStream, http2.ErrCodeCancel, http2.ErrCodeConnect, http2.ErrCodeEnhanceYourCalm, http2.ErrCode(99)} {
		f("RST_STREAM", false, reset(code))
		f("RST_STREAM", false, func(p *rawPeer) error {
			if err := p.begin(); err != nil {
				return err
			}
			return reset(code)(p)
		})
	}
	f("RST_STREAM", true, reset(http2.ErrCodeInadequateSecurity)) // needs another configuration
	f("without sending trailers", false, func(p *rawPeer) error {
		if err := p.begin(); err != nil {
			return err
		}
		return p.WriteData(p.stream, true, nil)
	})
	for n := range 7 {
		text := "unexpected EOF"
		if n == 0 {
			text = "without sending trailers"
		}
		f(text, false, func(p *rawPeer) error {
			if err := p.begin(); err != nil {
				return err
			}
			return p.WriteData(p.stream, true, []byte{0, 0, 0, 0, 9, 1, 2, 3}[:n])
		})
	}
	// These peers sent a status, so the exporter uses its code.
	f("something else: unexpected EOF", true, func(p *rawPeer) error {
		return p.send(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "13", "grpc-message", "something else: unexpected EOF")
	})
	f("400", true, func(p *rawPeer) error { return p.send(true, ":status", "400", "content-type", "text/plain") })
	f("503", false, func(p *rawPeer) error { return p.send(true, ":status", "503", "content-type", "text/plain") })
}

// TestCutAnswers cuts the connection after each byte of the answer to an OTLP request. The peer has
// not refused the batch, so the error is not permanent.
func TestCutAnswers(t *testing.T) {
	t.Parallel()
	p := listen(t, &peer{}, "", false, true)
	proxy, err := netfault.NewProxy(netfault.Link{}, p.addr)
	require.NoError(t, err)
	defer proxy.Close()
	c := otlpConfig(proxy.Addr())
	c.TimeoutConfig.Timeout = 5 * time.Second
	x := start(t, c)
	cut := func(fault func()) bool {
		t.Helper()
		require.Eventually(t, func() bool { return x.send("connects") == nil }, time.Minute, time.Millisecond)
		fault()
		err := x.send("a")
		require.False(t, consumererror.IsPermanent(err), "%v", err)
		return err != nil
	}
	failed := 0
	for n := range int64(120) { // more bytes than an answer has
		if cut(func() { proxy.KillAfter(netfault.Down, n) }) {
			failed++
		}
	}
	require.Greater(t, failed, 20) // the others were cut before the request, or after the answer
	for _, direction := range []netfault.Direction{netfault.Up, netfault.Down, netfault.Both} {
		cut(func() { proxy.HalfClose(direction) })
	}
}
