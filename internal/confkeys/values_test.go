// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
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
	f("", AtLeast("n", 1, 1, ""))
	f("n is 0: set it to 1 or more; the default is 1", AtLeast("n", 0, 1, "the default is 1"))
	f("", OneOf("level", "", "low", "middle", "high", ""))
	f(`level is "": set it to low or high`, OneOf("level", "", "low", "high"))
	f(`level is "none": set it to low, middle or high`, OneOf("level", "none", "low", "middle", "high", ""))
	f("", Duration("d", 0, 0, time.Second, ""))
	f("d is 5ns: write it with a unit, such as 5s or 5ms", Duration("d", 5, 0, time.Second, ""))
	f("d is 2s: set it to a duration from 0s to 1s; the default is 1s", Duration("d", 2*time.Second, 0, time.Second, "the default is 1s"))
	f("", DurationAtLeast("d", time.Second, time.Second, ""))
	f("d is 1ms: set it to 1s or more", DurationAtLeast("d", time.Millisecond, time.Second, ""))
	f("", ZeroOr("d", 0, time.Second, "for no limit", ""))
	f("", ZeroOr("d", time.Second, time.Second, "for no limit", ""))
	f("d is 1ms: set it to 0 for no limit, or to 1s or more; the default is 0", ZeroOr("d", time.Millisecond, time.Second, "for no limit", "the default is 0"))
	f("", Retries(time.Second, time.Minute, 0))
	f("retry_on_failure::max_interval is 30ns: write it with a unit, such as 30s or 30ms", Retries(time.Second, 30, 0))
}
