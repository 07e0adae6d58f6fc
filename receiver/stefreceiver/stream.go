// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-pdata"
)

// transport is a stream of the STEF transport. *stefgrpc.ServerStream is one.
type transport interface {
	io.Reader
	Context() context.Context
	ReaderOptions() []stef.ReaderOption
	// Finished and Reject settle records.
	Ack(from, to uint64)
	Reject(from, to uint64)
	// StopReading makes Read return soon.
	StopReading()
}

// stream takes the batches of one STEF stream to the pipeline. Its methods are
// of the goroutine of the handler unless they say otherwise.
type stream[T any] struct {
	*pipe[T]
	transport transport
	source    source
	reader    signal.Reader
	decoder   *signal.Decoder[T]

	// ctx is what the pipeline gets: the values of the stream, such as who the
	// client is, but not its end. A client that hangs up does not cancel what it
	// sent before.
	ctx context.Context
	// going ends with the stream, and as soon as it fails.
	going context.Context
	stop  context.CancelFunc

	slots    chan struct{} // of batches the pipeline may have at a time
	running  sync.WaitGroup
	failure  atomic.Pointer[failure] // why the stream ends before its end
	unacked  atomic.Int64            // records decoded and not settled
	decoding bool                    // admitted, by held bytes
	paused   bool                    // would be, but for a client that is slow
	held     int64

	begun   time.Time
	records uint64 // decoded
	wire    int64
	dict    int64
	sizer   sizer
}

// failure is a batch that was refused for the moment.
type failure struct {
	from   uint64 // its first record
	status *status.Status
}

func newStream[T any](p *pipe[T], t transport) *stream[T] {
	s := &stream[T]{
		pipe:      p,
		transport: t,
		slots:     make(chan struct{}, p.shared.config.ConsumersPerStream),
		begun:     time.Now(),
		sizer:     newSizer(),
	}
	s.source = source{from: t, pause: s.pause, resume: s.resume}
	return s
}

// serve returns how the stream ends. By then all batches of it are settled, or
// will be sent again.
func (s *stream[T]) serve() error {
	s.meter.opened()
	ctx, cancel := s.shared.outlive(s.transport.Context())
	defer cancel()
	s.ctx = ctx
	s.going, s.stop = context.WithCancel(s.transport.Context())
	defer s.stop()

	err := s.decodeAll()
	s.running.Wait()
	if failure := s.failure.Load(); failure != nil {
		err = failure.status.Err()
	}
	s.meter.unacked(-s.unacked.Load())
	s.meter.dictionaries(-s.dict, false)
	s.ended(err)
	return err
}

// decodeAll decodes batch after batch and hands them over, to the end of the
// stream or the first failure.
func (s *stream[T]) decodeAll() (err error) {
	defer s.shared.catch(s.meter, "decoder", &err)
	defer s.release()
	options := []stefpdata.DecoderOption{stefpdata.WithMaxItems(s.shared.maxItems())}
	s.decoder, err = s.NewDecoder(&s.source, options, s.shared.readerOptions(s.transport.ReaderOptions())...)
	if err != nil {
		if s.source.delivered == 0 && s.source.err == io.EOF {
			return nil // opened and closed without a word
		}
		return err
	}
	s.reader = s.decoder.Reader
	defer s.reader.Close()
	for s.failure.Load() == nil {
		if err := s.admit(); err != nil {
			return err
		}
		if err := s.next(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
	return nil
}

// admit waits for the next batch to begin, and then until there is room for it.
// At the end of the stream it admits nothing.
func (s *stream[T]) admit() error {
	ahead := s.reader.Buffered() > 0 || s.source.delivered > s.reader.Stats().Bytes
	if !ahead && !s.source.await() {
		return nil
	}
	weight := s.shared.admission.weight(s.sizer.expected())
	err := s.shared.admission.acquire(s.going, weight)
	if err == nil {
		s.held, s.decoding = weight, true
		s.shared.decoding <- struct{}{}
		return nil
	}
	if !errors.Is(err, errNoRoom) {
		return err
	}
	// The first record tells how many there are in the frame. Nothing of it
	// reaches the pipeline.
	items := 0
	if s.reader.Next() {
		items = 1 + int(s.reader.Buffered())
	}
	s.meter.notAdmitted("stef")
	s.refuse(s.ctx, s.obs.stef, formatSTEF, items, err)
	return unavailable(err.Error(), s.shared.config.RetryAfter).Err()
}

// pause gives back what the stream was given to decode, for as long as the
// client keeps it waiting within a frame. A client cannot hold a place by
// sending half of something.
func (s *stream[T]) pause() {
	s.paused = s.decoding
	s.release()
}

// resume takes it again. It does not wait for admission a second time.
func (s *stream[T]) resume() {
	if s.paused {
		s.paused, s.decoding = false, true
		s.shared.admission.add(s.held)
		s.shared.decoding <- struct{}{}
	}
}

// release gives back what is held to decode.
func (s *stream[T]) release() {
	if s.decoding {
		s.decoding = false
		<-s.shared.decoding
		s.shared.admission.add(-s.held)
	}
}

// next decodes a batch and hands it over. A stream that breaks within a frame
// gives what came before the break, and then the error.
func (s *stream[T]) next() error {
	decoded, err := s.decoder.Decode()
	stats := s.reader.Stats()
	b := batch[T]{data: decoded, from: s.records + 1, to: stats.Records}
	var bad stefpdata.RecordErrors
	if errors.As(err, &bad) {
		b.bad, err = bad, nil
	}
	s.account(&b, stats)
	if b.from <= b.to {
		s.hand(b)
	}
	return err
}

// account counts a batch, and puts right what it was admitted with.
func (s *stream[T]) account(b *batch[T], stats stef.ReaderStats) {
	b.items = s.Items(b.data)
	wire := stats.Bytes - s.wire
	size := s.sizer.size(b.items, wire, func() int { return s.Size(b.data) })
	b.weight = s.shared.admission.weight(size)
	change := b.weight
	if s.decoding {
		s.decoding = false
		<-s.shared.decoding
		change -= s.held
	}
	s.shared.admission.add(change)

	s.meter.received(wire, size)
	s.meter.dictionaries(int64(stats.DictBytes)-s.dict, int64(stats.DictBytes) < s.dict)
	s.count(int64(stats.Records - s.records))
	s.records, s.wire, s.dict = stats.Records, stats.Bytes, int64(stats.DictBytes)
}

// count counts records that are not settled. It is safe for concurrent use.
func (s *stream[T]) count(change int64) {
	s.unacked.Add(change)
	s.meter.unacked(change)
}

// fail ends the stream, after what was accepted of it has been acknowledged. It
// is safe for concurrent use.
func (s *stream[T]) fail(why failure) {
	if s.failure.CompareAndSwap(nil, &why) {
		s.stop()
		s.transport.StopReading()
	}
}
