// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Between returns an error for a number outside of a range. hint is further advice, or "". The
// message does not name a maximum of math.MaxInt32 or more, because such a maximum only prevents
// overflows. For sizes the message names the unit, because a number that is too large is often in
// bytes.
func Between(key string, value, least, most int, hint string) error {
	if value >= least && value <= most {
		return nil
	}
	if most >= math.MaxInt32 {
		if value > most {
			return fmt.Errorf("%s is %d, which is too large: set it to a smaller number%s", key, value, advice(hint))
		}
		return AtLeast(key, value, least, hint)
	}
	inUnit := ""
	if unit, _ := unitOf(key); unit != "" && value > most {
		inUnit = advice("the unit is " + unit)
	}
	return fmt.Errorf("%s is %d: set it to a number from %d to %d%s%s", key, value, least, most, inUnit, advice(hint))
}

// unitOf returns the unit in the name of a key, KiB or MiB, and the number of bytes of this unit. It
// returns "" if the name has no such unit.
func unitOf(key string) (unit string, bytes int64) {
	switch {
	case strings.Contains(key, "_kib"):
		return "KiB", 1 << 10
	case strings.Contains(key, "_mib"):
		return "MiB", 1 << 20
	}
	return "", 0
}

// sizeWithUnit matches sizes such as 64MiB, 1 GiB and 64MB.
var sizeWithUnit = regexp.MustCompile(`^([0-9]{1,9}) ?([KMG])i?B$`)

// withoutSizeUnit returns an example of the number to write instead of a size with a unit, or "" if
// there is no such number. It reads MB as MiB.
func withoutSizeUnit(key, text string) string {
	_, bytes := unitOf(key)
	m := sizeWithUnit.FindStringSubmatch(text)
	if bytes == 0 || m == nil {
		return ""
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // at most 9 digits
	n <<= 10 * (strings.Index("KMG", m[2]) + 1)
	if n%bytes != 0 {
		return ""
	}
	return ", such as " + strconv.FormatInt(n/bytes, 10)
}

// AtLeast returns an error for a number below least.
func AtLeast(key string, value, least int, hint string) error {
	if value >= least {
		return nil
	}
	return fmt.Errorf("%s is %d: set it to %d or more%s", key, value, least, advice(hint))
}

// OneOf returns an error for a value that is not allowed. The message does not list
// the empty value.
func OneOf[T ~string](key string, value T, allowed ...T) error {
	var texts []string
	for _, a := range allowed {
		if value == a {
			return nil
		}
		if a != "" {
			texts = append(texts, string(a))
		}
	}
	last := len(texts) - 1
	return fmt.Errorf("%s is %q: set it to %s or %s", key, string(value), strings.Join(texts[:last], ", "), texts[last])
}

// Duration returns an error for a duration outside of a range, or without a unit.
func Duration(key string, value, least, most time.Duration, hint string) error {
	if err := WithUnit(key, value); err != nil || value >= least && value <= most {
		return err
	}
	return fmt.Errorf("%s is %s: set it to a duration from %s to %s%s", key, value, least, most, advice(hint))
}

// DurationAtLeast returns an error for a duration that is too short or has no unit.
func DurationAtLeast(key string, value, shortest time.Duration, hint string) error {
	if err := WithUnit(key, value); err != nil || value >= shortest {
		return err
	}
	return fmt.Errorf("%s is %s: set it to %s or more%s", key, value, shortest, advice(hint))
}

// ZeroOr returns an error for a duration that has no unit, or that is too short. The duration
// 0 is valid; meaning describes its effect in the error, such as "for no limit".
func ZeroOr(key string, value, shortest time.Duration, meaning, hint string) error {
	if err := WithUnit(key, value); err != nil || value == 0 || value >= shortest {
		return err
	}
	return fmt.Errorf("%s is %s: set it to 0 %s, or to %s or more%s", key, value, meaning, shortest, advice(hint))
}

// WithUnit rejects positive durations below a microsecond. They were probably written without a
// unit: the Collector reads such numbers as nanoseconds.
func WithUnit(key string, value time.Duration) error {
	if value > 0 && value < time.Microsecond {
		return fmt.Errorf("%s is %s: write it with another unit, such as %ds or %dms", key, value, value, value)
	}
	return nil
}

// withoutUnit returns an error for a number where a duration is expected.
func withoutUnit(key string, value int64) error {
	if value < 1000 {
		return fmt.Errorf("%s is %d without a unit: write %ds or %dms", key, value, value, value)
	}
	return fmt.Errorf("%s is %d without a unit: write %dms", key, value, value)
}

// KeyPair holds the values of the section tls: the certificate, its private key, and the
// certificate authorities.
type KeyPair struct {
	CAFile, CAPem, CertFile, CertPem, KeyFile, KeyPem string
	// Server is set for servers, which need a certificate.
	Server bool
}

// Validate rejects the same values as the Collector's own check. The errors of that check name neither
// the keys nor their place in the configuration.
func (p KeyPair) Validate() error {
	for _, pair := range [][4]string{
		{p.CAFile, p.CAPem, "ca_file", "ca_pem"},
		{p.CertFile, p.CertPem, "cert_file", "cert_pem"},
		{p.KeyFile, p.KeyPem, "key_file", "key_pem"},
	} {
		if pair[0] != "" && pair[1] != "" {
			return fmt.Errorf("tls::%s and tls::%s are both set: remove one", pair[2], pair[3])
		}
	}
	cert, key := p.CertFile+p.CertPem != "", p.KeyFile+p.KeyPem != ""
	switch {
	case cert && !key:
		return errors.New("tls::key_file is missing: set it to the key of the certificate in cert_file")
	case key && !cert:
		return errors.New("tls::cert_file is missing: set it to the certificate of the key in key_file")
	case p.Server && !cert:
		return errors.New("tls::cert_file and tls::key_file are missing: set both, or remove tls to listen without TLS")
	}
	return nil
}

// Retries rejects intervals of retry_on_failure that were written without a unit.
func Retries(initial, highest, elapsed time.Duration) error {
	return errors.Join(
		WithUnit("retry_on_failure::initial_interval", initial),
		WithUnit("retry_on_failure::max_interval", highest),
		WithUnit("retry_on_failure::max_elapsed_time", elapsed),
	)
}

func advice(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

// Authenticator returns an error if name is empty: the section auth exists, but names no extension.
func Authenticator(name string) error {
	if name != "" {
		return nil
	}
	return errors.New("auth has no authenticator: set auth::authenticator to the name of an extension, or remove auth")
}

// IPv6Example returns what to write instead of an IPv6 address that has no port or no brackets, or "" for
// other addresses. Without brackets, the port looks like a part of the address. standard is the port of
// the example if the address has none.
func IPv6Example(address, standard string) string {
	if i := strings.LastIndexByte(address, ':'); i >= 0 && strings.Contains(address[:i], ":") && net.ParseIP(address[:i]) != nil {
		if port, err := strconv.ParseUint(address[i+1:], 10, 16); err == nil && port > 0 {
			return net.JoinHostPort(address[:i], address[i+1:])
		}
	}
	if host := strings.Trim(address, "[]"); strings.Contains(host, ":") && net.ParseIP(host) != nil {
		return net.JoinHostPort(host, standard)
	}
	return ""
}
