// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// withoutWaits removes the line that replay prints while the endpoint does not answer. On a busy
// machine, the answer of any endpoint may take that long.
func withoutWaits(stderr, address string) string {
	return strings.ReplaceAll(stderr, address+": no answer yet; waiting\n", "")
}

// If the endpoint cannot be reached over either protocol, replay soon says why it waits, and ends
// after its retries.
func TestReplayUnreachable(t *testing.T) {
	dir, recorded := folder(t)
	down := freeport.Address(t)
	f := func(want string, args ...string) {
		t.Helper()
		began := time.Now()
		code, _, stderr := run(nil, append([]string{"replay", "--rate", "max", "--retries", "1"}, append(args, recorded)...)...)
		require.Equal(t, cli.ExitIO, code, stderr)
		require.Contains(t, stderr, want)
		require.Less(t, time.Since(began), 10*time.Second)
	}
	f(down+": no STEF stream yet: connection refused (nothing listens there); trying again\n", "--protocol", "stef", "--endpoint", down)
	f(": no STEF stream: connection refused (nothing listens there); no batch was accepted\n", "--protocol", "stef", "--endpoint", down)
	f(down+": not accepted yet: connection refused (nothing listens there); trying again\n", "--endpoint", down)

	f("stef replay: "+down+": connection refused (nothing listens there); no batch was accepted\n", "--endpoint", down)

	// At the pace of the recording, replay reports the unreachable endpoint before it waits until
	// the first batch is due.
	slow := filepath.Join(dir, "slow.json")
	require.NoError(t, os.WriteFile(slow, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700003600000000000"}]}]}]}`), 0o666))
	for _, protocol := range []string{"stef", "otlp"} {
		code, _, stderr := run(nil, "replay", "--retries", "1", "--protocol", protocol, "--endpoint", down, slow)
		require.Equal(t, cli.ExitIO, code, stderr)
		require.Contains(t, stderr, down+": not accepted yet: connection refused (nothing listens there); trying again\n")
		require.Contains(t, stderr, down+": connection refused (nothing listens there); no batch was accepted\n")
		require.NotContains(t, stderr, "due in")
	}

	plain, interrupt, wait := recording(t, filepath.Join(dir, "rec-{signal}.stef"))
	for _, args := range [][]string{{"stef", "--rate", "max"}, {"otlp", "--rate", "max"}, {"stef"}, {"otlp"}} { // without --rate, replay connects first
		code, _, stderr := run(nil, append([]string{"replay", "--tls", "--endpoint", plain, recorded, "--protocol"}, args...)...)
		require.Equal(t, cli.ExitIO, code)
		require.Regexp(t, "^stef replay: "+plain+": (no STEF stream: )?the endpoint does not speak TLS .remove --tls, --ca, --cert and --key.; no batch was accepted\n$", withoutWaits(stderr, plain))
	}
	require.True(t, interrupt.Deliver())
	code, stderr := wait()
	require.Zero(t, code, stderr)
}

// If the endpoint ends after a part of the files, replay names the file and the batch, and
// counts the batches that were accepted.
func TestReplayEndsHalfway(t *testing.T) {
	_, recorded := folder(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(replay.Options()...)
	arrived := 0
	_, err = replay.Register(server, func(otlpfile.Batch) error {
		if arrived++; arrived > 5 {
			return errors.New("the disk is full")
		}
		return nil
	})
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	code, _, stderr := run(nil, "replay", "--rate", "max", "--retries", "0", "--in-flight", "1", "--endpoint", l.Addr().String(), recorded)
	require.Equal(t, cli.ExitIO, code, stderr)
	require.Regexp(t, `(?m)^sent [0-9,]+ items in 5 batches to `, stderr)
	require.Contains(t, stderr, "\nstef replay: "+l.Addr().String()+": batch 6 of "+recorded+": ")
}

// If the endpoint ends after a stream was open, replay says that the stream was lost.
func TestReplayLosesStream(t *testing.T) {
	_, recorded := folder(t)
	l, err := net.Listen("tcp", freeport.Address(t)) // so that nothing else listens there after the end of the server
	require.NoError(t, err)
	server := grpc.NewServer(replay.Options()...)
	arrived := 0
	_, err = replay.Register(server, func(otlpfile.Batch) error {
		if arrived++; arrived == 6 {
			server.Stop() // closes the connections and does not wait for this call
			return errors.New("the server ends")
		}
		return nil
	})
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	code, _, stderr := run(nil, "replay", "--protocol", "stef", "--rate", "max", "--retries", "2", "--in-flight", "1", "--endpoint", l.Addr().String(), recorded)
	require.Equal(t, cli.ExitIO, code, stderr)
	require.Contains(t, stderr, l.Addr().String()+": the STEF stream was lost: connection refused (nothing listens there); trying again\n")
	require.Contains(t, stderr, "\nstef replay: "+l.Addr().String()+": batch 6 of "+recorded+": the STEF stream was lost: connection refused (nothing listens there)\n")
	require.NotContains(t, stderr, "no STEF stream")
}

// A replay whose endpoint ends after the last batch does not try to reach it again.
func TestReplayEndsWithEndpoint(t *testing.T) {
	dir := t.TempDir()
	lines := filepath.Join(dir, "logs.json")
	record := `{"timeUnixNano":"1700000000000000000","body":{"stringValue":"a"}}`
	line := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + strings.Repeat(record+",", 99) + record + `]}]}]}` + "\n"
	require.NoError(t, os.WriteFile(lines, []byte(strings.Repeat(line, 3)), 0o666))
	address, _, wait := recording(t, "--items", "300", filepath.Join(dir, "rec-{signal}.stef"))
	_, stderr := mustRun(t, nil, "replay", "--protocol", "stef", "--rate", "200", "--endpoint", address, lines)
	require.Regexp(t, `^sent 300 items in 3 batches to [^\n]*\n$`, withoutWaits(stderr, address))
	code, stderr := wait()
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "\nlogs arrive; writing "+filepath.Join(dir, "rec-logs.stef")+"\n")
}

// If the endpoint does not accept a protocol, replay says how to choose the other protocol.
func TestReplayOtherProtocol(t *testing.T) {
	_, recorded := folder(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	f := func(want string, args ...string) {
		t.Helper()
		args = append([]string{"replay", "--rate", "max", "--retries", "0", "--endpoint", l.Addr().String()}, args...)
		code, _, stderr := run(nil, append(args, recorded)...)
		require.Equal(t, cli.ExitIO, code, stderr)
		require.Contains(t, stderr, want)
	}
	f(": the endpoint does not accept OTLP (for STEF add --protocol stef); no batch was accepted\n")
	f(": the endpoint does not accept STEF (for OTLP remove --protocol stef); no batch was accepted\n", "--protocol", "stef")
}

// If the endpoint speaks HTTP/1.1, as the ports of OTLP over HTTP and of metrics do, replay says
// so. If the answer is a text without an HTTP header, replay says that the endpoint does not
// speak HTTP/2.
func TestReplayHTTP(t *testing.T) {
	_, recorded := folder(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	page, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer page.Close()
	go func() {
		for {
			c, err := page.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Write([]byte("<!DOCTYPE HTML>\n<html lang=\"en\">\n"))
				_, _ = io.Copy(io.Discard, c) // closing before this would reset the connection
			}()
		}
	}()
	for _, protocol := range []string{"otlp", "stef"} {
		f := func(address, want string) {
			t.Helper()
			code, _, stderr := run(nil, "replay", "--rate", "max", "--protocol", protocol, "--endpoint", address, recorded)
			require.Equal(t, cli.ExitIO, code, stderr)
			require.Contains(t, stderr, want+" (check the port: 4317 is usual for OTLP and 4320 for STEF; 4318 is OTLP over HTTP)")
			require.NotContains(t, stderr, "--tls")
			require.NotContains(t, stderr, "trying again") // another attempt would fail, too
		}
		f(server.Listener.Addr().String(), "the endpoint speaks HTTP/1.1, not gRPC")
		f(page.Addr().String(), "the endpoint does not speak HTTP/2, and so not gRPC")
	}
}

// If an endpoint accepts connections and does not answer, replay says so and ends.
func TestReplaySilent(t *testing.T) {
	_, recorded := folder(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	address := silent.Addr().String()
	code, _, stderr := run(nil, "replay", "--rate", "max", "--retries", "0", "--protocol", "stef", "--endpoint", address, recorded)
	require.Equal(t, cli.ExitIO, code, stderr)
	require.Contains(t, stderr, address+": no answer yet; waiting\n")
	require.Contains(t, stderr, "did not answer within 5s")
}

// If an endpoint does not answer batches, for example because its queue is full, replay prints one
// line with the number of these batches, over both protocols. The summary prints a low rate with
// decimals.
func TestReplayUnanswered(t *testing.T) {
	dir, _ := folder(t)
	var files []string
	for _, name := range []string{"a.json", "b.json"} {
		files = append(files, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(files[len(files)-1], []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}`), 0o666))
	}
	// unanswered runs replay. It calls answer when replay has printed the text.
	unanswered := func(t *testing.T, text string, answer func(), args ...string) (code int, stderr string) {
		t.Helper()
		var errs lines
		exit := make(chan int, 1)
		go func() { exit <- cli.Run(append([]string{"replay", "--rate", "max"}, args...), cli.Env{Stderr: &errs}) }()
		require.Eventually(t, func() bool { return strings.Contains(errs.String(), text) }, time.Minute, 10*time.Millisecond)
		answer()
		return <-exit, errs.String()
	}
	for _, protocol := range []string{"otlp", "stef"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			g := grpc.NewServer(replay.Options()...)
			waits := make(chan struct{})
			server, err := replay.Register(g, func(otlpfile.Batch) error {
				<-waits
				return nil
			})
			require.NoError(t, err)
			go g.Serve(listener)
			defer g.Stop()
			defer server.Shutdown(t.Context())
			address := listener.Addr().String()
			code, stderr := unanswered(t, " have no answer", func() { close(waits) }, append([]string{"--protocol", protocol, "--endpoint", address}, files...)...)
			require.Zero(t, code, stderr)
			require.Regexp(t, "^"+address+`: 2 batches have no answer, the oldest for \d+s; waiting \(the queue of the endpoint may be full, .*\)\n`+
				`sent 2 items in 2 batches to `+address+` over `+protocol+` in .* s: 0\.\d+ items a second\n$`, withoutWaits(stderr, address))
		})
	}
	// An interrupt ends the wait.
	t.Run("interrupt", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		g := grpc.NewServer(replay.Options()...)
		interrupt, ended := new(cli.Interrupt), make(chan struct{})
		server, err := replay.Register(g, func(otlpfile.Batch) error {
			interrupt.Deliver()
			<-ended
			return nil
		})
		require.NoError(t, err)
		go g.Serve(listener)
		defer g.Stop()
		defer server.Shutdown(t.Context())
		defer close(ended)
		var errs lines
		args := []string{"replay", "--rate", "max", "--protocol", "stef", "--endpoint", listener.Addr().String(), files[0]}
		require.Equal(t, cli.ExitInterrupted, cli.Run(args, cli.Env{Stderr: &errs, Interrupt: interrupt}))
		require.Equal(t, listener.Addr().String()+" accepted no items\nstef replay: interrupted\n", withoutWaits(errs.String(), listener.Addr().String()))
	})
	// This endpoint accepts connections and sends nothing.
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer silent.Close()
		address := silent.Addr().String()
		code, stderr := unanswered(t, ": no answer yet; waiting", func() { silent.Close() }, "--retries", "0", "--endpoint", address, files[0])
		require.Equal(t, cli.ExitIO, code, stderr)
		require.Regexp(t, "^"+address+": no answer yet; waiting\nstef replay: ", stderr)
	})
}

// certificate writes a self-signed certificate for the loopback address, and its key, into a
// folder.
func certificate(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	return certFile, keyFile
}

// replay sends to endpoints with TLS that want a certificate of the client, and says what is
// missing.
func TestReplayTLS(t *testing.T) {
	dir, recorded := folder(t)
	serverCert, serverKey := certificate(t, dir, "server")
	clientCert, clientKey := certificate(t, dir, "client")
	otherCert, otherKey := certificate(t, dir, "other")
	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	require.NoError(t, err)
	authorities := x509.NewCertPool()
	text, err := os.ReadFile(clientCert)
	require.NoError(t, err)
	require.True(t, authorities.AppendCertsFromPEM(text))
	creds := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: authorities, ClientAuth: tls.RequireAndVerifyClientCert})
	server := grpc.NewServer(append(replay.Options(), grpc.Creds(creds))...)
	_, err = replay.Register(server, func(otlpfile.Batch) error { return nil })
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()

	f := func(code int, want string, args ...string) {
		t.Helper()
		for _, protocol := range []string{"otlp", "stef"} {
			all := append([]string{"replay", "--rate", "max", "--retries", "1", "--protocol", protocol, "--endpoint", l.Addr().String()}, args...)
			got, _, stderr := run(nil, append(all, recorded)...)
			require.Equal(t, code, got, stderr)
			require.Contains(t, stderr, want)
		}
	}
	f(0, "sent ", "--ca", serverCert, "--cert", clientCert, "--key", clientKey)
	f(cli.ExitIO, "certificate of the client", "--ca", serverCert)
	f(cli.ExitIO, "add --cert and --key)", "--tls", "--ca", serverCert)
	f(cli.ExitIO, "the endpoint closed the connection (it may not accept the certificate: check --cert and --key)", "--ca", serverCert, "--cert", otherCert, "--key", otherKey)
	f(cli.ExitIO, "the endpoint closed the connection (it may expect TLS: add --tls)")
	f(cli.ExitIO, "certificate signed by unknown authority (name the authority with --ca)", "--cert", clientCert, "--key", clientKey)
	f(cli.ExitUsage, "--cert and --key belong together: give both", "--ca", serverCert, "--cert", clientCert)
	f(cli.ExitIO, "none.crt", "--cert", filepath.Join(dir, "none.crt"), "--key", clientKey)
	f(cli.ExitData, "client.crt: with --key "+otherKey, "--cert", clientCert, "--key", otherKey)
}

// Without --new-ids, every run of replay sends the same ids in the same round. With --new-ids, each
// run sends other ids.
func TestReplayIDs(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "one.json")
	require.NoError(t, os.WriteFile(in, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","name":"a","startTimeUnixNano":"1"}]}]}]}`), 0o666))
	ids := func(args ...string) []string {
		t.Helper()
		out := filepath.Join(t.TempDir(), "rec-{signal}.stef")
		address, _, wait := recording(t, "--items", "2", out)
		mustRun(t, nil, append([]string{"replay", "--rate", "max", "--rounds", "2", "--endpoint", address, in}, args...)...)
		code, stderr := wait()
		require.Zero(t, code, stderr)
		records, _ := mustRun(t, nil, "cat", strings.ReplaceAll(out, "{signal}", "traces"))
		return regexp.MustCompile(`"(trace_id|span_id)":"[^"]+"`).FindAllString(records, -1)
	}
	first := ids()
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(first))), 4)
	require.Equal(t, first, ids())
	fresh := append(append(first, ids("--new-ids")...), ids("--new-ids")...)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(fresh))), 12)
}

// If an endpoint accepts a batch and closes connections later, replay does not suggest that the
// endpoint requires TLS.
func TestReplayClosedAfterBatches(t *testing.T) {
	_, recorded := folder(t)
	l, err := net.Listen("tcp", freeport.Address(t))
	require.NoError(t, err)
	server := grpc.NewServer(replay.Options()...)
	arrived := 0
	_, err = replay.Register(server, func(otlpfile.Batch) error {
		if arrived++; arrived < 3 {
			return nil
		}
		server.Stop() // closes the connections and does not wait for this call
		l, err := net.Listen("tcp", l.Addr().String())
		if err != nil {
			return err // the replay reports that nothing listens, and the test fails
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close() // the client may have written nothing, its preface, or its settings
			}
		}()
		return nil
	})
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	code, _, stderr := run(nil, "replay", "--rate", "max", "--retries", "4", "--in-flight", "1", "--endpoint", l.Addr().String(), recorded)
	require.Equal(t, cli.ExitIO, code, stderr)
	require.Contains(t, stderr, ": the endpoint closed the connection")
	require.NotContains(t, stderr, "TLS")
}

// rejecting is an OTLP endpoint that rejects one span of each request.
type rejecting struct {
	ptraceotlp.UnimplementedGRPCServer
}

func (*rejecting) Export(context.Context, ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	answer := ptraceotlp.NewExportResponse()
	answer.PartialSuccess().SetRejectedSpans(1)
	return answer, nil
}

// If the endpoint permanently rejects items, replay sends the others and exits with 4.
func TestReplayRejected(t *testing.T) {
	dir, _ := folder(t)
	in := filepath.Join(dir, "spans.json")
	batch := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"},{"name":"b"},{"name":"c"}]}]}]}` + "\n"
	require.NoError(t, os.WriteFile(in, []byte(batch+batch), 0o666))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(g, &rejecting{})
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(otelstef.SpansCompactRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			n := r.Stats().Records
			if r.Record().Span().Name() == "b" {
				s.Reject(n, n)
			}
			s.AckUpTo(n)
		}
		return r.Err()
	})))
	server.Register(g)
	go g.Serve(l)
	defer g.Stop()
	defer server.Shutdown(t.Context())
	for _, protocol := range []string{"otlp", "stef"} {
		code, _, stderr := run(nil, "replay", "--rate", "max", "--protocol", protocol, "--endpoint", l.Addr().String(), in)
		require.Equal(t, cli.ExitLost, code, stderr)
		require.Contains(t, stderr, "sent 6 items in 2 batches")
		require.True(t, strings.HasSuffix(stderr, "\nthe endpoint permanently rejected 2 of them\n"), stderr)
	}
}

// An item that STEF cannot hold is an error of the file. The error does not say that no batch was
// accepted, because the other items of the batch arrive.
func TestReplayUnencodable(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "spans.json"), filepath.Join(dir, "rec-{signal}.stef")
	many := strings.Repeat(`{"key":"k"},`, stef.MaxPairs) + `{"key":"k"}`
	require.NoError(t, os.WriteFile(in, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"},{"name":"b","attributes":[`+many+`]}]}]}]}`), 0o666))
	address, interrupt, wait := recording(t, out)
	code, _, stderr := run(nil, "replay", "--rate", "max", "--protocol", "stef", "--endpoint", address, in)
	require.Equal(t, cli.ExitData, code, stderr)
	require.True(t, strings.HasPrefix(stderr, "stef replay: "+in+": batch 1: 1 item was not written"), stderr)
	require.True(t, strings.HasSuffix(stderr, "; the other items of the batch arrived; the replay ends here: use stef convert --skip to omit such items\n"), stderr)
	require.True(t, interrupt.Deliver())
	_, recorded := wait()
	require.Contains(t, recorded, "1 span\n")
}
