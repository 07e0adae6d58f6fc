// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	grpcmetadata "google.golang.org/grpc/metadata"
)

func contextOf(md map[string][]string) context.Context {
	return client.NewContext(context.Background(), client.Info{Metadata: client.NewMetadata(md)})
}

func TestIdentityNames(t *testing.T) {
	x := newIdentities([]string{"Tenant", "zone"})
	seen := map[string]bool{}
	for _, md := range []map[string][]string{
		nil,
		{"tenant": {""}},
		{"tenant": {"a"}},
		{"zone": {"a"}},
		{"tenant": {"a", "b"}},
		{"tenant": {"a b"}},
		{"tenant": {`a" "b`}},
		{"tenant": {"a"}, "zone": {"b"}},
		{"tenant": {"a\n1 \"b\""}},
	} {
		id, name := x.of(contextOf(md))
		require.False(t, seen[name], name)
		seen[name] = true
		require.Len(t, id.headers, len(md))
		for key, values := range md {
			require.Equal(t, values, id.headers[key])
			require.Equal(t, values, client.FromContext(id.context(context.Background())).Metadata.Get(key)[:len(values)])
		}
	}
	_, one := x.of(contextOf(map[string][]string{"TENANT": {"a"}, "other": {"x"}}))
	_, two := x.of(contextOf(map[string][]string{"tenant": {"a"}}))
	require.Equal(t, one, two)
}

// TestIdentities checks that each tenant has its own stream, with the headers of this tenant.
func TestIdentities(t *testing.T) {
	p := listen(t, &peer{}, "", true, false)
	c := testConfig(p.addr)
	c.MetadataKeys = []string{"Tenant"}
	c.MetadataCardinalityLimit = 3
	x := start(t, c)
	for _, tenant := range []string{"a", "b", "a", "b", "b"} {
		require.NoError(t, x.ConsumeTraces(contextOf(map[string][]string{"tenant": {tenant}, "other": {"x"}}), spans(tenant)))
	}
	require.NoError(t, x.send("without"))

	err := x.ConsumeTraces(contextOf(map[string][]string{"tenant": {"d"}}), spans("d", "d"))
	require.True(t, consumererror.IsPermanent(err))
	require.ErrorContains(t, err, "raise metadata_cardinality_limit")
	dropped(t, x, map[string]int64{dropIdentities: 2})
	require.NoError(t, x.ConsumeTraces(contextOf(map[string][]string{"tenant": {"a"}}), spans("a")), "a known tenant keeps its route")

	p.mu.Lock()
	defer p.mu.Unlock()
	var tenants []string
	for _, md := range p.streams {
		require.Empty(t, md.Get("other"))
		tenants = append(tenants, append(md.Get("tenant"), "")[0])
	}
	require.ElementsMatch(t, []string{"a", "b", ""}, tenants)
	require.Len(t, p.bySTEF, 7)
}

// TestIdentitiesByOTLP checks that each OTLP request contains the headers of its tenant.
func TestIdentitiesByOTLP(t *testing.T) {
	var tenants []string
	p := listen(t, &peer{onRequest: func(ctx context.Context, _ ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		md, _ := grpcmetadata.FromIncomingContext(ctx)
		tenants = append(tenants, md.Get("tenant")...)
		return ptraceotlp.ExportResponse{}, nil
	}}, "", false, true)
	c := testConfig(p.addr) // the peer has no STEF, so the exporter falls back to OTLP
	c.MetadataKeys = []string{"tenant"}
	x := start(t, c)
	for _, tenant := range []string{"a", "b", "a"} {
		require.NoError(t, x.ConsumeTraces(contextOf(map[string][]string{"tenant": {tenant}}), spans(tenant)))
	}
	require.Equal(t, []string{"a", "b", "a"}, tenants)
}

// TestIdentityIsNoHeader uses metadata that gRPC cannot send as a header. With either protocol,
// batches with such metadata are dropped immediately, and no stream is opened for them. Otherwise
// they would wait for a stream and occupy the consumers of the queue.
func TestIdentityIsNoHeader(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolAuto, ProtocolSTEF, ProtocolOTLP} {
		p := listen(t, &peer{}, "", true, true)
		c := testConfig(p.addr)
		c.Protocol = protocol
		c.TimeoutConfig.Timeout = time.Hour
		c.MetadataKeys = []string{"tenant", "raw-bin", "x!y"}
		c.MetadataCardinalityLimit = 1
		x := start(t, c)
		for _, md := range []map[string][]string{{"tenant": {"ok", "zürich"}}, {"tenant": {"a\tb"}}, {"tenant": {"\xff"}}, {"x!y": {"a"}}} {
			err := x.ConsumeTraces(contextOf(md), spans("a"))
			require.True(t, consumererror.IsPermanent(err))
			require.ErrorContains(t, err, "cannot be sent as a header")
			require.NotContains(t, err.Error(), "rich", "values may be secrets")
		}
		dropped(t, x, map[string]int64{dropPermanent: 4})
		require.NoError(t, x.ConsumeTraces(contextOf(map[string][]string{"tenant": {" ~"}, "raw-bin": {"zürich\x00"}}), spans("b")))
	}
}
