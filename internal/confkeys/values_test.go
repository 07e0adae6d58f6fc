// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestValues(t *testing.T) {
	f := func(want string, err error) {
		t.Helper()
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, want)
	}
	f("", Between("n", 1, 1, 2, ""))
	f("", Between("n", 2, 1, 2, ""))
	f("n is 0: set it to a number from 1 to 2", Between("n", 0, 1, 2, ""))
	f("n is 3: set it to a number from 1 to 2; the default is 1", Between("n", 3, 1, 2, "the default is 1"))
	f("a_mib is 67108864: set it to a number from 1 to 2; the unit is MiB", Between("a_mib", 64<<20, 1, 2, ""))
	f("a_mib_per_stream is 3: set it to a number from 1 to 2; the unit is MiB; the default is 1", Between("a_mib_per_stream", 3, 1, 2, "the default is 1"))
	f("a_kib is 3: set it to a number from 1 to 2; the unit is KiB", Between("a_kib", 3, 1, 2, ""))
	f("a_mib is 0: set it to a number from 1 to 2", Between("a_mib", 0, 1, 2, ""))
	f("n is -1: set it to 0 or more; 0 means no bound", Between("n", -1, 0, math.MaxInt32, "0 means no bound"))
	if math.MaxInt > math.MaxInt32 {
		f("n is 9223372036854775807, which is too large: set it to a smaller number", Between("n", math.MaxInt, 0, math.MaxInt/2, ""))
	}
	f("", AtLeast("n", 1, 1, ""))
	f("n is 0: set it to 1 or more; the default is 1", AtLeast("n", 0, 1, "the default is 1"))
	f("", OneOf("level", "", "low", "middle", "high", ""))
	f(`level is "": set it to low or high`, OneOf("level", "", "low", "high"))
	f(`level is "none": set it to low, middle or high`, OneOf("level", "none", "low", "middle", "high", ""))
	f("", Duration("d", 0, 0, time.Second, ""))
	f("d is 5ns: write it with another unit, such as 5s or 5ms", Duration("d", 5, 0, time.Second, ""))
	f("d is 2s: set it to a duration from 0s to 1s; the default is 1s", Duration("d", 2*time.Second, 0, time.Second, "the default is 1s"))
	f("", DurationAtLeast("d", time.Second, time.Second, ""))
	f("d is 1ms: set it to 1s or more", DurationAtLeast("d", time.Millisecond, time.Second, ""))
	f("", ZeroOr("d", 0, time.Second, "for no limit", ""))
	f("", ZeroOr("d", time.Second, time.Second, "for no limit", ""))
	f("d is 1ms: set it to 0 for no limit, or to 1s or more; the default is 0", ZeroOr("d", time.Millisecond, time.Second, "for no limit", "the default is 0"))
	f("", KeyPair{}.Validate())
	f("", KeyPair{CertFile: "a", KeyPem: "b", Server: true}.Validate())
	f("tls::key_file is missing: set it to the key of the certificate in cert_file", KeyPair{CertFile: "a"}.Validate())
	f("tls::cert_file is missing: set it to the certificate of the key in key_file", KeyPair{KeyFile: "a"}.Validate())
	f("tls::cert_file and tls::key_file are missing: set both, or remove tls to listen without TLS", KeyPair{Server: true}.Validate())
	f("tls::ca_file and tls::ca_pem are both set: remove one", KeyPair{CAFile: "a", CAPem: "b"}.Validate())
	f("tls::key_file and tls::key_pem are both set: remove one", KeyPair{CertFile: "a", KeyFile: "a", KeyPem: "b"}.Validate())
	f("", Retries(time.Second, time.Minute, 0))
	f("retry_on_failure::max_interval is 30ns: write it with another unit, such as 30s or 30ms", Retries(time.Second, 30, 0))
}

func TestWithoutSizeUnit(t *testing.T) {
	for text, want := range map[string]string{
		"64MiB": ", such as 64", "64 MiB": ", such as 64", "64MB": ", such as 64", "1GiB": ", such as 1024", "2048KiB": ", such as 2",
		"999999999GiB": ", such as 1023999998976",
		"64KiB":        "", "64": "", "MiB": "", "-1MiB": "", "1.5MiB": "", "9999999999MiB": "", "1TiB": "",
	} {
		require.Equal(t, want, withoutSizeUnit("limits::a_mib", text), text)
	}
	require.Equal(t, ", such as 1024", withoutSizeUnit("a_kib", "1MiB"))
	require.Empty(t, withoutSizeUnit("queue_size", "64MiB"))
}
