// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// crashWriter is the program that TestCrash kills. It writes logs to a file in small pieces, so
// that the kill is likely to cut a frame. After each frame it prints the number of records in the
// file.
func crashWriter(path string) {
	err := func() error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		w, err := otelstef.NewLogsWriter(pieces{f}, stef.WithCompression(stef.Zstd), stef.WithSchemaHeader())
		if err != nil {
			return err
		}
		for n := uint64(1); ; n++ {
			w.Record().Record().SetTime(n)
			w.Record().Record().Body().SetString(fmt.Sprintf("record %d %x", n, rand.Uint64()))
			if err := w.Write(); err != nil {
				return err
			}
			if n%50 == 0 {
				if err := w.Flush(); err != nil {
					return err
				}
				fmt.Println(n)
			}
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// pieces is a writer that writes at most 64 bytes at a time to a file.
type pieces struct{ f *os.File }

func (p pieces) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var m int
		m, err = p.f.Write(b[:min(64, len(b))])
		n, b = n+m, b[m:]
	}
	return n, err
}

// kills is how often the tests kill each program, at random instants.
func kills() int {
	if os.Getenv("STEF_LONG") != "" {
		return 200
	}
	return 10
}

// whole is the report of stef stat --json about a file after a crash.
type whole struct {
	Records uint64
	Bytes   struct{ Stream int64 }
	Damage  *struct {
		Cut  bool
		Lost int64 `json:"lost_bytes"`
	}
}

// afterCrash checks that a file can be read up to its last whole frame, and that a truncated
// file is reported as truncated.
func afterCrash(t *testing.T, path string) whole {
	t.Helper()
	out, err := program(t, "stat", "--json", path).Output()
	var report whole
	require.NoError(t, json.Unmarshal(out, &report), "%s", out)
	info, e := os.Stat(path)
	require.NoError(t, e)
	if report.Damage == nil {
		require.NoError(t, err)
		require.Equal(t, info.Size(), report.Bytes.Stream)
		return report
	}
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.True(t, report.Damage.Cut)
	require.Equal(t, info.Size(), report.Bytes.Stream+report.Damage.Lost)
	require.Contains(t, string(exit.Stderr), "lost: the frame that was being written when the file was cut, ")

	repaired := filepath.Join(t.TempDir(), "repaired.stef")
	require.ErrorAs(t, program(t, "repair", path, repaired).Run(), &exit)
	require.Equal(t, 4, exit.ExitCode())
	out, err = program(t, "cat", repaired).Output()
	require.NoError(t, err)
	require.EqualValues(t, report.Records, strings.Count(string(out), "\n"))
	return report
}

// If a program is killed while it writes a stream, the file is readable up to its
// last whole frame. This includes everything that was flushed.
func TestCrash(t *testing.T) {
	cut, records := 0, uint64(0)
	for i := range kills() {
		path := filepath.Join(t.TempDir(), "x.stef")
		cmd := program(t)
		cmd.Env = append(cmd.Env, asProgram+"="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		var timer *time.Timer
		kill := func(after time.Duration) { timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) }
		if i%2 == 0 {
			kill(20*time.Millisecond + rand.N(60*time.Millisecond)) // the kill may precede the first flush
		}
		var flushed uint64
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n, err := strconv.ParseUint(lines.Text(), 10, 64); err == nil {
				flushed = n
			}
			if timer == nil {
				kill(rand.N(60 * time.Millisecond))
			}
		}
		require.Error(t, cmd.Wait())
		timer.Stop()
		if info, err := os.Stat(path); err != nil || info.Size() < 64 {
			continue // killed before the headers were complete
		}
		report := afterCrash(t, path)
		require.GreaterOrEqual(t, report.Records, flushed)
		records += report.Records
		if report.Damage != nil {
			cut++
		}
	}
	t.Logf("%d kills: %d files were cut inside of a frame, %d records were read", kills(), cut, records)
	require.NotZero(t, records)
}

// If stef record is killed, its file has every batch that was acknowledged.
func TestCrashOfRecording(t *testing.T) {
	acknowledged, read := uint64(0), uint64(0)
	for range max(kills()/5, 3) {
		path, acked := killedRecording(t, ".stef")
		report := afterCrash(t, path)
		require.GreaterOrEqual(t, report.Records, acked)
		acknowledged += acked
		read += report.Records
	}
	t.Logf("%d records were acknowledged, %d were read", acknowledged, read)
}

// If stef record is killed while it writes a file that is compressed as a whole, the file has every
// acknowledged batch. Every command reads these batches.
func TestCrashOfCompressedRecording(t *testing.T) {
	records := func(name string) uint64 {
		out, _ := program(t, "cat", name).Output() // cat fails at the end, where the file is cut
		return uint64(strings.Count(string(out), "\n"))
	}
	for _, end := range []string{".stef.zst", ".stef.gz", ".parts.zst", ".parts.gz", ".json.zst", ".pb.gz"} {
		t.Run(end, func(t *testing.T) {
			for range max(kills()/50, 1) {
				path, acked := killedRecording(t, end)
				require.GreaterOrEqual(t, records(path), acked)
				kept := filepath.Join(t.TempDir(), "kept.stef")
				commands := [][]string{{"convert", "--skip", path, kept}}
				if strings.HasPrefix(end, ".stef") {
					commands = append(commands, []string{"repair", "--force", path, kept})
				}
				for _, args := range commands {
					cmd := program(t, args...)
					text, _ := cmd.CombinedOutput()
					want := 4
					if strings.Contains(string(text), "the compressed file has no end") { // all blocks are complete, so nothing is lost
						want = 0
					}
					require.Equal(t, want, cmd.ProcessState.ExitCode(), "%v: %s", args, text)
					require.GreaterOrEqual(t, records(kept), acked, args)
				}
			}
		})
	}
}

// killedRecording kills a recorder while it writes a file of logs. It returns the name of the
// file and how many records the recorder had acknowledged.
func killedRecording(t *testing.T, end string) (path string, records uint64) {
	t.Helper()
	dir := t.TempDir()
	cmd := program(t, "record", "--listen", "127.0.0.1:0", filepath.Join(dir, "{signal}"+end))
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	text := bufio.NewReader(said)
	line, err := text.ReadString('\n')
	require.NoError(t, err)
	listens := regexp.MustCompile(`^listening .* at (127\.0\.0\.1:\d+); `).FindStringSubmatch(line)
	require.NotNil(t, listens, line)
	address := listens[1]
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	sender, err := replay.NewSTEFSender(conn, stef.Zstd)
	require.NoError(t, err)
	sender.Retries = 0 // the recorder listens, so a refused connection means that it was killed
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var acked atomic.Uint64
	var kill *time.Timer
	p := replay.Player{InFlight: 1, Send: func(ctx context.Context, b otlpfile.Batch) error {
		if err := sender.Send(ctx, b); err != nil {
			return err
		}
		if acked.Add(uint64(b.Items())) == uint64(b.Items()) {
			kill = time.AfterFunc(rand.N(100*time.Millisecond), func() { _ = cmd.Process.Kill(); cancel() })
		}
		return nil
	}}
	_, err = p.Play(ctx, endless)
	require.Error(t, err)
	require.NotNil(t, kill, "nothing was acknowledged: %v", err)
	_, err = io.Copy(io.Discard, text)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	_ = sender.Close(ctx) // ctx has ended, so Close reports that batches were lost
	require.NoError(t, conn.Close())
	return filepath.Join(dir, "logs"+end), acked.Load()
}

// endless yields 20,000 small batches of logs: the recorder is killed before all of them are sent.
func endless() iter.Seq2[otlpfile.Batch, error] {
	return func(yield func(otlpfile.Batch, error) bool) {
		for i := range 20_000 {
			ld := plog.NewLogs()
			records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
			for j := range 20 {
				r := records.AppendEmpty()
				r.SetTimestamp(1)
				r.Body().SetStr(fmt.Sprintf("%d %d", i, j))
			}
			if !yield(otlpfile.LogsBatch(ld), nil) {
				return
			}
		}
	}
}
