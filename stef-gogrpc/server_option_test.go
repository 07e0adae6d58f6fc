// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

func TestServerOptions(t *testing.T) {
	f := func(want string, option ServerOption) {
		t.Helper()
		_, err := NewServer(option)
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.ErrorContains(t, err, want)
	}
	f("", WithMaxChunkBytes(1))
	f("WithMaxChunkBytes(0)", WithMaxChunkBytes(0))
	f("", WithMaxStreams(0))
	f("WithMaxStreams(-1)", WithMaxStreams(-1))
	f("", WithMaxBufferedBytes(1))
	f("WithMaxBufferedBytes(0)", WithMaxBufferedBytes(0))
	f("", WithAckInterval(0))
	f("WithAckInterval(-1ns)", WithAckInterval(-1))
	f("", WithMaxDictBytes(0))
	f("", WithMaxDictBytes(maxDictLimit))
	f("WithMaxDictBytes(-1)", WithMaxDictBytes(-1))
	f(fmt.Sprintf("must be at most %d", maxDictLimit), WithMaxDictBytes(maxDictLimit+1))
	f("", WithMaxStreamLifetime(0))
	f("WithMaxStreamLifetime(-1ns)", WithMaxStreamLifetime(-1))
	f("", WithWindowMemoryBytes(0))
	f("WithWindowMemoryBytes(-1)", WithWindowMemoryBytes(-1))
	f("WithOnPanic", WithOnPanic(nil))
}

func TestReaderOptions(t *testing.T) {
	require.Empty(t, readerOptions(0))
	for _, limit := range []int{1, DefaultMaxDictBytes, maxDictLimit} {
		limits := steftest.ReaderLimits(t, readerOptions(limit)...)
		want := stef.DefaultLimits()
		want.DictBytes = 2*limit + want.RecordBytes
		require.Equal(t, want, limits)
	}
}

type registrar struct{ services []string }

func (r *registrar) RegisterService(d *grpc.ServiceDesc, server any) {
	if _, ok := server.(streamServer); ok {
		r.services = append(r.services, d.ServiceName)
	}
}

func TestServerHandle(t *testing.T) {
	s, err := NewServer()
	require.NoError(t, err)
	h := HandlerFunc(readAll)
	f := func(want string, root *schema.Struct, h Handler, options ...HandleOption) {
		t.Helper()
		err := s.Handle(root, h, options...)
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.ErrorContains(t, err, want)
	}
	f("root", nil, h)
	f("root", small(""), h)
	f("handler", small("Metrics"), nil)
	f("advertised schema", small("Metrics"), h, WithAdvertisedSchema(schema.WireSchema{3}))
	f("advertised schema", small("Metrics"), h, WithAdvertisedSchema(schema.WireSchema{2, 1}))
	f("", small("Metrics"), h, WithAdvertisedSchema(schema.WireSchema{1}))
	require.EqualError(t, s.Handle(small("Metrics"), h), "stefgrpc: root Metrics has a handler already")
	larger := small("Metrics")
	larger.Fields = append(larger.Fields, larger.Fields[0])
	f("already; the handler of the root with more fields, such as a compact root, serves both", larger, h)
	f("", small("Spans"), h)

	var r registrar
	s.Register(&r)
	require.Equal(t, []string{ServiceName}, r.services)
	f("after Register", small("Logs"), h)
}
