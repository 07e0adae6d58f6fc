// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
	stef "github.com/otelstef/stef/stef-go"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

var replayCommand = &command{
	name:    "replay",
	usage:   "replay [FLAG]... FILE...",
	summary: "send files to an endpoint, over STEF or OTLP",
	help: `Sends the telemetry of files, in any format, to a gRPC endpoint: all files at the
same time, each in its order (but see --in-flight). The files are read several
times, so they cannot be standard input or pipes.

Without --protocol the tool sends OTLP. With STEF a batch is done when the endpoint
acknowledges it. With several batches in flight that may take up to the ack_interval of
the receiver. If the endpoint permanently rejects items, replay counts them, sends
the others, and exits with 4.

By default, replay keeps the pace of the recording. Time 0 is the earliest time in all
files, and a batch is sent when its latest time is due. So a file that was recorded
later begins later. If no batch of any file is due for more than an hour, replay waits
only a second, and prints this. --rate sets another pace. With --rate N a batch of M
items is sent whole, and M/N seconds later the next batch is sent, or the replay ends. A
wait of 5 s or longer is printed. At the pace of the recording, the tool connects before
it waits for the first batch. If a file is cut, nothing is sent at this pace, with --now
or with several rounds. Otherwise replay sends what is whole before the cut, and exits
with 1.

A recording that is sent again unchanged repeats its ids and times, which no real sender
does. --new-ids and --now change them. With --rounds, the second and later rounds always
have new ids and times. Their ids are the same in every run, unless --new-ids is set.

Over STEF, metrics and traces are sent in sorted order, as the exporter does, so records
and attributes arrive in another order. To compare what arrived with the file, compare
the output of stef cat --sort-keys FILE | sort for both.

  stef replay --endpoint localhost:4320 --protocol stef metrics.stef traces.stef
  stef replay --endpoint localhost:4317 --rate max --rounds 10 logs.json
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		c := &replayer{pace: replay.Original, headers: headers{}}
		c.define(flags)
		return func(env *Env, args []string) error {
			if len(args) == 0 {
				return usagef("FILE is missing")
			}
			if err := severalTimes("replay", args); err != nil {
				return err
			}
			return c.run(env, args)
		}
	},
}

// replayer is the command stef replay with the values of its flags.
type replayer struct {
	endpoint, protocol, compression string
	tls                             bool
	ca, cert, key                   string
	headers                         headers
	pace                            float64
	rounds, inFlight, retries       int
	newIDs, now                     bool
	signal                          *stream.Root
	notes                           notes
	accepted                        atomic.Bool // whether the endpoint accepted a batch
}

func (c *replayer) define(flags *flag.FlagSet) {
	flags.StringVar(&c.endpoint, "endpoint", "localhost:4317", "`HOST:PORT` where to send (default: localhost:4317)")
	choice(flags, "protocol", "what the endpoint understands (default: otlp)", &c.protocol, []string{"otlp", "stef"}, []string{"otlp", "stef"})
	choice(flags, "compression", "compression on the wire; not gzip for stef\n(default: gzip for otlp, zstd for stef)",
		&c.compression, []string{"none", "gzip", "zstd"}, []string{"none", "gzip", "zstd"})
	flags.BoolVar(&c.tls, "tls", false, "use TLS, with the certificate authorities of the system")
	flags.StringVar(&c.ca, "ca", "", "`FILE.pem` use TLS, with these certificate authorities")
	flags.StringVar(&c.cert, "cert", "", "`FILE.pem` use TLS, with this certificate of the client; needs --key")
	flags.StringVar(&c.key, "key", "", "`FILE.pem` the key of --cert")
	flags.Var(c.headers, "header", "`KEY=VALUE` send this header, such as a token; may be repeated")
	flags.Func("rate", "`original|max|N` the pace of the recording, as fast as the endpoint accepts, or N\n"+
		"items a second over all files (default: original)", func(s string) (err error) {
		switch s {
		case "original":
			c.pace = replay.Original
		case "max":
			c.pace = 0
		default:
			if c.pace, err = strconv.ParseFloat(s, 64); err != nil && s != "" && s[0] >= '0' && s[0] <= '9' {
				return errors.New("must be original, max or a number without commas or unit, such as 1000")
			}
			if err != nil || !(c.pace > 0) {
				return errors.New("must be original, max or a number above 0")
			}
		}
		return nil
	})
	flags.IntVar(&c.rounds, "rounds", 1, "`N` send the files N times; each later round has new ids and later times")
	flags.IntVar(&c.inFlight, "in-flight", 0, "`N` batches of a file that may be in flight at a time (default: 1 for metrics,\nwhose points must stay in order, and 4 for traces and logs)")
	flags.IntVar(&c.retries, "retries", replay.DefaultRetries, "`N` retries of a batch that the endpoint cannot accept yet, and of opening a stream\n(default: 7)")
	flags.BoolVar(&c.newIDs, "new-ids", false, "replace the ids of traces and spans; those that were equal stay equal")
	flags.BoolVar(&c.now, "now", false, "shift all times so that the recording begins now")
	signalFlag(flags, "signal to send, needed for a file of several signals", &c.signal)
}

func (c *replayer) run(env *Env, names []string) error {
	if c.rounds < 1 || c.inFlight < 0 || c.retries < 0 {
		return usagef("--rounds is %d, --in-flight is %d, --retries is %d: the first must be at least 1, the others at least 0", c.rounds, c.inFlight, c.retries)
	}
	c.notes.out = env.Stderr
	names, err := c.checkAll(env, names)
	if err != nil {
		return err
	}
	conn, sender, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	sender.Retries = c.retries
	sender.Final = func(err error) bool { return wrongPort(err) || recordingEnded(err) }
	waits := &waitReporter{out: env.Stderr, endpoint: c.endpoint, plainly: c.plainly}
	sender.Waiting, sender.Unanswered = waits.notice, waits.silent
	send := func(ctx context.Context, b otlpfile.Batch) error {
		err := sender.Send(ctx, b)
		if err == nil {
			c.accepted.Store(true)
		}
		return err
	}
	p := &replay.Player{Send: send, Pace: c.pace, InFlight: c.inFlight, Rounds: c.rounds, Now: c.now}
	if c.newIDs {
		p.Change.IDs = rand.Uint64() | 1
	}
	p.Idle = (&idleness{out: env.Stderr, pace: c.pace}).notice
	p.Length = func(took time.Duration) {
		if took >= replay.IdleAfter {
			fmt.Fprintf(env.Stderr, "sending takes %s at the pace of the recording; --rate max is faster\n", figure.Wait(took))
		}
	}
	p.Skipped = func(source int, gap time.Duration) {
		fmt.Fprintf(env.Stderr, "skipped %s in which no batch is due, before the next batch of %s\n", figure.Wait(gap), names[source])
	}
	p.Check = func(ctx context.Context) { sender.Check(ctx, conn) }
	var sources []replay.Source
	for _, name := range names {
		sources = append(sources, c.source(name))
	}
	ctx, stop := env.interruptible()
	defer stop()
	if c.pace == replay.Original && !(len(names) == 1 && emptyFile(names[0])) { // the first batch may be due late
		p.Ready = func(ctx context.Context) error { return sender.Connect(ctx, conn) }
	}
	// Close the streams when everything is accepted. The endpoint may end after that, and
	// open streams would try to connect to it again. After an interrupt do not wait for answers.
	var closed error
	p.Delivered = sync.OnceFunc(func() {
		closing, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		closed = sender.Close(closing)
	})
	begin := time.Now()
	counts, err := p.Play(ctx, sources...)
	took := time.Since(begin)
	p.Delivered()
	err = cmp.Or(err, closed)
	if counts.Items > 0 {
		fmt.Fprintf(env.Stderr, "sent %s in %s to %s over %s in %s: %s items a second\n", figure.Count(counts.Items, "item"), figure.Count(counts.Batches, "batch"), c.endpoint, c.protocol, figure.Seconds(took), rate(counts.Items, took))
	}
	if counts.Items == 0 && err == nil {
		fmt.Fprintf(env.Stderr, "sent 0 items: the input has none\n")
	}
	if counts.Items == 0 && errors.Is(err, errInterrupted) {
		fmt.Fprintf(env.Stderr, "%s accepted no items\n", c.endpoint)
	}
	if n := sender.Rejected(); n > 0 {
		fmt.Fprintf(env.Stderr, "the endpoint permanently rejected %s of them\n", figure.Grouped(n))
		return cmp.Or(c.sendError(err, names, counts), errLost)
	}
	return c.sendError(err, names, counts)
}

// rate returns items per second: a whole number, or three significant digits if it is below 10.
func rate(items uint64, took time.Duration) string {
	r := float64(items) / max(took.Seconds(), 1e-9)
	if r < 10 {
		return figure.Ratio(r)
	}
	return figure.Grouped(uint64(math.Round(r)))
}

// checkAll checks the files, and returns those to send. Of several files, it leaves out the empty ones.
func (c *replayer) checkAll(env *Env, names []string) (filled []string, err error) {
	err = eachInput(env, names, func(name string) error {
		err := c.check(name, len(names) > 1)
		if err == nil {
			filled = append(filled, name)
		}
		return err
	})
	return filled, err
}

// check refuses a file that cannot be opened, before anything is sent. Without --signal, it also
// refuses a file that has several signals. Other errors of a file are reported while the file is
// sent. Of several files, it also refuses empty ones, which eachInput leaves out. If the only file
// is empty, check reads it, because this is an error in some formats.
func (c *replayer) check(name string, several bool) error {
	in, err := file.Open(name, nil)
	if errors.Is(err, fs.ErrNotExist) && address.MatchString(name) {
		return &file.Error{Name: name, Err: fmt.Errorf("there is no such file; if this is an address, use --endpoint %s", name)}
	}
	if err != nil {
		return err
	}
	defer in.Close()
	empty := in.Empty()
	if empty != nil && !several {
		for _, err := range convert.Batches(in, c.signal, c.notes.print) {
			return err
		}
		return nil
	}
	if empty != nil || c.signal != nil {
		return in.Blame(empty)
	}
	found, _ := convert.Signals(in)
	if len(found) < 2 {
		return nil
	}
	var names []string
	for _, s := range found {
		names = append(names, s.String())
	}
	return usagef("%s holds %s: run replay with --signal, once for each signal", name, strings.Join(names[:len(names)-1], ", ")+" and "+names[len(names)-1])
}

// sendError adds the endpoint to a send error. It also adds the number of the batch, but only if
// some batch was accepted: the number suggests that earlier batches were accepted. It returns
// errors of files and interrupts unchanged.
func (c *replayer) sendError(err error, names []string, sent replay.Counts) error {
	if err == nil || errors.Is(err, errInterrupted) || ofFile(err) || errors.Is(err, convert.ErrUnsupported) {
		return err
	}
	var at *replay.SendError
	sending := errors.As(err, &at)
	if sending {
		err = at.Err
	}
	if bad := (*stefgrpc.BatchError)(nil); sending && errors.As(err, &bad) { // the fault is in the file, not at the endpoint
		others := ""
		if bad.Delivered {
			others = "; the other items of the batch arrived"
		}
		return &file.ContentError{Name: names[at.Source], Err: fmt.Errorf("batch %d: %w%s; the replay ends here: use stef convert --skip to omit such items", at.Batch, bad.Err, others)}
	}
	err = c.plainly(err)
	switch {
	case sent.Batches == 0:
		err = fmt.Errorf("%w; no batch was accepted", err)
	case !sending:
	case c.rounds > 1:
		err = fmt.Errorf("batch %d of %s, round %d: %w", at.Batch, names[at.Source], at.Round, err)
	default:
		err = fmt.Errorf("batch %d of %s: %w", at.Batch, names[at.Source], err)
	}
	return &file.Error{Name: c.endpoint, Err: err}
}

// ofFile reports whether an error is about a file.
func ofFile(err error) bool {
	var bad *file.ContentError
	var failed *file.Error
	return errors.As(err, &bad) || errors.As(err, &failed)
}

// idleness prints when the next batch is due, if the wait is long: the first time, and each time a
// wait is at least twice as long as the last printed wait.
type idleness struct {
	out  io.Writer
	pace float64

	mu      sync.Mutex
	longest time.Duration
}

func (i *idleness) notice(left time.Duration, last bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !last && left < 2*i.longest {
		return
	}
	i.longest = left
	pace := "pace of the recording"
	if i.pace != replay.Original {
		pace = fmt.Sprintf("--rate %g", i.pace)
	}
	if last {
		fmt.Fprintf(i.out, "everything is sent; the replay ends in %s (%s)\n", figure.Wait(left), pace)
		return
	}
	fmt.Fprintf(i.out, "the next batch is due in %s (%s); --rate max sends now\n", figure.Wait(left), pace)
}

// notes prints the fields of the files that OTLP does not define. It prints each line only
// once, although the files are read again in each round.
type notes struct {
	out     io.Writer
	mu      sync.Mutex
	printed map[string]bool
}

func (n *notes) print(found []otlpfile.UnknownField) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range ignoredLines(found) {
		if !n.printed[line] {
			fmt.Fprintln(n.out, line)
		}
		if n.printed == nil {
			n.printed = map[string]bool{}
		}
		n.printed[line] = true
	}
}

// These errors are permanent: they repeat until the command line or the endpoint changes.
const (
	saysHTTP1 = "looked like an HTTP/1.1 header"
	// The endpoint answers with text, and gRPC reads the first bytes as the length of a very
	// large frame. The http.server of Python, for example, answers with a page without a status
	// line.
	saysText  = "server preface: http2: frame too large"
	saysPlain = "first record does not look like a TLS handshake"
)

// recordingEnded reports whether the error is the answer of the command stef record after the end
// of its recording. stef replay then ends. Senders such as Collectors may try again, because the
// next recording may begin at the same address.
func recordingEnded(err error) bool { return strings.Contains(err.Error(), recordingOver) }

// wrongPort reports whether another program or protocol listens at the endpoint.
func wrongPort(err error) bool {
	return strings.Contains(err.Error(), saysHTTP1) || strings.Contains(err.Error(), saysText) || strings.Contains(err.Error(), saysPlain)
}

const checkPort = "check the port: 4317 is usual for OTLP and 4320 for STEF; 4318 is OTLP over HTTP"

// sendCauses explain failed batches. cause is a part of an error of gRPC or of the
// system, text is the text that the tool prints instead, and hint says what to do.
var sendCauses = []struct{ cause, text, hint string }{
	{saysHTTP1, "the endpoint speaks HTTP/1.1, not gRPC", checkPort},
	{saysText, "the endpoint does not speak HTTP/2, and so not gRPC", checkPort},
	{recordingOver, recordingOver, "stef record accepts no more items"},
	{"connection refused", "connection refused", "nothing listens there"},
	{saysPlain, "the endpoint does not speak TLS", "remove --tls, --ca, --cert and --key"},
	{"certificate signed by unknown authority", "certificate signed by unknown authority", "name the authority with --ca"},
	{"certificate is valid for", "the certificate is for another name", "use a name of the certificate in --endpoint"},
	{"unknown service opentelemetry.proto.collector", "the endpoint does not accept OTLP", "for STEF add --protocol stef"},
	{"unknown service STEFDestination", "the endpoint does not accept STEF", "for OTLP remove --protocol stef"},
	{"no such host", "no such host", "check the name"},
	{"no children to pick from", "no such host", "check the name"},
	{"name resolver error", "no such host", "check the name"},
}

// sendPrefix is the text of the sender before the cause of an error.
var sendPrefix = regexp.MustCompile(`^(no STEF stream yet: |no STEF stream: |the STEF stream was lost: |not accepted yet: )?`)

// With TLS 1.3, an endpoint that wants a certificate of the client closes the connection after
// the handshake. The client often sees only the closed connection. When it sees this depends on the
// scheduler: it may still write its preface or its settings.
var (
	noPreface = regexp.MustCompile(`error reading server preface|failed to write (client preface|initial settings frame|window update)`)
	tlsClosed = regexp.MustCompile(`connection reset by peer|broken pipe|remote error: tls: `)
)

// plainly returns a short text for errors of gRPC whose cause is known.
func (c *replayer) plainly(err error) error {
	text := err.Error()
	for _, s := range sendCauses {
		if strings.Contains(text, s.cause) {
			return fmt.Errorf("%s%s (%s)", sendPrefix.FindString(text), s.text, s.hint)
		}
	}
	if !noPreface.MatchString(text) && !(c.secure() && tlsClosed.MatchString(text)) {
		return err
	}
	what, hint := "the endpoint closed the connection", "it may expect TLS: add --tls"
	switch {
	case c.accepted.Load() && !strings.Contains(text, "certificate required"): // a batch was accepted, so the flags for TLS are right
		return fmt.Errorf("%s%s", sendPrefix.FindString(text), what)
	case c.cert != "":
		hint = "it may not accept the certificate: check --cert and --key"
	case strings.Contains(text, "certificate required"):
		what, hint = "the endpoint wants a certificate of the client", "add --cert and --key"
	case c.secure():
		hint = "it may want a certificate of the client: add --cert and --key"
	}
	return fmt.Errorf("%s%s (%s)", sendPrefix.FindString(text), what, hint)
}

// secure reports whether replay uses TLS.
func (c *replayer) secure() bool { return c.tls || c.ca != "" || c.cert != "" }

// credentials returns the credentials that the TLS flags describe.
func (c *replayer) credentials() (credentials.TransportCredentials, error) {
	if (c.cert == "") != (c.key == "") {
		return nil, usagef("--cert and --key belong together: give both")
	}
	if !c.secure() {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{}
	if c.ca != "" {
		pem, err := os.ReadFile(c.ca)
		if err != nil {
			return nil, &file.Error{Name: c.ca, Err: err}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &file.ContentError{Name: c.ca, Err: errors.New("the file has no certificate in PEM form")}
		}
	}
	if c.cert != "" {
		pair, err := c.keyPair()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// keyPair reads the certificate of the client and its key.
func (c *replayer) keyPair() (tls.Certificate, error) {
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return tls.Certificate{}, &file.Error{Name: c.cert, Err: err}
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return tls.Certificate{}, &file.Error{Name: c.key, Err: err}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return pair, &file.ContentError{Name: c.cert, Err: fmt.Errorf("with --key %s: %w", c.key, err)}
	}
	return pair, nil
}

func (c *replayer) connect() (*grpc.ClientConn, *replay.Sender, error) {
	c.protocol = cmp.Or(c.protocol, "otlp")
	if c.protocol == "stef" && c.compression == "gzip" {
		return nil, nil, usagef("--compression gzip is for --protocol otlp")
	}
	if err := registerZstd(); err != nil {
		return nil, nil, err
	}
	if err := checkEndpoint(c.endpoint); err != nil {
		return nil, nil, err
	}
	creds, err := c.credentials()
	if err != nil {
		return nil, nil, err
	}
	conn, err := grpc.NewClient(c.endpoint, grpc.WithTransportCredentials(creds), grpc.WithPerRPCCredentials(c.headers))
	if err != nil {
		return nil, nil, usagef("--endpoint %s: %v", c.endpoint, err)
	}
	if c.protocol == "otlp" {
		compression := cmp.Or(c.compression, "gzip")
		if compression == "none" {
			compression = ""
		}
		return conn, replay.NewOTLPSender(conn, compression), nil
	}
	compression := stef.Zstd
	if c.compression == "none" {
		compression = stef.None
	}
	sender, err := replay.NewSTEFSender(conn, compression)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, sender, nil
}

// address is HOST:PORT.
var address = regexp.MustCompile(`^[A-Za-z0-9.-]+:[0-9]+$`)

// source reads a file each time it is called.
func (c *replayer) source(name string) replay.Source {
	return func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) {
			in, err := file.Open(name, nil)
			if err != nil {
				yield(otlpfile.Batch{}, err)
				return
			}
			defer in.Close()
			convert.Batches(in, c.signal, c.notes.print)(yield)
		}
	}
}
