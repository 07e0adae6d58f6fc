// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
	"github.com/otelstef/stef/stef-gogrpc"
)

var recordCommand = &command{
	name:    "record",
	usage:   "record [FLAG]... OUT",
	summary: "write the telemetry that arrives over STEF or OTLP to files",
	help: `Listens for STEF and for OTLP/gRPC at one address and writes what arrives to files,
one for each signal: {signal} in the name of OUT is replaced by its name. The end of
the name tells the format, as for stef convert, but not Parquet or Arrow: convert
these later. A file is created when its signal arrives.

It records until it is interrupted, or as long as --for says, or until at least --items
items have arrived: batches are recorded whole. Each of these is a normal end: the
exit code is 0.

OTLP/HTTP is refused, and the answer says how to send OTLP/gRPC: set
OTEL_EXPORTER_OTLP_PROTOCOL=grpc in the sender, and the port of --listen in its
endpoint. A program that creates the HTTP exporter in its code must create the gRPC
exporter instead.

Every batch is written to its file, as a frame or part, before it is acknowledged. Over
OTLP a batch is a request. Over STEF a batch is one or more frames that arrive together.
If the process is killed, only the last frame or part of a file may be cut, also if its
name ends in .zst or .gz. stef repair copies what is whole; for formats other than STEF
use stef convert --skip. --sync says how often files are synced to the disk, so that
they survive a crash of the machine.

A steffile receiver that follows the folder reads the files while they are written, and
does not delete them before the recording ends. If a file is removed or replaced, the
recording ends with an error.

  stef record --listen localhost:4317 'telemetry-{signal}.stef'
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		c := &recorder{}
		flags.StringVar(&c.listen, "listen", "localhost:4317", "`HOST:PORT` where to listen (default: localhost:4317)")
		flags.DurationVar(&c.during, "for", 0, "`DURATION` end after this time, such as 10m")
		flags.Uint64Var(&c.items, "items", 0, "`N` end when at least N items have arrived; batches are recorded whole (0: no limit)")
		flags.DurationVar(&c.sync, "sync", time.Second, "`DURATION` how often files are synced to the disk; 0 does it before each\nacknowledgement (default: 1s)")
		flags.BoolVar(&c.force, "force", false, "overwrite files that exist")
		return func(env *Env, args []string) error {
			if err := files(args, "OUT"); err != nil {
				return err
			}
			if c.sync < 0 {
				return completef("invalid value %q for --sync: must be 0 or more", c.sync)
			}
			limited := false
			flags.Visit(func(f *flag.Flag) { limited = limited || f.Name == "for" })
			if limited && c.during <= 0 {
				return completef("invalid value %q for --for: must be above 0", c.during)
			}
			return c.run(env, args[0])
		}
	},
}

// recorder is the command stef record with the values of its flags.
type recorder struct {
	listen string
	during time.Duration
	items  uint64
	sync   time.Duration
	force  bool
	out    string
	say    io.Writer
	end    context.CancelCauseFunc

	refused atomic.Bool // whether a batch arrived after --items N

	mu      sync.Mutex
	files   map[otlpfile.Signal]*recordingFile
	arrived uint64
	failed  error
}

// recordingOver is the answer to batches that arrive after the end. stef replay ends when it
// receives this answer.
const recordingOver = "the recording has ended"

var errEnough = errors.New(recordingOver)

// answerTime is how long record answers further batches after --items N. The next batch of a sender
// without pauses arrives in this time, so the sender learns why it is not accepted.
const answerTime = 300 * time.Millisecond

// moreAnswerWaits is how many short waits record adds to answerTime if a sender is still connected and
// no further batch has arrived, because the sender may be slow. Counted waits last longer on a busy
// machine, and a pause of the machine does not use them up.
const moreAnswerWaits = 200

// answerLate answers batches that arrive after --items N.
func (c *recorder) answerLate(connected func() bool) {
	time.Sleep(answerTime)
	for n := 0; n < moreAnswerWaits && !c.refused.Load() && connected(); n++ {
		time.Sleep(10 * time.Millisecond)
	}
}

func (c *recorder) run(env *Env, out string) error {
	// A name without a known format is refused before any data arrives.
	if err := convert.CheckName(out); err != nil {
		return err
	}
	if err := checkMarks(out); err != nil {
		return err
	}
	if !strings.Contains(out, convert.SignalMark) {
		end := filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(out, ".zst"), ".gz"))
		at := strings.LastIndex(out, end)
		return usagef("each signal needs a file of its own: put %s into the name of OUT, as in '%s-%s%s'", convert.SignalMark, out[:at], convert.SignalMark, out[at:])
	}
	c.out, c.say, c.files = out, env.Stderr, map[otlpfile.Signal]*recordingFile{}
	if err := c.checkNames(env); err != nil {
		return err
	}
	ctx, stop := env.interruptible()
	defer stop()
	if c.during > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.during, errEnough)
		defer cancel()
	}
	ctx, c.end = context.WithCancelCause(ctx)
	defer c.end(nil)
	if _, _, err := net.SplitHostPort(c.listen); err != nil {
		return usagef("--listen %s: write HOST:PORT, such as localhost:4317, or :4317 for all interfaces", c.listen)
	}
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return &file.Error{Name: c.listen, Err: listening(err)}
	}
	if err := registerZstd(); err != nil {
		return err
	}
	g := grpc.NewServer(append(replay.Options(), grpc.ConnectionTimeout(maxHandshake))...)
	server, err := replay.Register(g, c.take)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "listening for STEF and OTLP/gRPC (not OTLP/HTTP) at %s; %s\n", listener.Addr(), c.until())
	say := sync.OnceFunc(func() { fmt.Fprintf(env.Stderr, "a sender was refused: %s\n", notHTTP1(listener.Addr())) })
	served := make(chan error, 1)
	watched := &http1Listener{Listener: listener, refused: say}
	go func() { served <- g.Serve(watched) }()
	c.untilEnd(ctx, served)
	if c.enough() {
		c.answerLate(func() bool { return watched.open.Load() > 0 })
	}
	c.stop(g, server)
	if err := c.close(); err != nil {
		return err
	}
	c.summarise(env)
	return nil
}

// checkNames returns an error if a file cannot be created. Otherwise this would be known only when
// the first batch arrives, which may be much later.
func (c *recorder) checkNames(env *Env) error {
	for _, root := range stream.Roots() {
		name := c.name(root.Signal)
		if info, err := os.Stat(filepath.Dir(name)); errors.Is(err, fs.ErrNotExist) {
			return &file.Error{Name: name, Err: fmt.Errorf("the folder %s does not exist", filepath.Dir(name))}
		} else if err == nil && !info.IsDir() {
			return &file.Error{Name: name, Err: fmt.Errorf("%s is not a folder", filepath.Dir(name))}
		}
		if !c.force && exists(name) {
			return fmt.Errorf("%w, or choose another name for OUT", existsError(name))
		}
		if err := writable(env, name); err != nil {
			return err
		}
	}
	return nil
}

// writable returns an error if a recording file cannot be written. If the file does not exist, it
// creates and removes a temporary file in the same folder. It opens no pipes and devices: a pipe
// can be opened once.
func writable(env *Env, name string) error {
	if _, err := os.Lstat(name); err != nil {
		out, err := env.Temps.Create(name, nil, false)
		if err != nil {
			return err
		}
		out.Discard()
		return nil
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return &file.Error{Name: name, Err: err}
	}
	return f.Close()
}

// until says when the recording ends.
func (c *recorder) until() string {
	var ends []string
	if c.items > 0 {
		ends = append(ends, figure.Count(c.items, "item"))
	}
	if c.during > 0 {
		ends = append(ends, c.during.String())
	}
	if ends == nil {
		return "interrupt to end"
	}
	return fmt.Sprintf("it ends after %s; interrupt to end it earlier", strings.Join(ends, " or "))
}

// listening adds advice to the error of a failed listen.
func listening(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: end the program that listens there, or choose another port", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w: this machine does not have the address; :4317 listens at all addresses of this machine", err)
	}
	return err
}

// maxHandshake is how long a client may take to connect. When the recording ends, gRPC waits for
// clients that are still connecting.
const maxHandshake = 5 * time.Second

// maxClosing bounds the time for the last acknowledgements.
const maxClosing = 10 * time.Second

// stop ends the servers gracefully, so that senders receive the acknowledgements of all batches
// that were written. It closes connections that do not end in time.
func (c *recorder) stop(g *grpc.Server, server *stefgrpc.Server) {
	closing, cancel := context.WithTimeout(context.Background(), maxClosing)
	defer cancel()
	_ = server.Shutdown(closing)
	unhook := context.AfterFunc(closing, g.Stop)
	defer unhook()
	g.GracefulStop()
}

// untilEnd syncs files, and checks that they were not removed, until the recording ends.
func (c *recorder) untilEnd(ctx context.Context, served <-chan error) {
	every := c.sync
	if every <= 0 {
		every = time.Second // each batch is synced when it is written; this checks the names of the files
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-served:
			c.fail(err)
			return
		case <-ticker.C:
			c.syncAll()
		}
	}
}

func (c *recorder) name(s otlpfile.Signal) string {
	return strings.ReplaceAll(c.out, convert.SignalMark, s.String())
}

// take writes a batch to the recording file of its signal.
func (c *recorder) take(b otlpfile.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	if c.items > 0 && c.arrived >= c.items {
		c.refused.Store(true)
		return errEnough // retryable: the next recording may begin at the same address
	}
	if err := c.write(b); err != nil {
		c.failed = err
		c.end(err)
		return err
	}
	c.arrived += uint64(b.Items())
	if c.items > 0 && c.arrived >= c.items {
		c.end(errEnough)
	}
	return nil
}

// enough reports whether as many items as --items were recorded.
func (c *recorder) enough() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed == nil && c.items > 0 && c.arrived >= c.items
}

func (c *recorder) write(b otlpfile.Batch) error {
	t := c.files[b.Signal]
	if t == nil {
		var err error
		if t, err = newRecordingFile(c.name(b.Signal), b.Signal, c.force); err != nil {
			return err
		}
		c.files[b.Signal] = t
		fmt.Fprintf(c.say, "%s arrive; writing %s\n", b.Signal, t.name)
	}
	if err := t.w.Write(b); err != nil {
		return &file.Error{Name: t.name, Err: err}
	}
	if err := t.inPlace(); err != nil { // before the batch is acknowledged
		return err
	}
	t.items += uint64(b.Items())
	t.dirty = true
	if c.sync <= 0 {
		return t.sync()
	}
	return nil
}

func (c *recorder) syncAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.files {
		err := t.sync()
		if err == nil {
			err = t.inPlace()
		}
		if err != nil && c.failed == nil {
			c.failed = err
			c.end(err)
		}
	}
}

func (c *recorder) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// close closes the files.
func (c *recorder) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failed
	for _, t := range c.files {
		if e := t.close(); err == nil {
			err = e
		}
	}
	return err
}

func (c *recorder) summarise(env *Env) {
	if len(c.files) == 0 {
		fmt.Fprintln(env.Stderr, "nothing arrived")
	}
	for _, root := range stream.Roots() {
		if t := c.files[root.Signal]; t != nil {
			fmt.Fprintf(env.Stderr, "%s: %s\n", t.name, items(t.items-t.w.Skipped, root.Signal))
			if t.w.Skipped > 0 {
				fmt.Fprintf(env.Stderr, "left out: %s that the format cannot hold\n", items(t.w.Skipped, root.Signal))
			}
		}
	}
}
