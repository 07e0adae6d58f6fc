// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configtls"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
)

// authority signs certificates and stores them in files.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.issue(t, "ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name+".pem") }

// issue writes a certificate and its key. The first certificate is that of the authority itself.
func (a *authority) issue(t *testing.T, name string, template *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(path, kind string, data []byte) {
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
	}
	write(a.file(name), "CERTIFICATE", der)
	write(a.file(name+"-key"), "PRIVATE KEY", private)
	if a.cert == nil {
		a.cert, err = x509.ParseCertificate(der)
		require.NoError(t, err)
		a.key = key
	}
}

// maxClauses is the maximum number of parts of an error before its advice.
const maxClauses = 4

// requirePlain requires that an error names the endpoint. Before the endpoint, the error must have
// at most maxClauses parts and no text of gRPC.
func requirePlain(t *testing.T, err error, endpoint string) {
	t.Helper()
	what, _, ok := strings.Cut(err.Error(), " (endpoint "+endpoint+": ")
	require.True(t, ok, "no endpoint: %v", err)
	require.LessOrEqual(t, strings.Count(what, ": ")+1, maxClauses, what)
	for _, word := range []string{"rpc error", "desc =", "transport:", "stefgrpc:"} {
		require.NotContains(t, what, word)
	}
	t.Log(err)
}

// TestTLS checks the errors for typical mistakes. Such mistakes happen when different people
// configure the two ends of a connection.
func TestTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	ours.issue(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	ours.issue(t, "elsewhere", &x509.Certificate{DNSNames: []string{"elsewhere.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	ours.issue(t, "client", &x509.Certificate{Subject: pkix.Name{CommonName: "agent"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	ours.issue(t, "expired", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(-time.Minute), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})

	serving := func(name, more string) string {
		return fmt.Sprintf("tls: {cert_file: %s, key_file: %s %s}", ours.file(name), ours.file(name+"-key"), more)
	}
	f := func(name, receiver string, tls func(c *configtls.ClientConfig), want string) {
		for _, protocol := range protocols {
			t.Run(name+" by "+string(protocol), func(t *testing.T) {
				t.Parallel()
				addr := freeport.Address(t)
				s := newSink(&logKind)
				startReceiver(t, &logKind, receiverConfig(t, addr, receiver), s)
				x := startExporter(t, &logKind, exporterConfig(addr, func(c *stefexporter.Config) {
					c.Protocol = protocol
					if want != "" {
						c.TimeoutConfig.Timeout = 400 * time.Millisecond
					}
					c.ClientConfig.TLS.Insecure = false
					tls(&c.ClientConfig.TLS)
				}))
				err := x.send("a")
				if want == "" {
					require.NoError(t, err)
					require.True(t, s.has("a"))
					return
				}
				// The peer may close the connection before the reason has arrived. Then
				// gRPC waits a second or more before it connects again.
				for began := time.Now(); time.Since(began) < time.Minute; err = x.send("a") {
					if err != nil && strings.Contains(err.Error(), want) {
						requirePlain(t, err, addr)
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
				require.ErrorContains(t, err, want)
			})
		}
	}
	f("none at the receiver", "", func(*configtls.ClientConfig) {}, "set tls::insecure to true")
	f("none at the exporter", serving("server", ""), func(c *configtls.ClientConfig) { c.Insecure = true }, "the peer may expect TLS: configure tls")
	f("another authority", serving("server", ""), func(c *configtls.ClientConfig) { c.CAFile = theirs.file("ca") }, "set tls::ca_file")
	f("a certificate that expired", serving("expired", ""), func(c *configtls.ClientConfig) { c.CAFile = ours.file("ca") }, "renew the peer's certificate")
	f("another name", serving("elsewhere", ""), func(c *configtls.ClientConfig) { c.CAFile = ours.file("ca") }, "tls::server_name_override")
	f("no client certificate", serving("server", ", client_ca_file: "+ours.file("ca")),
		func(c *configtls.ClientConfig) { c.CAFile = ours.file("ca") }, "set tls::cert_file and tls::key_file")
	f("all is well", serving("server", ""), func(c *configtls.ClientConfig) { c.CAFile = ours.file("ca") }, "")
	f("the other name is wanted", serving("elsewhere", ""), func(c *configtls.ClientConfig) {
		c.CAFile = ours.file("ca")
		c.ServerName = "elsewhere.example"
	}, "")
	f("both have certificates", serving("server", ", client_ca_file: "+ours.file("ca")), func(c *configtls.ClientConfig) {
		c.CAFile = ours.file("ca")
		c.CertFile = ours.file("client")
		c.KeyFile = ours.file("client-key")
	}, "")
}
