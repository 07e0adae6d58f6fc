// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"

	"github.com/otelstef/stef/internal/grpcheader"
	stef "github.com/otelstef/stef/stef-go"
)

// These are the prefixes of the variables. Variables of STEF have precedence over variables of
// OTLP. With the same prefix, the variable of a signal has precedence over the variable for all
// signals.
const (
	prefixSTEF = "OTEL_EXPORTER_STEF_"
	prefixOTLP = "OTEL_EXPORTER_OTLP_"
)

// env reads environment variables. As the specification requires, invalid values are
// reported and ignored, not fatal.
//
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
type env struct {
	signal   Signal
	problems []error
	target   variable // the address, if gRPC does not know its scheme
}

type variable struct{ name, value string }

// lookup returns the first variable that is set and not empty. It also reads variables
// of OTLP if otlp is true.
func (e *env) lookup(name string, otlp bool) (value, variable string) {
	if value, variable = e.lookupIn(prefixSTEF, name); value == "" && otlp {
		return e.lookupIn(prefixOTLP, name)
	}
	return value, variable
}

func (e *env) lookupIn(prefix, name string) (value, variable string) {
	for _, variable := range []string{prefix + strings.ToUpper(string(e.signal)) + "_" + name, prefix + name} {
		if value := strings.TrimSpace(os.Getenv(variable)); value != "" {
			return value, variable
		}
	}
	return "", ""
}

func (e *env) ignore(variable, value, want string) {
	e.problems = append(e.problems, fmt.Errorf("%s is %q and is ignored: set it to %s", variable, value, want))
}

// report sends the problems to the error handler of the SDK.
func (e *env) report() {
	if err := errors.Join(e.problems...); err != nil {
		otel.Handle(fmt.Errorf("stef: %w", err))
	}
}

func (e *env) endpoint(c *Endpoint) {
	e.bool("INSECURE", true, &c.Plain)
	c.Insecure = c.Plain
	e.address(c)
	if v, name := e.lookup("HEADERS", true); v != "" {
		c.Headers = e.headers(v, name)
	}
	e.milliseconds("TIMEOUT", true, &c.Timeout)
	e.milliseconds("STREAM_LIFETIME", false, &c.StreamLifetime)
	e.bool("OTLP_FALLBACK", false, &c.OTLP)
	switch v, name := e.lookupIn(prefixOTLP, "COMPRESSION"); v { // the compression of OTLP requests
	case "", "none":
	case "gzip":
		c.OTLPCompressor = v
	default:
		e.ignore(name, v, "gzip or none")
	}
	e.stream(&c.Stream)
}

func (e *env) stream(s *Stream) {
	if v, name := e.lookup("COMPRESSION", false); v != "" {
		switch v {
		case "zstd":
			s.Choose(stef.Zstd)
		case "none":
			s.Choose(stef.None)
		default:
			e.ignore(name, v, "zstd or none")
		}
	}
	if v, name := e.lookup("COMPRESSION_LEVEL", false); v != "" {
		level, err := stef.ParseLevel(v)
		if err != nil {
			e.ignore(name, v, "fastest, default, better, best or auto")
			return
		}
		s.Level = level
	}
}

// address reads the address. A variable of OTLP sets the address only if the protocol variable
// of OTLP is grpc or is not set.
func (e *env) address(c *Endpoint) {
	v, name := e.lookup("ENDPOINT", true)
	if v == "" {
		return
	}
	if strings.HasPrefix(name, prefixOTLP) {
		if protocol, which := e.lookupIn(prefixOTLP, "PROTOCOL"); protocol != "" && protocol != "grpc" {
			e.problems = append(e.problems, fmt.Errorf("%s is ignored, because %s is %s: set %sENDPOINT to the address for gRPC", name, which, protocol, prefixSTEF))
			return
		}
	}
	if err := SetURL(c, v); err != nil {
		e.ignore(name, v, anURL)
	} else if scheme, _, ok := strings.Cut(c.Target, "://"); ok && resolver.Get(strings.ToLower(scheme)) == nil {
		e.target = variable{name, v}
	}
}

const anURL = "a URL such as http://localhost:4320"

// checkTarget ignores an address whose scheme gRPC does not know. Call it after the options: they may set
// another address, a connection, or dial options with the resolver of the scheme.
func (e *env) checkTarget(c *Endpoint) {
	if e.target.name == "" || c.Target != e.target.value || c.Conn != nil || len(c.DialOptions) > 0 {
		return
	}
	e.ignore(e.target.name, e.target.value, anURL)
	c.SetTarget(DefaultTarget)
}

// SetURL sets the target to a URL, or to host:port. The schemes http and unix mean no transport
// security, and https means transport security. Other schemes are those of name resolvers of gRPC and
// mean neither.
func SetURL(c *Endpoint, text string) error {
	if !strings.Contains(text, "://") && !strings.HasPrefix(text, "unix:") {
		c.SetTarget(text)
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return fmt.Errorf("the URL %q has no host", text)
		}
		c.Target, c.Insecure = u.Host, strings.EqualFold(u.Scheme, "http")
	case "unix":
		c.Target, c.Insecure = text, true
	default:
		c.SetTarget(text)
	}
	return nil
}

func (e *env) bool(name string, otlp bool, to *bool) {
	value, variable := e.lookup(name, otlp)
	switch strings.ToLower(value) {
	case "":
	case "true":
		*to = true
	case "false":
		*to = false
	default:
		e.ignore(variable, value, "true or false")
	}
}

func (e *env) milliseconds(name string, otlp bool, to *time.Duration) {
	value, variable := e.lookup(name, otlp)
	if value == "" {
		return
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 || n > int64(24*time.Hour/time.Millisecond) {
		e.ignore(variable, value, "a number of milliseconds above 0, at most a day")
		return
	}
	*to = time.Duration(n) * time.Millisecond
}

// headers parses key=value pairs that are separated by commas. The values are percent-encoded.
func (e *env) headers(value, name string) map[string]string {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, text, ok := strings.Cut(pair, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		text, err := url.PathUnescape(strings.TrimSpace(text))
		if !ok || err != nil || CheckHeader(key, text) != nil {
			// The value may be a secret, so the report shows only the part that is certainly a key.
			shown := key + "=…"
			if end := strings.IndexAny(key, ": "); !ok {
				shown = "…"
			} else if end >= 0 {
				shown = key[:end] + "…"
			}
			want := "key=value pairs, separated by commas"
			if grpcheader.Reserved(key) {
				want += ", without headers that gRPC reserves"
			}
			e.ignore(name, shown, want)
			continue
		}
		headers[key] = text
	}
	return headers
}

// CheckHeader returns an error for a header that does not arrive over gRPC. The value may be a
// secret, so the error does not repeat it.
func CheckHeader(key, value string) error {
	if strings.EqualFold(key, "user-agent") {
		return fmt.Errorf("the header %q is not valid, because gRPC sets it: use WithDialOption(grpc.WithUserAgent(...))", key)
	}
	return grpcheader.Check(key, value)
}

// credentials returns transport security with the certificates of the environment. A
// certificate that cannot be read is an error: without this certificate the
// identity of the peer would not be verified.
func (e *env) credentials() (credentials.TransportCredentials, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if path, name := e.lookup("CERTIFICATE", true); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM form", name, path)
		}
	}
	cert, name := e.lookup("CLIENT_CERTIFICATE", true)
	key, keyName := e.lookup("CLIENT_KEY", true)
	switch {
	case cert != "" && key == "":
		return nil, fmt.Errorf("%s is set without CLIENT_KEY: set both", name)
	case cert == "" && key != "":
		return nil, fmt.Errorf("%s is set without CLIENT_CERTIFICATE: set both", keyName)
	case cert != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}
