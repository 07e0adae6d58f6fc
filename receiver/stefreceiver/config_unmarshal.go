// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"errors"

	"go.opentelemetry.io/collector/confmap"

	"github.com/otelstef/stef/internal/confkeys"
)

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

// configKeys are the keys of this receiver. The hints are for keys of the OTLP receiver and of
// exporters.
var configKeys = confkeys.Keys{
	Sections: []confkeys.Section{
		confkeys.Of[Config](""),
		confkeys.Of[LimitsConfig]("limits"),
		confkeys.Of[AdmissionConfig]("admission"),
		confkeys.Of[TimeoutsConfig]("timeouts"),
		confkeys.Of[OTLPConfig]("otlp"),
	},
	Hints: map[string]string{
		"protocols": "this receiver serves STEF and OTLP over gRPC on one address: write the keys of protocols::grpc, such as endpoint, at the top level; for OTLP over HTTP add the otlp receiver",
		"grpc":      "write its keys, such as endpoint, at the top level",
		"http":      "this receiver has no HTTP: add the otlp receiver",

		"max_concurrent_streams": "for no maximum, remove it",

		"compression":     "remove it, the sender chooses the compression",
		"stef":            "remove it, the keys of the section stef of the exporter have no place here",
		"otlp::endpoint":  "remove it, OTLP is served at the address of endpoint at the top level",
		"tls::insecure":   "to listen without TLS, remove tls",
		"otlp::protocols": "remove it, OTLP over gRPC is served at the address of endpoint at the top level; for OTLP over HTTP add the otlp receiver",
	},
}

// Unmarshal reads the configuration. It reports keys that do not exist, and
// suggests the keys that may have been meant.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if err := configKeys.Read(conf.ToStringMap(), func() error { return conf.Unmarshal(c) }); err != nil {
		return err
	}
	return c.validateTLS()
}

// validateTLS rejects incomplete TLS settings, such as a certificate without its key, before
// the Collector's own checks do.
func (c *Config) validateTLS() error {
	if !c.ServerConfig.TLS.HasValue() {
		return nil
	}
	tls := c.ServerConfig.TLS.Get()
	return errors.Join(c.validateClientCA(), confkeys.KeyPair{
		Server: true,
		CAFile: tls.CAFile, CAPem: string(tls.CAPem), CertFile: tls.CertFile, CertPem: string(tls.CertPem), KeyFile: tls.KeyFile, KeyPem: string(tls.KeyPem),
	}.Validate())
}

// validateClientCA rejects certificate authorities that have no effect.
func (c *Config) validateClientCA() error {
	tls := c.ServerConfig.TLS
	if !tls.HasValue() || tls.Get().ClientCAFile != "" || tls.Get().CAFile == "" && tls.Get().CAPem == "" {
		return nil
	}
	return errors.New("tls::ca_file and tls::ca_pem have no effect in a receiver: set tls::client_ca_file to verify client certificates, or remove these keys")
}
