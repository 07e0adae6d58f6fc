// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the stories with the actual events")

// TestStories runs the stories in testdata. A story is a list of events of a machine, each
// followed by the indented decisions of the machine. With -update the test rewrites the
// decisions; read the difference before you commit it.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			got := tell(t, string(want))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

type story struct {
	t       *testing.T
	now     time.Time
	machine *Machine
	batches map[string]*Batch
	streams map[string]*Stream
	ledgers map[*Stream]*ledger.Sender
	out     Decisions
	lines   []string
}

func tell(t *testing.T, script string) string {
	var text strings.Builder
	s := &story{t: t, now: time.Unix(0, 0)}
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		text.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		s.out, s.lines = Decisions{}, nil
		s.perform(words[0], words[1:])
		for i := range s.out.Len() {
			text.WriteString("  " + s.describe(s.out.At(i)) + "\n")
		}
		for _, l := range s.lines {
			text.WriteString("  " + l + "\n")
		}
	}
	return text.String()
}

func (s *story) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *story) perform(verb string, words []string) {
	m := s.machine
	switch verb {
	case "session": // settings of the session, such as streams=2 batches=10
		s.begin(words)
	case "sleep":
		s.now = s.now.Add(s.duration(words[0]))
	case "open": // stream, slot, and the stream that it replaces
		x := NewStream(words[0], int(s.number(words[1])), nil)
		l := new(ledger.Sender)
		l.Hold()
		x.answers, s.streams[words[0]], s.ledgers[x] = l, x, l
		var previous *Stream
		if len(words) > 2 {
			previous = s.streams[words[2]]
		}
		m.Opened(x, previous, s.now, &s.out)
	case "refused":
		m.OpenFailed(&Fault{Err: errors.New("no STEF here")}, s.now, &s.out)
	case "unavailable":
		m.OpenFailed(nil, s.now, &s.out)
	case "send":
		for _, name := range words {
			s.batches[name] = &Batch{Owner: name}
			m.Submit(s.batches[name], false, s.now, &s.out)
		}
	case "give-up":
		m.GiveUp(s.batches[words[0]], s.now, &s.out)
	case "take":
		if b, state := m.Take(s.streams[words[0]], s.now, &s.out); b != nil {
			s.say("encodes %v", b.Owner)
		} else {
			s.say("nothing to encode, live %v", state == Live)
		}
	case "encoded": // stream, batch, last record, bytes, buffered bytes, last sent record
		x := s.streams[words[0]]
		e := Encoding{Last: s.number(words[2]), Bytes: int64(s.number(words[3])), Buffered: int(s.number(words[4]))}
		if len(words) > 5 {
			e.SentTo = s.number(words[5])
			require.NoError(s.t, s.ledgers[x].Send(e.SentTo, 1))
		} else {
			e.SentTo = s.ledgers[x].Sent()
		}
		m.Encoded(x, s.batches[words[1]], e, s.now, &s.out)
	case "fails": // stream, batch, kind of failure, last record; the records up to it are sent
		x := s.streams[words[0]]
		var e Encoding
		if len(words) > 3 {
			e.Last = s.number(words[3])
			require.NoError(s.t, s.ledgers[x].Send(e.Last, 1))
		}
		e.SentTo = s.ledgers[x].Sent()
		switch words[2] {
		case "ended":
			e.Lost = &Fault{Class: Orderly, Err: errors.New("the server ended the stream")}
		case "unencodable":
			e.Unencodable = errors.New("too large")
		case "lost":
			e.Lost = &Fault{Class: Unavailable, Err: errors.New("connection lost")}
		case "broken":
			e.Broken = &Fault{Err: errors.New("encoder broke")}
		}
		m.Encoded(x, s.batches[words[1]], e, s.now, &s.out)
	case "flush": // asks FlushIn, and flushes if it is due
		x := s.streams[words[0]]
		wait, due := m.FlushIn(x, words[1] == "idle", 0, s.now, &s.out)
		if !due {
			s.say("waits for %v", wait)
			return
		}
		s.say("flushes up to %d", x.last)
		require.NoError(s.t, s.ledgers[x].Send(x.last, 1))
		m.Flushed(x, Encoding{}, s.now, &s.out)
	case "frame": // stream, last record of a frame that ends while a batch is being encoded
		require.NoError(s.t, s.ledgers[s.streams[words[0]]].Send(s.number(words[1]), 1))
	case "acks": // stream, id, bad ranges
		x := s.streams[words[0]]
		r := wire.Response{Acked: s.number(words[1])}
		for _, word := range words[2:] {
			from, to, _ := strings.Cut(word, "-")
			r.Rejected = append(r.Rejected, wire.IDRange{From: s.number(from), To: s.number(to)})
		}
		news, _, err := s.ledgers[x].Receive(r)
		require.NoError(s.t, err)
		m.Answered(x, news, s.now, &s.out)
	case "watch":
		wait := m.Overdue(s.streams[words[0]], s.now, &s.out)
		if wait <= 0 {
			s.say("close it")
		} else {
			s.say("ask again in %v", wait)
		}
	case "ends": // stream, kind of end
		x := s.streams[words[0]]
		over := Over{SentTo: s.ledgers[x].Sent()}
		switch words[1] {
		case "orderly":
			over.Cause = &Fault{Class: Orderly, Err: errors.New("reopen")}
		case "unavailable":
			over.Cause = &Fault{Class: Unavailable, Err: errors.New("connection lost")}
		case "refused":
			over.Cause = &Fault{Class: Refused, Err: errors.New("nested too deep")}
		case "large": // first and last record of the chunk
			over.Cause = &Fault{Class: Refused, Err: errors.New("message too large")}
			over.TooLarge = wire.IDRange{From: s.number(words[2]), To: s.number(words[3])}
			over.SentTo = over.TooLarge.To
		case "invalid":
			over.Cause = &Fault{Class: Refused, Deliberate: true, Err: errors.New("not for us")}
		case "canceled":
			over.Cause = &Fault{Class: Canceled, Err: errors.New("closed")}
		case "ok":
		}
		m.Ended(x, over, s.now, &s.out)
	case "sleeps":
		s.say("%v", m.Sleep())
	case "shutdown":
		m.Shutdown(s.now, &s.out)
	case "force":
		for _, x := range m.Force(s.now, &s.out) {
			s.say("close %v", x.Owner)
		}
	case "status":
		st := m.Status()
		s.say("live %d, draining %d, waiting %d, unacknowledged %d batches and %d bytes", st.Live, st.Draining, st.Waiting, st.UnackedBatches, st.UnackedBytes)
	default:
		s.t.Fatalf("no command %q", verb)
	}
}

func (s *story) begin(words []string) {
	c := Config{Streams: 1, MaxUnackedBatches: 10, MaxUnackedBytes: -1, FlushInterval: -1, FlushBytes: -1,
		AckTimeout: 15 * time.Second, DrainTimeout: 5 * time.Second, IdleTimeout: -1}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "streams":
			c.Streams = int(s.number(value))
		case "senders":
			c.Senders = int(s.number(value))
		case "batches":
			c.MaxUnackedBatches = int(s.number(value))
		case "bytes":
			c.MaxUnackedBytes = int64(s.number(value))
		case "flush":
			c.FlushInterval = s.duration(value)
		case "early":
			c.EarlyFrames = int(s.number(value))
		case "idle":
			c.IdleTimeout = s.duration(value)
		default:
			s.t.Fatalf("no option %q", word)
		}
	}
	s.machine = New(c)
	s.batches, s.streams, s.ledgers = map[string]*Batch{}, map[string]*Stream{}, map[*Stream]*ledger.Sender{}
}

var reasons = map[CloseReason]string{CloseRotated: "rotated", CloseByServer: "server", CloseLost: "lost",
	CloseAckTimeout: "ack timeout", CloseEncoder: "encoder", CloseShutdown: "shutdown", CloseIdle: "idle"}

var classes = map[Class]string{AckTimeout: "ack timeout", ShutDown: "shut down", GaveUp: "gave up", Unanswered: "unanswered"}

func (s *story) describe(d *Decision) string {
	cause := ""
	if f := d.Fault; f != nil && f.Err != nil {
		cause = ": " + f.Err.Error()
		if f.Class == EncoderFailed || f.Class == Bystander && f.Blamed {
			cause = ": another batch: " + f.Err.Error()
		} else if f.Class == Bystander {
			cause = ": no batch: " + f.Err.Error()
		}
	} else if f != nil {
		cause = ": " + classes[f.Class]
	}
	name := "no stream"
	if d.Stream != nil {
		name = d.Stream.Owner.(string)
	}
	switch d.Kind {
	case WakeSender:
		return "wake the sender of " + name
	case WakeWatcher:
		return "wake the watcher of " + name
	case Replace:
		return "replace " + name
	case Open:
		return "open streams again"
	case Delivered:
		text := fmt.Sprintf("%v is delivered by %s, %d records, after %v", d.Batch.Owner, name, d.Records, d.Latency)
		if d.Answer.Bad > 0 {
			text += fmt.Sprintf(", but for %v", d.Answer.Rejected)
		}
		return text
	case Unencodable:
		return fmt.Sprintf("%v cannot be encoded%s", d.Batch.Owner, cause)
	case HandedBack:
		text := fmt.Sprintf("%v is handed back by %s%s", d.Batch.Owner, name, cause)
		if d.Maybe {
			text += ", maybe delivered"
		}
		if d.Answer.Acknowledged > 0 {
			text += fmt.Sprintf(", %d acknowledged", d.Answer.Acknowledged)
		}
		if d.Answer.Bad > 0 {
			text += fmt.Sprintf(", bad %v", d.Answer.Rejected)
		}
		return text
	case Draining:
		return fmt.Sprintf("%s drains: %s", name, reasons[d.Reason])
	case Closed:
		return fmt.Sprintf("%s is closed after %v, %s%s", name, d.Latency, reasons[d.Reason], cause)
	case Redispatched:
		return "a batch of " + name + " is sent again"
	case Late:
		return fmt.Sprintf("%d records of %s are rejected too late", d.Records, name)
	}
	return "?"
}

func (s *story) number(word string) uint64 {
	n, err := strconv.ParseUint(word, 0, 64)
	require.NoError(s.t, err)
	return n
}

func (s *story) duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	require.NoError(s.t, err)
	return d
}
