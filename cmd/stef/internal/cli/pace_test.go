// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/replay"
)

// spanAt returns a message of one span that is due after the given number of seconds.
func spanAt(seconds int) string {
	return fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","startTimeUnixNano":"%d000000000"}]}]}]}`+"\n", 1_700_000_000+seconds)
}

// replay does not wait for days between recordings of different days. It says how long sending
// takes at the pace of the recording, and which gap it skipped.
func TestReplayGap(t *testing.T) {
	t.Parallel()
	m := newMistakes(t)
	const days = 6 * 24 * 3600
	first, second := m.file("first.json", []byte(spanAt(0))), m.file("second.json", []byte(spanAt(days)+spanAt(days+4)))
	out := filepath.Join(m.dir, "gap-{signal}.stef")
	address, _, wait := recording(t, "--items", "3", out)
	_, stderr := mustRun(t, nil, "replay", "--protocol", "stef", "--endpoint", address, first, second)
	require.Regexp(t, "^sending takes 5s at the pace of the recording; --rate max is faster\n"+
		"skipped 6 days in which no batch is due, before the next batch of "+second+"\n"+
		"sent 3 items in 3 batches to "+address+" over stef in [0-9.]+ s: ", withoutWaits(stderr, address))
	took, err := strconv.ParseFloat(regexp.MustCompile(` in ([0-9.]+) s: `).FindStringSubmatch(stderr)[1], 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, 5.0)
	code, stderr := wait()
	require.Zero(t, code, stderr)
	records, _ := mustRun(t, nil, "cat", strings.ReplaceAll(out, "{signal}", "traces"))
	require.Equal(t, 1, strings.Count(records, "1700000000000000000"), records) // the replay does not change the times
	require.Equal(t, 1, strings.Count(records, "1700518404000000000"), records)
}

// In a long wait replay notices that the endpoint has ended, over both protocols.
func TestReplayEndpointGone(t *testing.T) {
	for _, protocol := range []string{"otlp", "stef"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			m := newMistakes(t)
			slow := m.file("slow.json", []byte(spanAt(0)+spanAt(3000)))
			// With a port of freeport, nothing else listens at the address after the end.
			address, end, wait := recording(t, "--listen", freeport.Address(t), filepath.Join(m.dir, "gone-{signal}.stef"))
			var stderr lines
			interrupt, done := new(cli.Interrupt), make(chan int)
			go func() {
				done <- cli.Run([]string{"replay", "--protocol", protocol, "--endpoint", address, slow}, cli.Env{Stderr: &stderr, Interrupt: interrupt})
			}()
			require.Eventually(t, func() bool { return strings.Contains(stderr.String(), "the next batch is due in ") }, time.Minute, 10*time.Millisecond)
			require.True(t, end.Deliver())
			code, text := wait()
			require.Zero(t, code, text)
			require.Eventually(t, func() bool {
				return strings.Contains(stderr.String(), "\n"+address+": connection refused (nothing listens there); trying again\n")
			}, 12*replay.CheckEvery, 10*time.Millisecond, "%s", &stderr)
			require.True(t, interrupt.Deliver())
			require.Equal(t, cli.ExitInterrupted, <-done, stderr.String())
		})
	}
}

// When a recording ends after --items, replay ends, too. It does not retry the batches that are
// in flight.
func TestReplayRecordingEnded(t *testing.T) {
	for _, protocol := range []string{"otlp", "stef"} {
		for _, inFlight := range []string{"1", "4"} {
			t.Run(protocol+" "+inFlight, func(t *testing.T) {
				t.Parallel()
				dir, recorded := folder(t)
				address, _, wait := recording(t, "--items", "300", filepath.Join(dir, "ended-{signal}.stef"))
				began := time.Now()
				code, _, stderr := run(nil, "replay", "--rate", "max", "--protocol", protocol, "--in-flight", inFlight, "--retries", "30", "--endpoint", address, recorded)
				require.Equal(t, cli.ExitIO, code, stderr)
				require.Regexp(t, `^sent \d+ items in \d+ batches to .*\n`+
					"stef replay: "+address+`: batch \d+ of `+recorded+`: the recording has ended \(stef record accepts no more items\)\n$`, withoutWaits(stderr, address))
				require.Less(t, time.Since(began), time.Minute) // all attempts together would take over two minutes
				code, stderr = wait()
				require.Zero(t, code, stderr)
			})
		}
	}
}
