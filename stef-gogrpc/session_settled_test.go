// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-gogrpc"
)

func TestSettled(t *testing.T) {
	f := func(records, acknowledged, delivered, rejected uint64, ranges ...stefgrpc.IDRange) {
		t.Helper()
		e := &stefgrpc.UnsentError{Acknowledged: acknowledged, Rejected: ranges}
		gotDelivered, gotRejected := e.Settled(records)
		require.Equal(t, []uint64{delivered, rejected}, []uint64{gotDelivered, gotRejected})
	}
	f(10, 0, 0, 0)
	f(10, 6, 6, 0)
	f(10, 6, 4, 2, stefgrpc.IDRange{From: 2, To: 3})
	f(10, 6, 5, 3, stefgrpc.IDRange{From: 6, To: 8}) // two bad records follow the acknowledged records
	f(10, 6, 6, 1, stefgrpc.IDRange{From: 9, To: 9})
	f(4, 6, 4, 0, stefgrpc.IDRange{From: 6, To: 6}) // more records are answered than the batch has
}
