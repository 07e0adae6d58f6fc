// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
)

type logStream struct {
	*signal.Encoder[plog.Logs]
	signal.Writer
}

// TestFilesKilled writes files while a Collector that follows them is killed and
// started again, and the backend sometimes refuses requests. Every record arrives, and the
// folder is empty in the end.
func TestFilesKilled(t *testing.T) {
	binary(t) // skips before anything runs
	kills := 3
	if long() {
		kills = 20
	}
	s, dir, places := newSink(t), t.TempDir(), t.TempDir()
	w, err := rotate.New(rotate.Options{Dir: dir, Signal: "logs", MaxBytes: 4 << 10}, func(dst io.Writer) (logStream, error) {
		e, err := signal.Logs.NewEncoder(dst, nil, stef.WithCompression(stef.Zstd))
		if err != nil {
			return logStream{}, err
		}
		return logStream{e, e.Writer}, nil
	})
	require.NoError(t, err)
	l, written, stop := &load{stopped: make(chan struct{})}, make(chan error, 1), make(chan struct{})
	go func() {
		for {
			first, logs := l.next()
			if err := w.Write(func(s logStream) error { return s.Encode(logs) }); err != nil {
				written <- err
				return
			}
			l.answered(first, nil)
			select {
			case <-stop:
				written <- w.Close()
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	var refused int
	s.setRefuse(func() error {
		if refused++; refused%20 == 0 {
			return status.Error(codes.Unavailable, "busy")
		}
		return nil
	})
	begin := func() *collector {
		port := freePort(t)
		return run(t, "files", filepath.Join(examples, "files.yaml"), port,
			"FOLDER="+dir, "STORAGE="+places, "BACKEND="+s.address, fmt.Sprint("METRICS_PORT=", port))
	}
	for range kills {
		c := begin()
		before, _, _ := s.counts()
		require.Eventually(t, func() bool { n, _, _ := s.counts(); return n > before }, time.Minute, 5*time.Millisecond)
		time.Sleep(rand.N(500 * time.Millisecond))
		c.kill()
	}
	close(stop)
	require.NoError(t, <-written)
	c := begin()
	require.Eventually(t, func() bool {
		entries, err := os.ReadDir(dir)
		return err == nil && len(entries) == 0
	}, 60*time.Second, 50*time.Millisecond)
	c.stop(t, time.Minute)
	offered, accepted, _ := l.results()
	missing, twice := s.missing(accepted)
	require.Zero(t, missing)
	require.Zero(t, s.invented(offered))
	t.Logf("%d kills: %d records in %d files arrived, %d of them twice", kills, len(accepted), w.Stats().Finished, twice)
}
