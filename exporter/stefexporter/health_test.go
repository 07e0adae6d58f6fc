// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestWarnsOnChange checks that a new cause of failures is logged as a warning, and that
// the same cause is logged only once. The status has the cause of the last warning.
func TestWarnsOnChange(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	host := &statusHost{Host: componenttest.NewNopHost()}
	h := newHealth(testConfig("gw:4320"), "traces", host, zap.New(core))
	refused := errors.New("dial tcp 127.0.0.1:4320: connect: connection refused")
	certificate := errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")
	causes := func() (list []string) {
		for _, e := range logs.TakeAll() {
			require.Equal(t, "No traces can be sent to gw:4320 at present.", e.Message)
			list = append(list, e.ContextMap()["error"].(string))
		}
		if len(list) > 0 {
			require.Equal(t, componentstatus.StatusRecoverableError, host.last().Status())
			require.EqualError(t, host.last().Err(), list[len(list)-1])
		}
		return list
	}
	h.failing(refused)
	require.Empty(t, causes(), "a single failure")
	h.failing(refused)
	h.failing(refused)
	first := causes()
	require.Len(t, first, 1)
	require.Contains(t, first[0], "nothing listens there")

	h.failing(certificate)
	require.Empty(t, causes(), "so soon after the last warning")
	h.warned = time.Now().Add(-logPeriod)
	h.failing(refused)
	require.Empty(t, causes(), "the same cause")
	h.failing(certificate)
	h.failing(certificate)
	second := causes()
	require.Len(t, second, 1)
	require.Contains(t, second[0], "set tls::ca_file")
	require.Len(t, host.events, 2, "one report for each warning")

	// A peer that refuses a connection may close it before the reason arrives.
	for range 3 {
		for _, err := range []error{status.Error(codes.Unavailable, "write: broken pipe"), refused, certificate} {
			h.warned = time.Now().Add(-logPeriod)
			h.failing(err)
		}
	}
	require.Empty(t, causes(), "each cause once")
	require.Len(t, host.events, 2, "a report begins recovery_duration again")
	h.warned = time.Now().Add(-repeatPeriod)
	h.failing(refused)
	require.Len(t, causes(), 1)

	h.recovered("open", "gw:4320")
	h.failing(certificate)
	h.failing(certificate)
	require.Len(t, causes(), 1, "a new outage")

	token := status.Error(codes.Unauthenticated, "wrong token")
	h.failing(token)
	h.failing(token)
	third := causes()
	require.Len(t, third, 1, "a refusal is logged at once, and once")
	require.Contains(t, third[0], "wrong token")
}

func TestFallbackWarning(t *testing.T) {
	p := listen(t, &peer{}, "", false, true)
	core, logs := observer.New(zap.WarnLevel)
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	x, err := NewFactory().CreateTraces(context.Background(), settings, testConfig(p.addr))
	require.NoError(t, err)
	require.NoError(t, x.Start(context.Background(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, x.Shutdown(context.Background())) }()
	require.NoError(t, x.ConsumeTraces(context.Background(), spans("a")))
	require.Equal(t, 1, logs.Len())
	e := logs.All()[0]
	require.Regexp(t, `^`+p.addr+` has no STEF for traces\. Sending OTLP; STEF is tried again every [0-9a-z]+, and on each new connection\.$`, e.Message)
	require.Contains(t, e.ContextMap()["error"], "unimplemented")
	require.NotContains(t, e.ContextMap()["error"], "rpc error")
	require.NotContains(t, e.ContextMap()["error"], "handed back")
}

// TestWordBeforeBatches starts an exporter for a peer without STEF, and sends no batch. With protocol
// auto, no warning is logged, because the peer answers. With protocol stef, the log says that nothing
// can be sent.
func TestWordBeforeBatches(t *testing.T) {
	t.Parallel()
	f := func(protocol Protocol) (string, *observer.ObservedLogs) {
		p := listen(t, &peer{}, "", false, true)
		core, logs := observer.New(zap.WarnLevel)
		settings := exportertest.NewNopSettings(metadata.Type)
		settings.Logger = zap.New(core)
		c := testConfig(p.addr)
		c.Protocol = protocol
		x, err := NewFactory().CreateTraces(context.Background(), settings, c)
		require.NoError(t, err)
		require.NoError(t, x.Start(context.Background(), componenttest.NewNopHost()))
		t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
		return p.addr, logs
	}
	_, auto := f(ProtocolAuto)
	endpoint, only := f(ProtocolSTEF)
	time.Sleep(answerTimeout + 500*time.Millisecond)
	require.Eventually(t, func() bool { return only.Len() > 0 }, time.Minute, time.Millisecond)
	require.Empty(t, auto.All())
	require.Equal(t, 1, only.Len())
	require.Equal(t, "No traces can be sent to "+endpoint+" at present.", only.All()[0].Message)
	require.Contains(t, only.All()[0].ContextMap()["error"], "set protocol to auto")
}

// TestStartMistakes checks the errors for mistakes that are found only at the start.
func TestStartMistakes(t *testing.T) {
	f := func(want string, change func(*Config)) {
		t.Helper()
		c := testConfig("localhost:4320")
		change(c)
		x, err := NewFactory().CreateTraces(context.Background(), exportertest.NewNopSettings(metadata.Type), c)
		require.NoError(t, err)
		require.ErrorContains(t, x.Start(context.Background(), componenttest.NewNopHost()), want)
		require.NoError(t, x.Shutdown(context.Background()))
	}
	id := component.MustNewID("file_storage")
	f(`sending_queue::storage is "file_storage": define this extension under extensions, and list it in service::extensions`, func(c *Config) {
		c.QueueConfig.GetOrInsertDefault().StorageID = &id
	})
	f("endpoint localhost:4320: define this extension under extensions, and list it in service::extensions", func(c *Config) {
		c.ClientConfig.Auth = configoptional.Some(configauth.Config{AuthenticatorID: id})
	})
}

type profilerHost struct{ component.Host }

func (profilerHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{component.MustNewID("pprof"): failing{}}
}

// An extension of another kind cannot be the storage of a queue.
func TestStartWithoutStorageExtension(t *testing.T) {
	c, id := testConfig("localhost:4320"), component.MustNewID("pprof")
	c.QueueConfig.GetOrInsertDefault().StorageID = &id
	x, err := NewFactory().CreateTraces(context.Background(), exportertest.NewNopSettings(metadata.Type), c)
	require.NoError(t, err)
	require.EqualError(t, x.Start(context.Background(), profilerHost{componenttest.NewNopHost()}),
		`sending_queue::storage is "pprof", which is not a storage extension: use a storage extension such as file_storage`)
	require.NoError(t, x.Shutdown(context.Background()))
}

// TestFirstWord uses peers to which nothing can be sent. A log line says this long before the first
// batch times out. The error in the line names the endpoint and has at most four parts. An earlier line
// is allowed only on a machine so slow that nothing is known after answerTimeout.
func TestFirstWord(t *testing.T) {
	t.Parallel()
	require.Less(t, answerTimeout, createDefaultConfig().(*Config).TimeoutConfig.Timeout/4)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	f := func(endpoint, message, cause string) {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.WarnLevel)
			settings := exportertest.NewNopSettings(metadata.Type)
			settings.Logger = zap.New(core)
			x, err := NewFactory().CreateTraces(context.Background(), settings, queued(testConfig(endpoint)))
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, x.Start(context.Background(), componenttest.NewNopHost()))
			t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
			require.NoError(t, x.ConsumeTraces(context.Background(), spans("a")))
			said := func() []observer.LoggedEntry { return logs.FilterMessage(message).All() }
			require.Eventually(t, func() bool { return len(said()) > 0 }, createDefaultConfig().(*Config).TimeoutConfig.Timeout, time.Millisecond)
			if first := logs.All()[0]; first.Message != message {
				require.Equal(t, "No stream of traces to "+endpoint+" is open yet. Batches wait until the peer answers.", first.Message)
				require.GreaterOrEqual(t, first.Time.Sub(began), answerTimeout)
			}
			if cause == "" {
				return
			}
			text := said()[0].ContextMap()["error"].(string)
			require.Contains(t, text, cause)
			what, _, ok := strings.Cut(text, " (endpoint "+endpoint+": ")
			require.True(t, ok, text)
			require.LessOrEqual(t, strings.Count(what, ": ")+1, 4, text)
		})
	}
	f("127.0.0.1:1", "No traces can be sent to 127.0.0.1:1 at present.", "nothing listens there")
	const never = "nothing..invalid:4320" // no valid name, so the answer depends on no server of the machine
	f(never, "No traces can be sent to "+never+" at present.", "check its name")
	f(silent.Addr().String(), "No stream of traces to "+silent.Addr().String()+" is open yet. Batches wait until the peer answers.", "")
}

// TestHalfOverloaded: a peer refuses two of three OTLP requests, as if two of three servers behind it
// were overloaded. The exporter reports that nothing can be sent only if the peer has accepted nothing
// for a while. It always reports refused credentials.
func TestHalfOverloaded(t *testing.T) {
	var requests atomic.Int64
	p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (r ptraceotlp.ExportResponse, err error) {
		if requests.Add(1)%3 != 1 {
			err = withRetryInfo(codes.ResourceExhausted, time.Millisecond)
		}
		return ptraceotlp.NewExportResponse(), err
	}}, "", false, true)
	c := testConfig(p.addr)
	c.Protocol = ProtocolOTLP
	core, logs := observer.New(zap.WarnLevel)
	host := &statusHost{Host: componenttest.NewNopHost()}
	x := startOn(t, c, host, zap.New(core))
	defer func() { require.NoError(t, x.Shutdown(context.Background())) }()
	for range 30 {
		_ = x.ConsumeTraces(t.Context(), spans("a"))
	}
	require.Equal(t, int64(30), requests.Load())
	require.Zero(t, logs.FilterMessageSnippet("can be sent").Len())
	require.Equal(t, componentstatus.StatusOK, host.last().Status())
	require.Len(t, host.events, 1)

	h := newHealth(c, "traces", host, zap.New(core))
	fail := func(code codes.Code) int {
		h.requestFailed(status.Error(code, "no"), code)
		h.requestFailed(status.Error(code, "no"), code)
		return logs.FilterMessageSnippet("can be sent").Len()
	}
	h.accepted()
	require.Zero(t, fail(codes.ResourceExhausted))
	h.acceptedAt = time.Now().Add(-answerTimeout)
	require.Equal(t, 1, fail(codes.ResourceExhausted))
	h.accepted()
	require.Equal(t, 2, fail(codes.Unauthenticated))
}

// TestHalfThrottled does the same with streams: a peer ends the stream of two of three batches, as if
// two of three servers behind one name were overloaded.
func TestHalfThrottled(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.Unavailable} {
		var batches atomic.Int64
		p := &peer{}
		p.onStream = func(s *stefgrpc.ServerStream) error {
			r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
			if err != nil {
				return err
			}
			for r.Next() {
				if batches.Add(1)%3 != 1 {
					return withRetryInfo(code, time.Millisecond)
				}
				s.AckUpTo(r.Stats().Records)
			}
			return r.Err()
		}
		listen(t, p, "", true, false)
		core, logs := observer.New(zap.WarnLevel)
		host := &statusHost{Host: componenttest.NewNopHost()}
		x := startOn(t, testConfig(p.addr), host, zap.New(core))
		for range 30 {
			_ = x.ConsumeTraces(t.Context(), spans("a"))
		}
		require.Equal(t, int64(30), batches.Load())
		require.Zero(t, logs.FilterMessageSnippet("can be delivered").Len()+logs.FilterMessageSnippet("can be sent").Len(), "%v", logs.All())
		require.Equal(t, componentstatus.StatusOK, host.last().Status())
		require.Len(t, host.events, 1)
		require.NoError(t, x.Shutdown(t.Context()))
	}
}

// TestWarnsOfNextOutage: without batches, the exporter does not notice the end of an outage. A failure long after the
// last one is logged, also with the same cause.
func TestWarnsOfNextOutage(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	h := newHealth(testConfig("gw:4320"), "traces", &statusHost{Host: componenttest.NewNopHost()}, zap.New(core))
	refused := errors.New("dial tcp 127.0.0.1:4320: connect: connection refused")
	fails := func(since time.Duration) int {
		h.warned, h.noticed = time.Now().Add(-time.Hour), time.Now().Add(-since)
		h.failing(refused)
		h.failing(refused)
		return len(logs.TakeAll())
	}
	require.Equal(t, 1, fails(time.Hour))
	require.Zero(t, fails(repeatPeriod-time.Second), "the outage lasts")
	require.Equal(t, 1, fails(repeatPeriod))
	h.failedPermanently(errors.New("incompatible"))
	logs.TakeAll()
	require.Zero(t, fails(time.Hour))
}
