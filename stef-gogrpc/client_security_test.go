// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/otelstef/stef/stef-go/otelstef"
)

type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.key, a.cert = a.sign("authority", nil)
	return a
}

// sign creates a certificate. The first certificate of an authority is self-signed.
func (a *authority) sign(name string, usage []x509.ExtKeyUsage) (*ecdsa.PrivateKey, *x509.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		DNSNames:              []string{name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           usage,
		BasicConstraintsValid: true,
		IsCA:                  usage == nil,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return key, cert
}

func (a *authority) pair(name string, usage x509.ExtKeyUsage) tls.Certificate {
	key, cert := a.sign(name, []x509.ExtKeyUsage{usage})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// token is the credential that a client sends with each stream.
type token string

func (s token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(s)}, nil
}

func (token) RequireTransportSecurity() bool { return true }

// TestSecurity: programs set TLS with certificates of both ends, credentials for each stream, and
// interceptors as options of gRPC. All of these work with streams of this package.
func TestSecurity(t *testing.T) {
	a := newAuthority(t)
	var intercepted atomic.Int32
	intercept := func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		intercepted.Add(1)
		md, _ := metadata.FromIncomingContext(stream.Context())
		if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer open sesame" {
			return status.Error(codes.Unauthenticated, "who are you?")
		}
		return handler(srv, stream)
	}
	caller := make(chan string, 10)
	serve := func(stream grpc.ServerStream) error {
		p, _ := peer.FromContext(stream.Context())
		caller <- p.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].Subject.CommonName
		return gather(stream, func([]byte, int) error { return stream.SendMsg(ackOf(1)) })
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{a.pair("server", x509.ExtKeyUsageServerAuth)},
		ClientCAs:    a.pool(),
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}
	dial := serveTLS(t, serve, grpc.Creds(credentials.NewTLS(config)), grpc.StreamInterceptor(intercept))

	f := func(wants Kind, secret token, certs ...tls.Certificate) {
		t.Helper()
		var streams atomic.Int32
		count := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			streamer grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			streams.Add(1)
			require.Equal(t, StreamMethod, method)
			return streamer(ctx, desc, cc, method, options...)
		}
		conn := dial(&tls.Config{RootCAs: a.pool(), ServerName: "server", Certificates: certs},
			grpc.WithChainStreamInterceptor(count))
		client, err := NewClient(conn, WithCallOptions(grpc.PerRPCCredentials(secret)))
		require.NoError(t, err)
		s, err := client.Open(within(t), otelstef.MetricsRoot())
		require.EqualValues(t, 1, streams.Load())
		if wants != KindUnknown {
			require.Equal(t, wants, FromStatus(err).Kind, "%v", err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, "client", <-caller)
		_, err = s.WriteRecords([]byte("frame"), 1)
		require.NoError(t, err)
		require.NoError(t, s.AwaitAll(within(t)))
		require.Equal(t, "tls", s.Peer().AuthInfo.AuthType())
		require.NoError(t, s.Drain(within(t)))
	}
	own := a.pair("client", x509.ExtKeyUsageClientAuth)
	f(KindUnknown, "open sesame", own) // the server returns no error
	f(KindAuth, "please", own)
	f(KindUnavailable, "open sesame")
	f(KindUnavailable, "open sesame", newAuthority(t).pair("client", x509.ExtKeyUsageClientAuth))
	require.EqualValues(t, 2, intercepted.Load())
}

// serveTLS starts a server and returns the function that connects to it.
func serveTLS(t *testing.T, serve func(grpc.ServerStream) error, options ...grpc.ServerOption) func(*tls.Config, ...grpc.DialOption) *grpc.ClientConn {
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreTopFunction("testing.(*T).Run")) })
	listener := bufconn.Listen(1 << 20)
	g := grpc.NewServer(options...)
	plainServer{serve}.register(g)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		<-served
	})
	return func(config *tls.Config, options ...grpc.DialOption) *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///stef", append(options,
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
			grpc.WithTransportCredentials(credentials.NewTLS(config)))...)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
}

// TestClientTarget: if gRPC can never reach a target, NewClient returns an error. Callers do not
// retry NewClient.
func TestClientTarget(t *testing.T) {
	f := func(want, target string, options ...grpc.DialOption) {
		t.Helper()
		conn, err := grpc.NewClient(target, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		require.NoError(t, err)
		defer conn.Close()
		_, err = NewClient(conn)
		if want == "" {
			require.NoError(t, err)
			return
		}
		if want == "import" {
			require.EqualError(t, err, "stefgrpc: NewClient: the target \""+target+"\" has a scheme that gRPC does not know: import the package of its resolver")
			return
		}
		require.EqualError(t, err, "stefgrpc: NewClient: the target \""+target+"\" has a scheme that gRPC does not know: use \""+want+"\", and select TLS by the credentials of the connection, not by the scheme")
	}
	f("localhost:4320", "http://localhost:4320")
	f("localhost:4320", "https://localhost:4320/v1/metrics")
	f("host", "grpc://host")
	f("import", "xds:///host")
	f("", "localhost:4320")
	f("", "dns:///localhost:4320")
	f("", "dns://8.8.8.8/localhost:4320")
	f("", "passthrough:///http://localhost:4320") // the caller's own dialer may accept this
	f("", "unix:///run/stef.sock")
	f("", "own://host", grpc.WithResolvers(manual.NewBuilderWithScheme("own")))
}
