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

// transport has the methods of *stefgrpc.ServerStream that this package uses. Tests replace it.
type transport interface {
	io.Reader
	Context() context.Context
	ReaderOptions() []stef.ReaderOption
	// Decoded announces that records up to id will be acknowledged or rejected.
	Decoded(id uint64)
	// Ack acknowledges records, and Reject rejects records. Both settle them.
	Ack(from, to uint64)
	Reject(from, to uint64)
	// StopReading makes Read return soon, even within a chunk.
	StopReading()
	// EndedByServer reports whether Read itself ended the stream.
	EndedByServer() bool
}

// stream passes the batches of one STEF stream to the pipeline. Its methods run on the goroutine
// of the handler. The exceptions are evict, count and fail, and the methods that run on the
// goroutine of each batch: process, answer and what they call.
type stream[T any] struct {
	*pipe[T]
	transport transport
	source    source
	reader    signal.Reader
	decoder   *signal.Decoder[T]
	party     *party
	memory    *streamShare

	// ctx is the context for the pipeline. It has the values of the stream's context,
	// such as the identity of the client, but does not end with it: if a client
	// disconnects, the data that it sent before is still processed.
	ctx context.Context
	// going ends when the stream ends, fails or must end.
	going context.Context
	stop  context.CancelFunc

	slots      chan struct{} // one for each batch that the pipeline may process at the same time
	unanswered chan struct{} // one for each batch that may be decoded and not answered: one more than in slots
	running    sync.WaitGroup
	failure    atomic.Pointer[failure] // why the stream ends early
	evicted    atomic.Bool             // the stream must end because it holds too much memory
	refused    bool                    // the stream ends because too much data waits for admission
	unacked    atomic.Int64            // records decoded, but neither acknowledged nor rejected
	decoding   bool                    // the stream may decode (core.decoding) and has admitted bytes
	paused     bool                    // the stream released the permission to decode and the admitted bytes while it waits for the client
	held       int64
	lane       bool  // the stream holds a lane (see lanes)
	yielded    bool  // the stream released its lane while it waits for the client
	kept       int64 // memory of the reader after the last batch
	mark       int64 // number of delivered bytes when kept was measured
	compressed bool
	claimed    int64 // memory for a frame that is allocated before its bytes arrive

	records uint64 // number of decoded records
	wire    int64
	plain   int64
	dict    int64
	added   int64
	sizer   sizer
}

// failure is a batch that was refused temporarily.
type failure struct {
	from   uint64 // id of the first record
	status *status.Status
}

func newStream[T any](p *pipe[T], t transport) *stream[T] {
	s := &stream[T]{
		pipe:      p,
		transport: t,
		slots:     make(chan struct{}, p.core.config.ConsumersPerStream),
		// One more batch is decoded while the other batches are in the pipeline.
		unanswered: make(chan struct{}, p.core.config.ConsumersPerStream+1),
	}
	s.source = source{from: t, pause: s.pause, resume: s.resume}
	return s
}

// serve decodes the stream to its end and returns the error with which the stream ends. Before it
// returns, it waits until no batch of the stream is in the pipeline, because the client then sends
// unacknowledged batches again.
func (s *stream[T]) serve() error {
	s.meter.opened()
	var leave func()
	s.party, leave = s.core.parties.join(s.transport.Context())
	defer leave()
	ctx, cancel := s.core.outlive(s.transport.Context())
	defer cancel()
	s.ctx = ctx
	s.going, s.stop = context.WithCancel(s.transport.Context())
	defer s.stop()

	err := s.decodeAll()
	if errors.Is(err, context.Canceled) && s.transport.Context().Err() != nil {
		err = s.source.end() // the context ends also when gRPC refuses a message
	}
	if err != nil && !s.refused && s.going.Err() == nil {
		s.party.credit.add(0, errorCost)
	}
	s.running.Wait()
	if failure := s.failure.Load(); failure != nil {
		err = failure.status.Err()
	} else if s.evicted.Load() {
		err = errHeldMost
	}
	s.meter.unacked(-s.unacked.Load())
	s.meter.dictionaries(-s.dict, false)
	s.ended(err)
	return err
}

// evict ends the stream gracefully, because it holds the most memory of all streams. It is safe
// for concurrent use.
func (s *stream[T]) evict() {
	s.evicted.Store(true)
	s.stop()
	s.transport.StopReading()
}

// decodeAll decodes batches and starts to process them, until the end of the stream or the first
// failure.
func (s *stream[T]) decodeAll() (err error) {
	s.core.releaser.join()
	defer s.core.releaser.leave()
	s.memory = s.core.memory.join(s.evict)
	defer s.core.memory.leave(s.memory)
	defer s.core.catch(s.meter, "decoder", &err)
	defer s.release()
	if err := s.core.memory.wait(s.going); err != nil {
		return err
	}
	if err := s.acquireLane(s.party.credit.add(0, streamCost) < 0); err != nil {
		return err
	}
	options := []stefpdata.DecoderOption{
		stefpdata.WithMaxItems(s.core.maxItems()),
		stefpdata.WithMaxBytes(s.core.config.MaxBatchMiB * mib),
	}
	s.decoder, err = s.NewDecoder(&s.source, options, s.core.readerOptions(s.transport.ReaderOptions())...)
	if err != nil {
		if s.source.delivered == 0 && s.source.err == io.EOF {
			return nil // opened and closed without data
		}
		return err
	}
	s.reader = s.decoder.Reader
	defer s.reader.Close()
	s.releaseLane(s.lane, streamWork, 0)
	s.lane = false
	stats := s.reader.Stats()
	s.compressed = stats.Compression == stef.Zstd
	s.noteMemory(stats)
	for s.failure.Load() == nil && !s.evicted.Load() {
		select { // wait here, before the stream acquires anything that other clients need
		case s.unanswered <- struct{}{}:
		case <-s.going.Done():
			return s.going.Err()
		}
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

// noteMemory records the memory that the reader holds after a batch was decoded.
func (s *stream[T]) noteMemory(stats stef.ReaderStats) {
	s.kept, s.mark = int64(stats.HeldBytes), s.source.delivered
	s.core.memory.set(s.memory, s.kept)
}

// admit waits for the start of the next batch, and then for the permission to decode and
// for admission. At the end of the stream it returns nil without admission.
func (s *stream[T]) admit() error {
	expected := s.sizer.last
	s.claimed = partialFrame
	var plain, coded int64 // announced sizes of the next frame, if a frame is next
	if s.reader.BufferedRecords() == 0 && s.source.delivered == s.reader.Stats().Bytes {
		if !s.source.await() {
			return nil
		}
		if plain, coded = s.source.frameSizes(s.compressed); plain > 0 {
			s.claimed = min(plain, partialFrame)
			if expected == 0 {
				expected = min(plain, int64(s.core.config.MaxBatchMiB)*mib)
			}
		}
	}
	if err := s.core.memory.wait(s.going); err != nil {
		return err
	}
	if err := s.estimateCost(plain, coded); err != nil {
		return err
	}
	// Acquire the permission to decode before admission. Only a few streams have this permission
	// at the same time, so only these few can wait for admission. All other streams wait here, and
	// hold only received bytes.
	if err := s.core.decoding.acquire(s.going, &s.party.decoding, 1); err != nil {
		return err
	}
	weight := s.core.admission.weight(expected)
	err := s.core.admission.acquire(s.going, &s.party.admission, weight)
	s.decoding, s.held = true, 0 // from here on, release releases the permission to decode and the admitted bytes
	if err == nil {
		s.held = weight
		return nil
	}
	if !errors.Is(err, errNoRoom) {
		return err
	}
	// Read the first record to count the records of the frame. None of these records reaches
	// the pipeline. While this read waits for the client, pause releases the permission to decode.
	items := 0
	if s.reader.Next() {
		items = 1 + int(s.reader.BufferedRecords())
	}
	s.refused = true
	s.meter.notAdmitted("stef")
	s.refuse(s.ctx, s.obs.stef, formatSTEF, items, err)
	return unavailable(err.Error(), s.core.config.RetryAfter).Err()
}

// partialFrame is the maximum memory that a reader allocates for a frame before
// its bytes arrive.
const partialFrame = 4 * mib

// estimateCost decides whether the next batch is expensive, and how large it may be. plain
// and coded are the announced sizes of the frame that begins with the batch, or 0 if no frame
// begins or its sizes are not known.
func (s *stream[T]) estimateCost(plain, coded int64) error {
	left := s.party.credit.balance() + creditPerByte*coded
	if err := s.acquireLane(left < plain); err != nil {
		return err
	}
	limit := int64(s.core.config.MaxBatchMiB) * mib
	if s.lane {
		limit = min(limit, laneBatch)
	} else {
		limit = min(limit, max(laneBatch, memoryPerOTLP*left))
	}
	s.decoder.SetMaxBytes(int(limit))
	return nil
}

// acquireLane acquires a lane (see lanes) if the stream is expensive and other clients are present.
func (s *stream[T]) acquireLane(expensive bool) (err error) {
	if !expensive {
		s.core.lanes.cheap.Store(int64(time.Since(processStart)))
		return nil
	}
	s.lane, err = s.core.lanes.enter(s.going, &s.party.lanes)
	if err != nil {
		s.lane = false
	}
	return err
}

// releaseLane releases the lane (see lanes), if held is true, after the work on a batch of the
// given weight.
func (s *stream[T]) releaseLane(held bool, worked time.Duration, weight int64) {
	if held {
		s.core.lanes.leave(s.going, &s.party.lanes, worked, weight)
	}
}

// streamWork is the approximate time to create a decoder.
const streamWork = time.Millisecond

// pause releases the admission of the stream while it waits for the client within a frame.
// So a client cannot block other clients by sending half of a frame.
func (s *stream[T]) pause() {
	if received := s.source.delivered - s.mark; received > 0 {
		s.core.memory.set(s.memory, s.kept+s.claimed+2*received)
	}
	s.paused, s.yielded = s.decoding, s.lane
	s.release()
}

// resume acquires again what pause released. It waits for the lane (see lanes) and for the
// permission to decode, but not for the admitted bytes.
func (s *stream[T]) resume() {
	if s.yielded {
		s.yielded = false
		if s.core.lanes.acquire(s.going, &s.party.lanes, 1) != nil {
			return // the next read returns the reason
		}
		s.lane = true
	}
	if !s.paused {
		return
	}
	s.paused = false
	if s.core.decoding.acquire(s.going, &s.party.decoding, 1) != nil {
		return // the next read returns the reason
	}
	s.decoding = true
	s.core.admission.reacquire(&s.party.admission, s.held)
}

func (s *stream[T]) release() {
	if s.lane {
		s.lane = false
		s.core.lanes.release(&s.party.lanes, 1)
	}
	if s.decoding {
		s.decoding = false
		s.core.decoding.release(&s.party.decoding, 1)
		s.core.admission.release(&s.party.admission, s.held)
	}
}

// next decodes a batch and starts to process it. If a frame is damaged, next first starts to
// process the records before the damage, and then returns the error.
func (s *stream[T]) next() error {
	begin := time.Now()
	decoded, err := s.decoder.Decode()
	stats := s.reader.Stats()
	stats.Records = s.decoder.Records() // without a record that ends the stream because it is too large
	b := batch[T]{data: decoded, from: s.records + 1, to: stats.Records, lane: s.lane, began: begin}
	s.lane = false
	var bad stefpdata.RecordErrors
	if errors.As(err, &bad) {
		b.bad, err = idsOf(bad), nil
		if s.reader.Err() != nil || s.decoder.Records() < s.reader.Stats().Records {
			_, err = s.decoder.Decode() // returns the error that ended the stream after these records
		}
	}
	s.account(&b, stats)
	if len(bad) > 0 {
		s.refuse(s.ctx, s.obs.stef, formatSTEF, int(bad.Records()), bad)
	}
	if b.from <= b.to {
		s.dispatch(b)
	} else {
		s.settle(&b)
		<-s.unanswered
	}
	return err
}

// account counts a batch, and corrects its admitted amount.
func (s *stream[T]) account(b *batch[T], stats stef.ReaderStats) {
	b.items = s.Items(b.data)
	wire := stats.Bytes - s.wire
	estimate := int64(s.decoder.BatchBytes())
	size := s.sizer.size(estimate, func() int { return s.Size(b.data) })
	b.weight = s.sizer.weight(size, estimate)
	s.party.credit.add(wire, batchCost(b.weight, stats.Records-s.records, stats.PlainBytes-s.plain,
		newlyHeld(s.kept, int64(stats.HeldBytes)), stats.AddedBytes-s.added))
	b.weight = s.core.admission.weight(b.weight)
	change := b.weight
	if s.decoding {
		s.decoding = false
		s.core.decoding.release(&s.party.decoding, 1)
		change -= s.held
	}
	s.core.admission.adjust(&s.party.admission, change)

	s.meter.received(stats.Records-s.records, wire, stats.PlainBytes-s.plain, size)
	s.meter.dictionaries(int64(stats.DictBytes)-s.dict, int64(stats.DictBytes) < s.dict)
	s.transport.Decoded(stats.Records)
	s.count(int64(stats.Records - s.records))
	s.records, s.wire, s.plain, s.dict = stats.Records, stats.Bytes, stats.PlainBytes, int64(stats.DictBytes)
	s.added = stats.AddedBytes
	s.noteMemory(stats)
}

// count records a change in the number of records that are neither acknowledged nor rejected. It is
// safe for concurrent use.
func (s *stream[T]) count(change int64) {
	s.unacked.Add(change)
	s.meter.unacked(change)
}

// fail ends the stream, after all accepted records have been acknowledged. It is
// safe for concurrent use.
func (s *stream[T]) fail(why failure) {
	if s.failure.CompareAndSwap(nil, &why) {
		s.stop()
		s.transport.StopReading()
	}
}
