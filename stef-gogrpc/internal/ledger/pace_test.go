// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the stories with the actual events")

// TestPaceStories runs testdata/pace.txt. The file lists events of a receiver, each followed
// by the indented responses that are sent. With -update the test rewrites the responses;
// read the difference before you commit it.
func TestPaceStories(t *testing.T) {
	const file = "testdata/pace.txt"
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	got := tellPace(t, string(want))
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		return
	}
	require.Equal(t, string(want), got)
}

// paceStory is a receiver with a clock.
type paceStory struct {
	pace   Pace
	ledger Receiver
	now    time.Duration // since the beginning of the story
	text   strings.Builder
}

func (s *paceStory) time() time.Time { return time.Unix(1e9, 0).Add(s.now) }

// respond sends the responses that are due, and returns the time until the next response is due.
func (s *paceStory) respond() time.Duration {
	for s.ledger.Pending() {
		if due := s.pace.Due(&s.ledger, s.time()); due > 0 {
			return due
		}
		r, _ := s.ledger.Take()
		fmt.Fprintf(&s.text, "  %v: acknowledges %d", s.now, r.Acked)
		for _, bad := range r.Rejected {
			fmt.Fprintf(&s.text, ", rejects %d to %d", bad.From, bad.To)
		}
		s.text.WriteByte('\n')
		s.pace.Sent(s.time())
	}
	return time.Hour
}

func tellPace(t *testing.T, script string) string {
	s := new(paceStory)
	var text strings.Builder
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		text.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		id := func(i int) uint64 {
			n, err := strconv.ParseUint(words[i], 10, 64)
			require.NoError(t, err)
			return n
		}
		duration := func() time.Duration {
			d, err := time.ParseDuration(words[1])
			require.NoError(t, err)
			return d
		}
		switch words[0] {
		case "interval": // begins a story
			*s = paceStory{pace: Pace{Interval: duration()}}
		case "waits":
			s.pace.WaitsForSender(true)
		case "receives":
			s.pace.WaitsForSender(false)
		case "decoded":
			s.pace.Decoded(id(1))
		case "accepts":
			s.ledger.Finish(IDRange{From: id(1), To: id(2)})
		case "rejects":
			s.ledger.Reject(IDRange{From: id(1), To: id(2)})
		case "sleep":
			for end := s.now + duration(); s.now < end; {
				s.now += min(s.respond(), end-s.now)
			}
		default:
			t.Fatalf("unknown command %q", words[0])
		}
		s.respond()
		text.WriteString(s.text.String())
		s.text.Reset()
	}
	return text.String()
}
