// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	refgrpc "github.com/splunk/stef/go/grpc"
	refproto "github.com/splunk/stef/go/grpc/stef_proto"
	refotel "github.com/splunk/stef/go/otel/otelstef"
	ref "github.com/splunk/stef/go/pkg"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

func dial(t *testing.T, s *grpc.Server) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// received is what a server received: the records, and the error that ended the stream.
type received struct {
	records []*dynamic.Struct
	err     error
}

// TestOurClientToTheReferenceServer sends recordings and waits for every
// acknowledgement.
func TestOurClientToTheReferenceServer(t *testing.T) {
	loadMetrics(t, func(name string, parts []pmetric.Metrics) {
		t.Run(name, func(t *testing.T) {
			want := metrics.read(t, oursMetrics(t, parts, stefpdata.Sorted))
			wire, err := refotel.MetricsWireSchema()
			require.NoError(t, err)
			done := make(chan []byte, 1)
			server := refgrpc.NewStreamServer(refgrpc.ServerSettings{ServerSchema: &wire, MaxDictBytes: 4 << 20, Callbacks: refgrpc.Callbacks{
				OnStream: func(src refgrpc.GrpcReader, stream refgrpc.STEFStream) error {
					r, err := refotel.NewMetricsReader(src)
					if err != nil {
						return err
					}
					out := &chunks{}
					w, err := refotel.NewMetricsWriter(out, ref.WriterOptions{})
					if err != nil {
						return err
					}
					for range want {
						if err := r.Read(ref.ReadOptions{}); err != nil {
							return err
						}
						w.Record.CopyFrom(&r.Record)
						if err := w.Write(); err != nil {
							return err
						}
						if err := stream.SendDataResponse(&refproto.STEFDataResponse{AckRecordId: r.RecordCount()}); err != nil {
							return err
						}
					}
					err = w.Flush()
					done <- out.Bytes()
					return err
				},
			}})
			s := grpc.NewServer()
			refproto.RegisterSTEFDestinationServer(s, server)
			client, err := stefgrpc.NewClient(dial(t, s))
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			stream, err := client.Open(ctx, otelstef.MetricsRoot())
			require.NoError(t, err)
			w, err := otelstef.NewMetricsWriter(stream, append(stream.WriterOptions(), stef.WithCompression(stef.Zstd))...)
			require.NoError(t, err)
			e := stefpdata.NewMetricsEncoder(w)
			for _, md := range parts {
				require.NoError(t, e.Encode(md))
				require.NoError(t, w.Flush())
			}
			require.NoError(t, stream.AwaitAll(ctx))
			select {
			case got := <-done:
				require.Empty(t, steftest.DiffAll(metrics.schema, want, metrics.read(t, got)))
			case <-ctx.Done():
				t.Fatal("the server has not read all records")
			}
			_ = stream.Close()
		})
	})
}

// TestTheReferenceClientToOurServer sends recordings and waits for every
// acknowledgement.
func TestTheReferenceClientToOurServer(t *testing.T) {
	loadMetrics(t, func(name string, parts []pmetric.Metrics) {
		t.Run(name, func(t *testing.T) {
			ours := oursMetrics(t, parts, stefpdata.Sorted)
			want := metrics.read(t, ours)
			done := make(chan received, 1)
			server, err := stefgrpc.NewServer()
			require.NoError(t, err)
			require.NoError(t, server.Handle(otelstef.MetricsRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
				got, err := collect(s)
				done <- received{got, err}
				return err
			})))
			s := grpc.NewServer()
			server.Register(s)

			wire, err := refotel.MetricsWireSchema()
			require.NoError(t, err)
			acked := make(chan uint64, len(want)+1)
			client, err := refgrpc.NewClient(refgrpc.ClientSettings{
				GrpcClient:   refproto.NewSTEFDestinationClient(dial(t, s)),
				ClientSchema: refgrpc.ClientSchema{RootStructName: "Metrics", WireSchema: &wire},
				Callbacks:    refgrpc.ClientCallbacks{OnAck: func(id uint64) error { acked <- id; return nil }},
			})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			dst, options, err := client.Connect(ctx)
			require.NoError(t, err)
			options.Compression = ref.CompressionZstd
			w, err := refotel.NewMetricsWriter(dst, options)
			require.NoError(t, err)
			r, err := refotel.NewMetricsReader(bytes.NewReader(ours))
			require.NoError(t, err)
			for range want {
				require.NoError(t, r.Read(ref.ReadOptions{}))
				w.Record.CopyFrom(&r.Record)
				require.NoError(t, w.Write())
			}
			require.NoError(t, w.Flush())
			for last := uint64(0); last < uint64(len(want)); {
				select {
				case last = <-acked:
				case <-ctx.Done():
					t.Fatalf("%d of %d records acknowledged", last, len(want))
				}
			}
			require.NoError(t, client.Disconnect(ctx))
			got := <-done
			require.Empty(t, steftest.DiffAll(metrics.schema, want, got.records))
		})
	})
}

func collect(s *stefgrpc.ServerStream) ([]*dynamic.Struct, error) {
	r, err := dynamic.NewReader(s, otelstef.MetricsRoot(), dynamic.WithAssumedSchema(otelstef.MetricsBaseSchema()))
	if err != nil {
		return nil, err
	}
	var all []*dynamic.Struct
	for r.Next() {
		all = append(all, dynamic.Clone(r.Record()).(*dynamic.Struct))
		s.AckUpTo(r.Records())
	}
	if errors.Is(r.Err(), io.EOF) {
		return all, nil
	}
	return all, r.Err()
}
