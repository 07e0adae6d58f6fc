// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
)

func TestLength(t *testing.T) {
	f := func(head [HeadBytes]byte, want int64, kind error) {
		t.Helper()
		n, err := Length(head)
		require.Equal(t, want, n)
		require.ErrorIs(t, err, kind)
	}
	f([4]byte{0, 0, 0, 1}, 1, nil)
	f([4]byte{4, 0, 0, 0}, MaxBytes, nil)
	f([4]byte{4, 0, 0, 1}, 0, stef.ErrLimit)
	f([4]byte{255, 255, 255, 255}, 0, stef.ErrLimit)
	f([4]byte{}, 0, stef.ErrCorrupt)
}
