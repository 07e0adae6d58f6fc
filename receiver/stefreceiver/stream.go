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
	// Acked returns the id up to which all records are settled.
	Acked() uint64
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
	client    *clientState
	memory    *streamUsage

	// ctx is the context for the pipeline. It has the values of the stream's context,
	// such as the identity of the client, but does not end with it: if a client
	// disconnects, the data that it sent before is still processed.
	ctx context.Context
	// decodeCtx ends when the stream ends, fails or must end.
	decodeCtx context.Context
	stop      context.CancelFunc

	slots           chan struct{} // one for each batch that the pipeline may process at the same time
	unanswered      chan struct{} // one for each batch that may be decoded and not answered: one more than in slots
	processing      sync.WaitGroup
	rejections      rejections
	failure         atomic.Pointer[failure] // why the stream ends early
	evicted         atomic.Bool             // the stream must end because it holds too much memory
	refused         bool                    // the stream ends because too much data waits for admission
	unacked         atomic.Int64            // records decoded, but neither acknowledged nor rejected
	admitted        bool                    // the stream may decode (core.decoding) and has admitted bytes
	resumeAdmission bool                    // the stream released the permission to decode and the admitted bytes while it waits for the client
	admittedBytes   int64                   // bytes of admission that the stream uses for the next batch
	permit          bool                    // the stream holds a permit of core.streamThrottle
	resumePermit    bool                    // the stream released its permit while it waits for the client, and acquires it again
	readerMemory    int64                   // memory of the reader after the last batch
	measuredAt      int64                   // number of delivered bytes when readerMemory was measured
	compressed      bool
	frameMemory     int64 // memory for a frame that is allocated before its bytes arrive

	records        uint64 // number of decoded records
	wireBytes      int64  // received bytes
	plainBytes     int64  // decompressed bytes
	dictBytes      int64  // memory of the dictionaries
	allocatedBytes int64  // bytes that decoding has allocated so far
	sizer          sizer
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
	s.client, leave = s.core.clients.join(s.transport.Context())
	defer leave()
	ctx, cancel := s.core.detachContext(s.transport.Context())
	defer cancel()
	s.ctx = ctx
	s.decodeCtx, s.stop = context.WithCancel(s.transport.Context())
	defer s.stop()

	err := s.decodeAll()
	if errors.Is(err, context.Canceled) && s.transport.Context().Err() != nil {
		err = s.source.end() // the context ends also when gRPC refuses a message
	}
	if err != nil && !s.refused && s.decodeCtx.Err() == nil {
		s.client.credit.add(0, errorCost)
	}
	s.processing.Wait()
	if failure := s.failure.Load(); failure != nil {
		err = failure.status.Err()
	} else if s.evicted.Load() {
		err = errHeldMost
	}
	s.meter.unacked(-s.unacked.Load())
	s.meter.dictionaries(-s.dictBytes, false)
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
	defer s.core.recoverPanic(s.meter, "decoder", &err)
	defer s.release()
	if err := s.core.memory.wait(s.decodeCtx); err != nil {
		return err
	}
	if err := s.acquirePermit(s.client.credit.add(0, streamCost) < 0); err != nil {
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
	s.releasePermit(s.permit, streamWork, 0)
	s.permit = false
	stats := s.reader.Stats()
	s.compressed = stats.Compression == stef.Zstd
	s.noteMemory(stats)
	for s.failure.Load() == nil && !s.evicted.Load() {
		select { // wait here, before the stream acquires anything that other clients need
		case s.unanswered <- struct{}{}:
		case <-s.decodeCtx.Done():
			return s.decodeCtx.Err()
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
	s.readerMemory, s.measuredAt = int64(stats.HeldBytes), s.source.delivered
	s.core.memory.set(s.memory, s.readerMemory)
}

// admit waits for the start of the next batch, and then for the permission to decode and
// for admission. At the end of the stream it returns nil without admission.
func (s *stream[T]) admit() error {
	expected := s.sizer.last
	s.frameMemory = partialFrame
	var plain, coded int64 // announced sizes of the next frame, if a frame is next
	if s.reader.BufferedRecords() == 0 && s.source.delivered == s.reader.Stats().Bytes {
		if !s.source.await() {
			return nil
		}
		if plain, coded = s.source.frameSizes(s.compressed); plain > 0 {
			s.frameMemory = min(plain, partialFrame)
			if expected == 0 {
				expected = min(plain, int64(s.core.config.MaxBatchMiB)*mib)
			}
		}
	}
	if err := s.core.memory.wait(s.decodeCtx); err != nil {
		return err
	}
	if err := s.estimateCost(plain, coded); err != nil {
		return err
	}
	// Acquire the permission to decode before admission. Only a few streams have this permission
	// at the same time, so only these few can wait for admission. All other streams wait here, and
	// hold only received bytes.
	if err := s.core.decoding.acquire(s.decodeCtx, &s.client.decoding, 1); err != nil {
		return err
	}
	weight := s.core.admission.weight(expected)
	err := s.core.admission.acquire(s.decodeCtx, &s.client.admission, weight)
	s.admitted, s.admittedBytes = true, 0 // from here on, release releases the permission to decode and the admitted bytes
	if err == nil {
		s.admittedBytes = weight
		return nil
	}
	if !errors.Is(err, errQueueFull) {
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
	left := s.client.credit.balance() + creditPerByte*coded
	if err := s.acquirePermit(left < plain); err != nil {
		return err
	}
	limit := int64(s.core.config.MaxBatchMiB) * mib
	if s.permit {
		limit = min(limit, throttledBatch)
	} else {
		limit = min(limit, max(throttledBatch, memoryPerOTLP*left))
	}
	s.decoder.SetMaxBytes(int(limit))
	return nil
}

// acquirePermit acquires a permit of the throttle if the stream is expensive and other clients are
// active.
func (s *stream[T]) acquirePermit(expensive bool) (err error) {
	if !expensive {
		s.core.streamThrottle.lastCheap.Store(int64(time.Since(processStart)))
		return nil
	}
	s.permit, err = s.core.streamThrottle.acquirePermit(s.decodeCtx, &s.client.streamThrottle)
	return err
}

// releasePermit releases the permit of the throttle, if held is true, after the work on a batch of
// the given weight.
func (s *stream[T]) releasePermit(held bool, worked time.Duration, weight int64) {
	if held {
		s.core.streamThrottle.releasePermit(s.decodeCtx, &s.client.streamThrottle, worked, weight)
	}
}

// streamWork is the approximate time to create a decoder.
const streamWork = time.Millisecond

// pause releases the admission of the stream while it waits for the client within a frame.
// So a client cannot block other clients by sending half of a frame.
func (s *stream[T]) pause() {
	if received := s.source.delivered - s.measuredAt; received > 0 {
		s.core.memory.set(s.memory, s.readerMemory+s.frameMemory+2*received)
	}
	s.resumeAdmission, s.resumePermit = s.admitted, s.permit
	s.release()
}

// resume acquires again what pause released. It waits for the permit of the throttle and for the
// permission to decode, but not for the admitted bytes.
func (s *stream[T]) resume() {
	if s.resumePermit {
		s.resumePermit = false
		if s.core.streamThrottle.acquire(s.decodeCtx, &s.client.streamThrottle, 1) != nil {
			return // the next read returns the reason
		}
		s.permit = true
	}
	if !s.resumeAdmission {
		return
	}
	s.resumeAdmission = false
	if s.core.decoding.acquire(s.decodeCtx, &s.client.decoding, 1) != nil {
		return // the next read returns the reason
	}
	s.admitted = true
	s.core.admission.reacquire(&s.client.admission, s.admittedBytes)
}

func (s *stream[T]) release() {
	if s.permit {
		s.permit = false
		s.core.streamThrottle.release(&s.client.streamThrottle, 1)
	}
	if s.admitted {
		s.admitted = false
		s.core.decoding.release(&s.client.decoding, 1)
		s.core.admission.release(&s.client.admission, s.admittedBytes)
	}
}

// next decodes a batch and starts to process it. If a frame is damaged, next first starts to
// process the records before the damage, and then returns the error.
func (s *stream[T]) next() error {
	begin := time.Now()
	decoded, err := s.decoder.Decode()
	stats := s.reader.Stats()
	stats.Records = s.decoder.Records() // without a record that ends the stream because it is too large
	b := batch[T]{data: decoded, from: s.records + 1, to: stats.Records, permit: s.permit, began: begin}
	s.permit = false
	var bad stefpdata.RecordErrors
	if errors.As(err, &bad) {
		b.bad, err = idsOf(bad), nil
		if s.reader.Err() != nil || s.decoder.Records() < s.reader.Stats().Records {
			_, err = s.decoder.Decode() // returns the error that ended the stream after these records
		}
	}
	s.countBatch(&b, stats)
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

// countBatch counts a batch, and corrects its admitted amount.
func (s *stream[T]) countBatch(b *batch[T], stats stef.ReaderStats) {
	b.items = s.Items(b.data)
	wire := stats.Bytes - s.wireBytes
	estimate := int64(s.decoder.BatchBytes())
	size := s.sizer.size(estimate, func() int { return s.Size(b.data) })
	b.weight = s.sizer.weight(size, estimate)
	s.client.credit.add(wire, batchCost(b.weight, stats.Records-s.records, stats.PlainBytes-s.plainBytes,
		newlyHeld(s.readerMemory, int64(stats.HeldBytes)), stats.AddedBytes-s.allocatedBytes))
	b.weight = s.core.admission.weight(b.weight)
	change := b.weight
	if s.admitted {
		s.admitted = false
		s.core.decoding.release(&s.client.decoding, 1)
		change -= s.admittedBytes
	}
	s.core.admission.adjust(&s.client.admission, change)

	s.meter.received(stats.Records-s.records, wire, stats.PlainBytes-s.plainBytes, size)
	s.meter.dictionaries(int64(stats.DictBytes)-s.dictBytes, int64(stats.DictBytes) < s.dictBytes)
	s.transport.Decoded(stats.Records)
	s.count(int64(stats.Records - s.records))
	s.records, s.wireBytes, s.plainBytes, s.dictBytes = stats.Records, stats.Bytes, stats.PlainBytes, int64(stats.DictBytes)
	s.allocatedBytes = stats.AddedBytes
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
