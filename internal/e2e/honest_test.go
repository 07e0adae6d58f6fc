// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// These environment variables select what the test program does instead of running tests. honestEnv
// makes the program an honest client of a Collector; backendEnv makes it a backend that does not
// decode the received data; attackerEnv selects the attack of TestAttacker. Client and backend are
// separate processes, so that other work of the test program does not delay them.
const (
	honestEnv   = "STEF_E2E_HONEST"
	backendEnv  = "STEF_E2E_BACKEND"
	attackerEnv = "STEF_E2E_ATTACKER"
)

func TestMain(m *testing.M) {
	var err error
	if address := os.Getenv(honestEnv); address != "" {
		err = sendHonestly(address)
	} else if address := os.Getenv(backendEnv); address != "" {
		err = discard(address)
	} else {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// honestPause is the time from an acknowledgement to the next batch of the honest client.
const honestPause = 10 * time.Millisecond

// sendHonestly sends batches. It waits for the acknowledgement of each batch, prints how long this
// took, and pauses for honestPause. Like an exporter it uses one stream, and opens a new stream
// when the Collector ends the old one.
func sendHonestly(address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	client, err := stefgrpc.NewClient(conn)
	for began := time.Now(); err == nil; {
		began, err = sendOnStream(client, began)
	}
	return errors.Join(err, conn.Close())
}

// sendOnStream sends batches until the Collector ends the stream. began is the time from which
// the latency of the first batch counts. sendOnStream returns this time for the first batch of
// the next stream.
func sendOnStream(client *stefgrpc.Client, began time.Time) (time.Time, error) {
	stream, err := client.Open(context.Background(), otelstef.MetricsRoot())
	if err != nil {
		return began, err
	}
	defer stream.Close()
	w, err := otelstef.NewMetricsWriter(stream, stream.WriterOptions()...)
	if err != nil {
		return began, err
	}
	encoder := stefpdata.NewMetricsEncoder(w)
	md := pmetric.NewMetrics()
	m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("honest")
	point := m.SetEmptyGauge().DataPoints().AppendEmpty()
	for i := int64(0); ; i++ {
		point.SetIntValue(i)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err := errors.Join(encoder.Encode(md), w.Flush(), stream.AwaitAll(ctx))
		expired := ctx.Err()
		cancel()
		if err != nil {
			fmt.Fprintln(os.Stderr, "a stream of the honest client ended:", err)
			return began, expired
		}
		if _, err := fmt.Println(time.Since(began).Nanoseconds()); err != nil {
			return began, err
		}
		time.Sleep(honestPause)
		began = time.Now()
	}
}

// noCodec ignores the bytes of messages that it receives, and sends empty messages.
type noCodec struct{}

func (noCodec) Name() string                         { return "proto" }
func (noCodec) Marshal(any) (mem.BufferSlice, error) { return nil, nil }
func (noCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

type noGzip struct{ encoding.Compressor }

func (noGzip) Decompress(io.Reader) (io.Reader, error) { return bytes.NewReader(nil), nil }

// discard serves OTLP at an address. It accepts all requests and does not decode them.
func discard(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	encoding.RegisterCompressor(noGzip{encoding.GetCompressor(gzip.Name)})
	return grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.ForceServerCodecV2(noCodec{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			if err := stream.RecvMsg(nil); err != nil {
				return err
			}
			return stream.SendMsg(nil)
		})).Serve(l)
}

// again returns a command that runs the test program, or the given command, with an environment
// variable. The process of the command is killed when the test ends.
func again(t *testing.T, variable string, command ...string) *exec.Cmd {
	if command == nil {
		command = []string{os.Args[0]}
	}
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), variable)
	c.Stderr = os.Stderr
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

func startBackend(t *testing.T) string {
	to := address(t)
	require.NoError(t, again(t, backendEnv+"="+to).Start())
	return to
}

type honestClient struct {
	mu   sync.Mutex
	took []time.Duration
	err  error // set when the process has ended
}

func startHonest(t *testing.T, address string) *honestClient {
	h := &honestClient{}
	c := again(t, honestEnv+"="+address)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	go func() {
		err := errors.New("the honest client has ended")
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			n, bad := strconv.ParseInt(lines.Text(), 10, 64)
			err = errors.Join(err, bad)
			h.mu.Lock()
			h.took = append(h.took, time.Duration(n))
			h.mu.Unlock()
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.err = err
	}()
	return h
}

// take returns the latencies of the batches since the last call.
func (h *honestClient) take(t *testing.T) []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	require.NoError(t, h.err)
	took := h.took
	h.took = nil
	return took
}

func (h *honestClient) await(t *testing.T, n int) (took []time.Duration) {
	for begin := time.Now(); len(took) < n; time.Sleep(honestPause) {
		took = append(took, h.take(t)...)
		require.Less(t, time.Since(begin), time.Minute, "%d of %d batches", len(took), n)
	}
	return took
}

func p99(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)*99/100]
}
