// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Grant lets a reader read a number of bits beyond the end of its data, as zeros. TestGrant reads numbers
// of 4 bits beyond the end.
func TestGrant(t *testing.T) {
	f := func(data []byte, skip, grant uint, count int, want FaultCode) {
		t.Helper()
		var fault Fault
		var r BitReader
		r.Attach(&fault, 0)
		r.Reset(data)
		r.Grant(grant)
		r.Read(skip)
		for range count {
			v := r.Read(4)
			if fault.Code != FaultNone || r.Short() {
				require.Zero(t, v)
			}
		}
		require.Equal(t, want, fault.Code)
	}
	f([]byte{0x55}, 0, 0, 2, FaultNone)
	f([]byte{0x55}, 0, 0, 3, FaultEnd)
	f([]byte{0x55}, 0, 56, 2+14, FaultNone)
	f([]byte{0x55}, 0, 56, 2+15, FaultEnd)
	f([]byte{0x55}, 0, 3, 3, FaultEnd)
	f([]byte{0x54}, 2, 56, 1, FaultNone)
	f([]byte{0x54}, 6, 56, 1+13, FaultNone) // 00 and two bits that are missing
	f([]byte{0x55}, 6, 56, 1, FaultEnd)     // 01 and two bits that are missing
	f(make([]byte, 16), 0, 56, 32+14, FaultNone)
	f(make([]byte, 16), 0, 56, 32+15, FaultEnd)
}
