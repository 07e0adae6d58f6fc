// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
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
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// certificate returns a self-signed certificate for the loopback address, and its
// key, as PEM.
func certificate(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: fmt.Sprintf("backend %d", serial)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// TestTLSRotation: the backend gets another certificate while it runs, and ends
// connections after a second. Streams move to new connections that use the new
// certificate, and no data is lost.
func TestTLSRotation(t *testing.T) {
	t.Parallel()
	binary(t)
	dir := t.TempDir()
	certFile, keyFile, caFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")
	cert, key := certificate(t, 1)
	next, nextKey := certificate(t, 2)
	write := func(name string, data []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(name+".new", data, 0o600))
		require.NoError(t, os.Rename(name+".new", name))
	}
	write(certFile, cert)
	write(keyFile, key)
	write(caFile, bytes.Join([][]byte{cert, next}, nil))
	p := newPairWith(t,
		fmt.Sprintf("\n    tls: {cert_file: %s, key_file: %s, reload_interval: 100ms}\n"+
			"    keepalive: {server_parameters: {max_connection_age: 1s, max_connection_age_grace: 10s}}", certFile, keyFile),
		fmt.Sprintf("    tls: {ca_file: %s}", caFile))
	l := startLoad(t, p.entry, perSecond, clients)
	time.Sleep(phase())
	write(certFile, next)
	write(keyFile, nextKey)
	opened := p.network.Opened()
	time.Sleep(phase() + 2*time.Second)
	require.Eventually(t, func() bool { return p.network.Opened() > opened }, time.Minute, 10*time.Millisecond, "streams must move to new connections")
	p.settle(t, l)
}

// authority issues certificates for the loopback address into files.
type authority struct {
	ca, cert, key string // paths of the files
	pool          *x509.CertPool
	root          *x509.Certificate
	private       *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, dir string) *authority {
	t.Helper()
	a := &authority{ca: filepath.Join(dir, "ca.pem"), cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), pool: x509.NewCertPool()}
	var err error
	a.private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a.root = &x509.Certificate{
		SerialNumber:          big.NewInt(1 << 40),
		Subject:               pkix.Name{CommonName: "authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(48 * time.Hour),
		IsCA:                  true,
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.root, a.root, a.private.Public(), a.private)
	require.NoError(t, err)
	a.root, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.pool.AddCert(a.root)
	require.NoError(t, os.WriteFile(a.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return a
}

// issue replaces the certificate and its key. The key stays the same for all certificates: a
// process that reads the two files while only one of them is replaced gets a valid pair.
func (a *authority) issue(t *testing.T, serial int64) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: fmt.Sprintf("backend %d", serial)},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(48 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, a.private.Public(), a.private)
	require.NoError(t, err)
	private, err := x509.MarshalECPrivateKey(a.private)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(a.key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
	require.NoError(t, os.WriteFile(a.cert+".new", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.Rename(a.cert+".new", a.cert))
}
