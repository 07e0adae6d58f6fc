// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// Old senders put the scopes of a resource into its field 1000. Encoders read this field if the
// resource has no other scopes, as pdata does for requests. If there are others, field 1000 counts as
// an unknown field.
func TestOldScopes(t *testing.T) {
	old := func(content ...[]byte) []byte {
		return append([]byte{0xc2, 0x3e}, field(0, content...)[1:]...) // the tag of field 1000
	}
	wrong := []byte{0x0c} // the end of a group
	items := map[string][]byte{"metrics": gauge(point()), "traces": field(5, text("name")), "logs": field(3, text("INFO"))}
	mw, err := otelstef.NewMetricsWriter(io.Discard)
	require.NoError(t, err)
	sw, err := otelstef.NewSpansWriter(io.Discard)
	require.NoError(t, err)
	lw, err := otelstef.NewLogsWriter(io.Discard)
	require.NoError(t, err)
	newEncoder := map[string]func() lossy{
		"metrics": func() lossy { return stefotlp.NewMetricsEncoder(mw) },
		"traces":  func() lossy { return stefotlp.NewTracesEncoder(sw) },
		"logs":    func() lossy { return stefotlp.NewLogsEncoder(lw) },
	}
	for _, s := range signals {
		f := func(omitted int, want stefotlp.Losses, resource ...[]byte) {
			t.Helper()
			b := field(1, resource...)
			e := newEncoder[s.name]()
			err := e.EncodeOTLP(b)
			require.Equal(t, want, e.Losses())
			if omitted > 0 {
				var left stefotlp.ItemErrors
				require.ErrorAs(t, err, &left)
				require.Equal(t, omitted, left.Items())
				return
			}
			require.NoError(t, err)
			viaPdata, err := s.encodePdata(t, b)
			require.NoError(t, err)
			got, err := s.encode(t, b)
			require.NoError(t, err)
			s.records(t, viaPdata, got)
		}
		item := field(2, items[s.name])
		named := field(1, field(1, text("scope")))
		resource := field(1, field(1, attribute("k", "v")))
		f(0, stefotlp.Losses{}, old(named, item))
		f(0, stefotlp.Losses{}, resource, old(named, item), old(item, item))
		f(0, stefotlp.Losses{UnknownFields: 2}, old(item), field(2, named, item), old(item))
		f(0, stefotlp.Losses{UnknownFields: 1}, field(2, item, old(item)))
		f(0, stefotlp.Losses{EmptyContainers: 1}, resource, old(named))
		f(3, stefotlp.Losses{}, field(1, field(1, wrong)), old(item), old(item, item))
		damaged := map[string][]byte{"metrics": gauge(field(1, wrong)), "traces": wrong, "logs": wrong}
		f(1, stefotlp.Losses{}, old(item), old(item, field(2, damaged[s.name])))
	}
}
