// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftrace_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelstef/stef/internal/netfault"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	stef "github.com/otelstef/stef/stef-go"
)

// namedSpan is a span whose name is the result of a function.
type namedSpan struct {
	sdktrace.ReadOnlySpan
	name func() string
}

func (s namedSpan) Name() string { return s.name() }

// TestEncoderPanics: if a batch makes the encoder panic, only this batch fails. A batch that waited for
// the end of the same frame is sent on another stream.
func TestEncoderPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := sdktest.NewPeer(t, netfault.Link{})
		peer.Start(t)
		x := exporter(t, peer.Options(stefsdk.WithCompression(stef.None))) // zstd decoders are pooled, and this bubble must not share them with other tests
		require.NoError(t, x.ExportSpans(context.Background(), batch("first", 1)))

		export := func(name func() string) <-chan error {
			result := make(chan error, 1)
			go func() {
				result <- x.ExportSpans(context.Background(), []sdktrace.ReadOnlySpan{namedSpan{batch("", 1)[0], name}})
			}()
			synctest.Wait()
			return result
		}
		begin := make(chan struct{})
		good := export(func() string {
			<-begin // until the next batch waits for the encoder
			return "good"
		})
		bad := export(func() string { panic("boom") })
		close(begin)
		require.ErrorContains(t, <-bad, "the STEF encoder panicked: boom")
		require.NoError(t, <-good)
		require.Equal(t, map[string]int{"first/0": 1, "good": 1}, names(peer))
	})
}
