// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/fixtures"
)

// TestSteady sends telemetry of all signals, from telemetrygen and from
// recordings, and compares the metrics of the Collectors: the agent sent all items that it
// accepted, the backend accepted and sent all these items, and the sink received them.
func TestSteady(t *testing.T) {
	p := newPair(t)
	length := 4 * time.Second
	if long() {
		length = 60 * time.Second
	}
	stopped := make(chan error, 1)
	go func() { stopped <- sendRecordings(p.entry, length) }()
	generate(t, p.entry, length)
	require.NoError(t, <-stopped)

	f := func(signal string, sunk func() int) {
		t.Helper()
		metric := func(c *collector, name string) int {
			v, _ := c.sum(t, "otelcol_"+name+"_"+signal)
			return int(v)
		}
		accepted := metric(p.agent, "receiver_accepted")
		require.NotZero(t, accepted)
		all := func() []int {
			return []int{metric(p.agent, "exporter_sent"), metric(p.backend, "receiver_accepted"), metric(p.backend, "exporter_sent"), sunk()}
		}
		want := []int{accepted, accepted, accepted, accepted}
		require.Eventually(t, func() bool { return fmt.Sprint(all()) == fmt.Sprint(want) }, time.Minute, 100*time.Millisecond,
			"accepted by the agent: %d %s", accepted, signal)
		require.Zero(t, metric(p.agent, "exporter_send_failed"))
		require.Zero(t, metric(p.backend, "receiver_refused"))
		t.Logf("%s: accepted = sent = received = %d", signal, accepted)
	}
	f("log_records", func() int { logs, _, _ := p.sink.counts(); return logs })
	f("spans", func() int { _, spans, _ := p.sink.counts(); return spans })
	f("metric_points", func() int { _, _, points := p.sink.counts(); return points })
	for _, c := range []*collector{p.agent, p.backend} {
		require.Less(t, c.memory(), maxMemory, "MiB of %s", c.name)
	}
}

func generate(t *testing.T, entry string, length time.Duration) {
	t.Helper()
	program := os.Getenv("STEF_TELEMETRYGEN")
	if program == "" {
		t.Log("SKIPPED in part: STEF_TELEMETRYGEN names no program; recordings only")
		return
	}
	var running []*exec.Cmd
	for _, signal := range []string{"traces", "metrics", "logs"} {
		c := exec.Command(program, signal, "--otlp-insecure", "--otlp-endpoint", entry, "--duration", length.String(), "--rate", "500", "--workers", "2")
		require.NoError(t, c.Start())
		running = append(running, c)
	}
	for _, c := range running {
		require.NoError(t, c.Wait())
	}
}

func sendRecordings(entry string, length time.Duration) error {
	conn, err := grpc.NewClient(entry, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	logs, traces, metrics := plogotlp.NewGRPCClient(conn), ptraceotlp.NewGRPCClient(conn), pmetricotlp.NewGRPCClient(conn)
	ctx, cancel := context.WithTimeout(context.Background(), length+time.Minute)
	defer cancel()
	sends := []struct {
		file []byte
		send func(part []byte) error
	}{
		{fixtures.Logs(), func(part []byte) error {
			r := plogotlp.NewExportRequest()
			if err := r.UnmarshalProto(part); err != nil {
				return err
			}
			_, err := logs.Export(ctx, r)
			return err
		}},
		{fixtures.Traces(), func(part []byte) error {
			r := ptraceotlp.NewExportRequest()
			if err := r.UnmarshalProto(part); err != nil {
				return err
			}
			_, err := traces.Export(ctx, r)
			return err
		}},
		{fixtures.Metrics(), func(part []byte) error {
			r := pmetricotlp.NewExportRequest()
			if err := r.UnmarshalProto(part); err != nil {
				return err
			}
			_, err := metrics.Export(ctx, r)
			return err
		}},
	}
	for end := time.Now().Add(length); time.Now().Before(end); {
		for _, s := range sends {
			parts, err := fixtures.Parts(s.file)
			if err != nil {
				return err
			}
			for _, part := range parts {
				if err := s.send(part); err != nil {
					return err
				}
				if time.Now().After(end) {
					break
				}
			}
		}
	}
	return nil
}
