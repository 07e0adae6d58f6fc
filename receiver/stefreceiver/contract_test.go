// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc"

	"github.com/otelstef/stef/stef-gogrpc"
)

// generator sends items one at a time from several goroutines. It sends each item
// until the item is accepted or refused permanently.
type generator[T any] struct {
	t       *testing.T
	config  *Config
	conn    *grpc.ClientConn
	ids     atomic.Uint64
	one     func(id receivertest.UniqueIDAttrVal) T
	senders chan func(context.Context, T) error // the senders that are not in use
	open    func(*grpc.ClientConn) (func(context.Context, T) error, error)
}

func (g *generator[T]) Start() {
	g.conn = dial(g.t, sharedOf(g.config).server.address.String())
	g.senders = make(chan func(context.Context, T) error, 100)
}

func (g *generator[T]) Stop() { require.NoError(g.t, g.conn.Close()) }

func (g *generator[T]) Generate() []receivertest.UniqueIDAttrVal {
	id := receivertest.UniqueIDAttrVal(fmt.Sprint(g.ids.Add(1)))
	for {
		again, err := g.try(g.one(id))
		if !again {
			return []receivertest.UniqueIDAttrVal{id}
		}
		var known *stefgrpc.Error
		require.ErrorAs(g.t, stefgrpc.FromStatus(err), &known)
		require.True(g.t, known.Retryable(), "%v", err)
		require.True(g.t, known.HasRetryInfo, "%v", err)
	}
}

func (g *generator[T]) try(batch T) (again bool, err error) {
	var send func(context.Context, T) error
	select {
	case send = <-g.senders:
	default:
		if send, err = g.open(g.conn); err != nil {
			require.NoError(g.t, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err = send(ctx, batch); err != nil {
		return true, err
	}
	g.senders <- send
	return false, nil
}

func testContract[T any](t *testing.T, signal pipeline.Signal, one func(receivertest.UniqueIDAttrVal) T,
	open func(*grpc.ClientConn) (func(context.Context, T) error, error),
) {
	config := testConfig()
	receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{
		T: t, Factory: NewFactory(), Signal: signal, Config: config, GenerateCount: 200,
		Generator: &generator[T]{t: t, config: config, one: one, open: open},
	})
}

func TestContractSTEF(t *testing.T) {
	t.Parallel()
	t.Run("traces", func(t *testing.T) { testStreamContract(t, pipeline.SignalTraces, traceKind) })
	t.Run("metrics", func(t *testing.T) { testStreamContract(t, pipeline.SignalMetrics, metricKind) })
	t.Run("logs", func(t *testing.T) { testStreamContract(t, pipeline.SignalLogs, logKind) })
}

func testStreamContract[T any](t *testing.T, signal pipeline.Signal, k kind[T]) {
	testContract(t, signal, k.one, func(conn *grpc.ClientConn) (func(context.Context, T) error, error) {
		s, err := k.open(conn)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, batch T) error {
			if _, err := s.send(batch); err != nil {
				return s.reason(err)
			}
			return s.reason(s.stream.AwaitAll(ctx))
		}, nil
	})
}

// reason waits for the end of the stream after a call has failed with err. It returns the error of the
// stream, which says more than err.
func (s *sender[T]) reason(err error) error {
	if err == nil {
		return nil
	}
	<-s.stream.Done()
	return s.stream.Err()
}

func TestContractOTLP(t *testing.T) {
	t.Run("traces", func(t *testing.T) {
		testContract(t, pipeline.SignalTraces, traceKind.one, func(conn *grpc.ClientConn) (func(context.Context, ptrace.Traces) error, error) {
			client := ptraceotlp.NewGRPCClient(conn)
			return func(ctx context.Context, td ptrace.Traces) error {
				_, err := client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
				return retryable(err)
			}, nil
		})
	})
	t.Run("metrics", func(t *testing.T) {
		testContract(t, pipeline.SignalMetrics, metricKind.one, func(conn *grpc.ClientConn) (func(context.Context, pmetric.Metrics) error, error) {
			client := pmetricotlp.NewGRPCClient(conn)
			return func(ctx context.Context, md pmetric.Metrics) error {
				_, err := client.Export(ctx, pmetricotlp.NewExportRequestFromMetrics(md))
				return retryable(err)
			}, nil
		})
	})
	t.Run("logs", func(t *testing.T) {
		testContract(t, pipeline.SignalLogs, logKind.one, func(conn *grpc.ClientConn) (func(context.Context, plog.Logs) error, error) {
			client := plogotlp.NewGRPCClient(conn)
			return func(ctx context.Context, ld plog.Logs) error {
				_, err := client.Export(ctx, plogotlp.NewExportRequestFromLogs(ld))
				return retryable(err)
			}, nil
		})
	})
}

// retryable returns err if an OTLP client would retry after it, otherwise nil.
func retryable(err error) error {
	if err == nil || !stefgrpc.FromStatus(err).Retryable() {
		return nil
	}
	return err
}
