// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

var update = flag.Bool("update", false, "rewrite the stories with the actual events")

// TestStories runs the conversations in testdata. A story is a list of commands
// for the client or the server of a stream. The events that a command causes
// follow it, indented:
//
//	# what the story is about
//	server stalls
//	write 10 100
//	  write 10 100 waits
//
// "->" is a message to the server, "<-" a response to WithOnResponse. A line that begins with a
// command is the result of that command. The command may have begun much earlier. Times are times
// of a fake clock. With -update the test rewrites the events; read the difference before you commit
// it.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			var got string
			synctest.Test(t, func(t *testing.T) { got = tell(t, string(want)) })
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

func tell(t *testing.T, script string) string {
	var out strings.Builder
	s := &story{t: t, server: newServerPeer()}
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line)
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			s.perform(words)
			for _, event := range s.events() {
				out.WriteString("  " + event + "\n")
			}
		}
	}
	s.leave()
	return out.String()
}

// leave ends the stream of the story and waits for all its goroutines.
func (s *story) leave() {
	if s.stream != nil {
		s.stream.Close()
		<-s.stream.Done()
	}
	synctest.Wait()
	s.stream, s.server, s.pending = nil, newServerPeer(), nil
}

type story struct {
	t      *testing.T
	server *serverPeer
	stream *Stream

	mu      sync.Mutex
	told    []string // responses passed to WithOnResponse
	pending []*deed
}

// deed is a command that runs in the background.
type deed struct {
	name    string
	started time.Time
	waiting bool // reported as waiting
	outcome string
}

func (s *story) start(name string, do func() string) {
	d := &deed{name: name, started: time.Now()}
	s.pending = append(s.pending, d)
	go func() {
		outcome := do()
		if took := time.Since(d.started); took > 0 {
			outcome += fmt.Sprintf(" (after %v)", took)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		d.outcome = outcome
	}()
}

// events waits until all goroutines block and returns the events since the last
// call.
func (s *story) events() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := append(s.server.listen(), s.told...)
	s.told = nil
	s.pending = slices.DeleteFunc(s.pending, func(d *deed) bool {
		switch {
		case d.outcome != "":
			list = append(list, d.name+": "+d.outcome)
			return true
		case !d.waiting:
			list = append(list, d.name+" waits")
			d.waiting = true
		}
		return false
	})
	return list
}

func (s *story) perform(words []string) {
	line := strings.Join(words, " ")
	switch words[0] {
	case "another": // starts a new stream and discards the state of the previous stream
		s.leave()
	case "open":
		s.open(line, words[1:])
	case "server":
		s.serve(words[1], words[2:])
	case "write":
		last, n := s.number(words[1]), s.number(words[2])
		s.start(line, func() string {
			_, err := s.stream.WriteRecords(make([]byte, n), last)
			return outcome(err)
		})
	case "write-within":
		d, last, n := s.duration(words[1]), s.number(words[2]), s.number(words[3])
		s.timed(line, d, func(ctx context.Context) error {
			_, err := s.stream.WriteContext(ctx, make([]byte, n), last)
			return err
		})
	case "write-uncounted":
		n := s.number(words[1])
		s.start(line, func() string {
			_, err := s.stream.Write(make([]byte, n))
			return outcome(err)
		})
	case "await":
		s.timed(line, time.Hour, func(ctx context.Context) error { return s.stream.AwaitAck(ctx, s.number(words[1])) })
	case "await-all":
		s.timed(line, time.Hour, func(ctx context.Context) error { return s.stream.AwaitAll(ctx) })
	case "await-room":
		s.timed(line, s.duration(words[1]), func(ctx context.Context) error { return s.stream.AwaitRoom(ctx) })
	case "drain":
		s.timed(line, s.duration(words[1]), func(ctx context.Context) error { return s.stream.Drain(ctx) })
	case "half-close":
		s.start(line, func() string { return outcome(s.stream.CloseSend()) })
	case "close":
		s.start(line, func() string { return outcome(s.stream.Close()) })
	case "sleep":
		time.Sleep(s.duration(words[1]))
	case "state":
		s.state()
	default:
		s.t.Fatalf("no command %q", line)
	}
}

func (s *story) timed(name string, d time.Duration, do func(context.Context) error) {
	s.start(name, func() string {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		return outcome(do(ctx))
	})
}

// open opens the stream. Its arguments are the root and client options.
func (s *story) open(line string, words []string) {
	roots := map[string]*schema.Struct{"Metrics": otelstef.MetricsRoot(), "Spans": otelstef.SpansRoot()}
	root := roots[words[0]]
	require.NotNil(s.t, root)
	var options []ClientOption
	timeout := time.Hour
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "message":
			options = append(options, WithMaxMessageBytes(int(s.number(value))))
		case "unacked":
			bytes, records, _ := strings.Cut(value, ",")
			options = append(options, WithMaxUnackedBytes(int(s.number(bytes))), WithMaxUnackedRecords(s.number(records)))
		case "dict":
			options = append(options, WithDictBytes(int(s.number(value))))
		case "within":
			timeout = s.duration(value)
		default:
			s.t.Fatalf("no option %q", word)
		}
	}
	client, err := NewClient(s.server, options...)
	require.NoError(s.t, err)
	s.start(line, func() string {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		stream, err := client.Open(ctx, root, WithOnResponse(s.hear))
		if err != nil {
			return outcome(err)
		}
		s.stream = stream
		config := steftest.WriterSettingsOf(s.t, stream.WriterOptions()...)
		require.True(s.t, config.SchemaHeader)
		writes := stream.Schema()
		if config.Schema != nil {
			writes = config.Schema
		}
		require.Equal(s.t, stream.Schema(), writes)
		return fmt.Sprintf("the server is %v, writes %s, dictionaries of %d bytes",
			stream.Compat(), wireText(writes), config.DictBytes)
	})
}

func (s *story) hear(r Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, strings.TrimSpace(fmt.Sprintf("<- acknowledged %d %s", r.Acked, badText(r.Rejected))))
}

func (s *story) serve(verb string, words []string) {
	switch verb {
	case "is": // capabilities: schema, dictionary limit
		var dict uint64
		if len(words) > 1 {
			dict = s.number(words[1])
		}
		s.server.say(capable(dict, s.wire(words[0])))
	case "acks": // id, bad ranges
		var bad []IDRange
		for _, word := range words[1:] {
			from, to, _ := strings.Cut(word, "-")
			bad = append(bad, IDRange{From: s.number(from), To: s.number(to)})
		}
		s.server.say(ackOf(s.number(words[0]), bad...))
	case "says": // a message without content
		s.server.say(&stefpb.STEFServerMessage{})
	case "stammers": // bytes that are not a message
		s.server.say([]byte{0x12, 0x7f})
	case "ends": // code, retry delay, text
		s.server.say(s.status(words))
	case "leaves": // ends the stream like a server of this package at its shutdown
		s.server.say(errReconnect)
	case "stalls":
		s.server.stall()
	case "reads":
		s.server.resume()
	case "refuses":
		s.server.refuses = s.status(words)
	case "hides":
		s.server.never = true
	default:
		s.t.Fatalf("a server has no %q", verb)
	}
}

func (s *story) status(words []string) error {
	if words[0] == "OK" {
		return io.EOF
	}
	var code codes.Code
	require.NoError(s.t, code.UnmarshalJSON([]byte(strconv.Quote(words[0]))))
	st := status.New(code, "so it is")
	if len(words) > 1 {
		var err error
		st, err = st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(s.duration(words[1]))})
		require.NoError(s.t, err)
	}
	return st.Err()
}

func (s *story) wire(name string) []byte {
	if name == "none" {
		return nil
	}
	own := otelstef.MetricsSchema()
	named := map[string]schema.WireSchema{
		"same":      own,
		"published": otelstef.MetricsBaseSchema(),
		"spans":     otelstef.SpansSchema(),
		"newer":     append(schema.WireSchema{own[0] + 1}, own[1:]...),
	}
	if wire, ok := named[name]; ok {
		b, err := wire.AppendBinary(nil)
		require.NoError(s.t, err)
		return b
	}
	var b []byte // the name is a list of bytes, such as 3,1,2
	for _, number := range strings.Split(name, ",") {
		b = append(b, byte(s.number(number)))
	}
	return b
}

func (s *story) state() {
	bytes, records := s.stream.Unacked()
	text := fmt.Sprintf("sent %d, acknowledged %d, open %d bytes and %d records", s.stream.Sent(), s.stream.Acked(), bytes, records)
	if bad := s.stream.Rejected(); len(bad) > 0 {
		text += ", " + badText(bad)
	}
	select {
	case <-s.stream.Done():
		text += ", ended: " + outcome(s.stream.Err())
	default:
	}
	s.start("state", func() string { return text })
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

// outcome formats an error with the fields that callers use to decide what to do.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	e, ok := err.(*Error)
	if !ok {
		return err.Error()
	}
	text := e.Error() + " [" + e.Code.String()
	if e.Retryable() {
		text += ", retryable"
	}
	if e.HasRetryInfo {
		text += " in " + e.RetryDelay.String()
	}
	return text + "]"
}

func badText(ranges []IDRange) string {
	var list []string
	for _, r := range ranges {
		list = append(list, fmt.Sprintf("%d-%d", r.From, r.To))
	}
	if list == nil {
		return ""
	}
	return "bad " + strings.Join(list, " ")
}

func wireText(w schema.WireSchema) string {
	var list []string
	for _, n := range w {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ",")
}
