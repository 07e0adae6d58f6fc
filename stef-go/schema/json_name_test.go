// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/schema"
)

func TestJSONName(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		require.Equal(t, want, (&schema.Field{Name: name}).JSONName())
		require.Equal(t, "before "+want, string((&schema.Field{Name: name}).AppendJSONName([]byte("before "))))
	}
	f("HistogramBounds", "histogram_bounds")
	f("SchemaURL", "schema_url")
	f("IDKeys", "id_keys")
	f("Int64", "int64")
	f("KVList", "kvlist")
	f("UserID", "user_id")
	f("userId", "user_id")
	f("user_id", "user_id")
	f("User_ID", "user__id")
	f("GrößeÄÖÜb", "größe_äö_üb")
}
