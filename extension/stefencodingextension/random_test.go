// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/teltest/canon"
	"github.com/otelstef/stef/internal/teltest/randtel"
)

// TestRandom marshals and unmarshals random telemetry on 64 goroutines that use one extension. No
// data changes, and each message has the same bytes as if a new extension had written it.
func TestRandom(t *testing.T) {
	rounds := int64(320) // sum over all goroutines; few, because the race detector makes rounds slow
	switch {
	case testing.Short():
		rounds = 128
	case os.Getenv("STEF_LONG") != "":
		rounds = 1280
	}
	for _, config := range []string{"{}", "{schema: full, mode: sorted}", "{mode: ordered, templates: on, compression: none}"} {
		t.Run(config, func(t *testing.T) {
			e := newEncoding(t, config)
			errs := make([]error, 64)
			var group sync.WaitGroup
			var begun atomic.Int64
			for g := range errs {
				group.Go(func() {
					for n := begun.Add(1); n <= rounds && errs[g] == nil; n = begun.Add(1) {
						errs[g] = randomRoundTrips(e, uint64(n-1))
					}
				})
			}
			group.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
			// Compare the bytes last: pooled encoders that have written many messages must write
			// the same bytes as a new encoder.
			for seed := range uint64(30) {
				require.NoError(t, sameAsFresh(e, newEncoding(t, config), seed))
			}
		})
	}
}

func randomRoundTrips(e *stefEncoding, seed uint64) error {
	r := randtel.New(seed)
	if err := roundTrip(e, r.Traces(), r.Metrics(), r.Logs()); err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	return nil
}

// roundTrip marshals and unmarshals a batch of each signal. It returns an error if the
// items are not the same.
func roundTrip(e *stefEncoding, td ptrace.Traces, md pmetric.Metrics, ld plog.Logs) error {
	message, err := e.MarshalTraces(td)
	if err != nil {
		return err
	}
	gotTraces, err := e.UnmarshalTraces(message)
	if err != nil {
		return err
	}
	if message, err = e.MarshalMetrics(md); err != nil {
		return err
	}
	gotMetrics, err := e.UnmarshalMetrics(message)
	if err != nil {
		return err
	}
	if message, err = e.MarshalLogs(ld); err != nil {
		return err
	}
	gotLogs, err := e.UnmarshalLogs(message)
	if err != nil {
		return err
	}
	diff := canon.Diff(items.Traces(td), items.Traces(gotTraces)) +
		canon.Diff(items.Metrics(md), items.Metrics(gotMetrics)) +
		canon.Diff(items.Logs(ld), items.Logs(gotLogs))
	if diff != "" {
		return errors.New(diff)
	}
	return nil
}

func sameAsFresh(used, fresh *stefEncoding, seed uint64) error {
	r := randtel.New(seed)
	td, md, ld := r.Traces(), r.Metrics(), r.Logs()
	for name, marshal := range map[string]func(e *stefEncoding) ([]byte, error){
		"traces":  func(e *stefEncoding) ([]byte, error) { return e.MarshalTraces(td) },
		"metrics": func(e *stefEncoding) ([]byte, error) { return e.MarshalMetrics(md) },
		"logs":    func(e *stefEncoding) ([]byte, error) { return e.MarshalLogs(ld) },
	} {
		got, err := marshal(used)
		if err != nil {
			return err
		}
		want, err := marshal(fresh)
		if err != nil {
			return err
		}
		if !bytes.Equal(want, got) {
			return fmt.Errorf("seed %d: %d bytes of %s differ from the %d bytes of a new extension", seed, len(got), name, len(want))
		}
	}
	return nil
}
