// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

// flipper is a TCP proxy. On the way to the target, it flips one bit of the first byte
// after mark.
type flipper struct {
	mark    []byte
	flipped atomic.Bool
}

// flippingWriter forwards the bytes of one connection, and flips one bit of the byte after the mark.
type flippingWriter struct {
	*flipper
	to   io.Writer
	seen int // how many bytes of the mark directly precede the next byte
}

func (w *flippingWriter) Write(p []byte) (int, error) {
	p = bytes.Clone(p)
	for i, b := range p {
		switch {
		case w.seen == len(w.mark):
			if w.seen = 0; w.flipped.CompareAndSwap(false, true) {
				p[i] ^= 0x10
			}
		case b == w.mark[w.seen]:
			w.seen++
		default:
			w.seen = 0
		}
	}
	return w.to.Write(p)
}

// start listens until the test ends and returns the address.
func (f *flipper) start(t *testing.T, target string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			forward := func(to io.Writer, from io.Reader) {
				_, _ = io.Copy(to, from)
				client.Close()
				server.Close()
			}
			running.Go(func() { forward(&flippingWriter{flipper: f, to: server}, client) })
			running.Go(func() { forward(client, server) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// TestChecksums changes a byte between the exporter and the receiver. Without
// checksums, the receiver accepts the changed text. With checksums, it detects the
// change and does not deliver the changed text. The next batch arrives.
func TestChecksums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, 600) // random bytes, which do not compress
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	batch := func(body []byte) plog.Logs {
		ld := plog.NewLogs()
		ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetEmptyBytes().FromRaw(body)
		return ld
	}
	ctx := context.Background()
	for _, checksums := range []bool{false, true} {
		t.Run(map[bool]string{false: "without", true: "with"}[checksums], func(t *testing.T) {
			addr := freeport.Address(t)
			var mu sync.Mutex
			var got [][]byte
			telemetry := componenttest.NewTelemetry()
			defer func() { require.NoError(t, telemetry.Shutdown(ctx)) }()
			settings := receivertest.NewNopSettings(stefreceiver.NewFactory().Type())
			settings.TelemetrySettings = telemetry.NewTelemetrySettings()
			r, err := logKind.receiver(ctx, stefreceiver.NewFactory(), settings, receiverConfig(t, addr, ""), func(_ context.Context, ld plog.Logs) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Bytes().AsRaw())
				return nil
			})
			require.NoError(t, err)
			require.NoError(t, r.Start(ctx, componenttest.NewNopHost()))
			defer func() { require.NoError(t, r.Shutdown(ctx)) }()

			f := &flipper{mark: body[200:216]}
			x, push, err := logKind.exporter(ctx, stefexporter.NewFactory(), exportertest.NewNopSettings(stefexporter.NewFactory().Type()),
				exporterConfig(f.start(t, addr), func(c *stefexporter.Config) { c.Stef.Checksums = checksums }))
			require.NoError(t, err)
			require.NoError(t, x.Start(ctx, componenttest.NewNopHost()))
			defer func() { require.NoError(t, x.Shutdown(ctx)) }()

			changed := bytes.Clone(body)
			changed[216] ^= 0x10
			err = push(ctx, batch(body))
			require.True(t, f.flipped.Load())
			wants := [][]byte{changed, []byte("after")}
			if checksums {
				require.ErrorContains(t, err, "corrupt")
				require.True(t, consumererror.IsPermanent(err))
				require.Eventually(t, func() bool {
					return valueOf(t, telemetry, "otelcol_receiver_stef_streams_closed", "reason", "invalid") == 1
				}, time.Minute, 10*time.Millisecond)
				wants = wants[1:]
			} else {
				require.NoError(t, err)
			}
			require.NoError(t, push(ctx, batch([]byte("after"))))
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, wants, got)
		})
	}
}
