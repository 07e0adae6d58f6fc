// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// These tests and benchmarks use log records. The time of each record is a number
// that no other record has.

// numbers is a batch of records. Encoding a broken batch fails.
type numbers struct {
	first, last uint64
	broken      bool
	told        *sync.Map // numbers that servers reported bad since the batch was first sent
}

func (b numbers) size() uint64 { return b.last - b.first + 1 }

// numberWriter encodes batches and stores which record id each number has in the stream.
type numberWriter struct {
	w       *otelstef.LogsWriter
	mu      sync.Mutex
	batches []sentNumbers
	problem func(error)
}

type sentNumbers struct {
	numbers
	id uint64 // record id of the first number
}

var errBroken = errors.New("a batch nobody can encode")

func (w *numberWriter) WriteBatch(b numbers) (uint64, error) {
	if b.broken {
		return w.w.Stats().Records, &stefgrpc.BatchError{Err: errBroken}
	}
	w.mu.Lock()
	w.batches = append(w.batches, sentNumbers{b, w.w.Stats().Records + 1})
	w.mu.Unlock()
	for n := b.first; n <= b.last; n++ {
		if _, told := b.told.Load(n); told {
			w.problem(fmt.Errorf("%d was reported bad and is sent again", n))
		}
		fillNumber(w.w.Record().Record(), n)
		if err := w.w.Write(); err != nil {
			return 0, err
		}
	}
	return w.w.Stats().Records, nil
}

// response marks the rejected numbers in their batches.
func (w *numberWriter) response(r stefgrpc.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, bad := range r.Rejected {
		for id := bad.From; id <= bad.To; id++ {
			at, found := slices.BinarySearchFunc(w.batches, id, func(b sentNumbers, id uint64) int { return cmp.Compare(b.id, id) })
			if !found {
				at--
			}
			b := w.batches[at]
			b.told.Store(b.first+id-b.id, true)
		}
	}
}

// fillNumber sets the fields of a record from its number. Some texts repeat.
func fillNumber(r *otelstef.LogRecord, n uint64) {
	r.SetTime(n)
	r.SetSeverityNumber(n % 24)
	r.SetEventName(eventNames[n/3%uint64(len(eventNames))])
}

var eventNames = func() (list []string) {
	for i := range 64 {
		list = append(list, fmt.Sprintf("event %d of the test", i))
	}
	return list
}()

func (w *numberWriter) Flush() error { return w.w.Flush() }

// BufferedBytes returns an estimate: the number of records times 8 bytes.
func (w *numberWriter) BufferedBytes() int {
	s := w.w.Stats()
	return int(s.Records-s.Flushed) * 8
}

func bad(n uint64) bool { return n%101 == 7 || n%997 < 3 }

// sink is the destination to which all servers deliver. It continues when servers are replaced.
type sink struct {
	mu        sync.Mutex
	delivered map[uint64]int
	problems  []string
}

func newSink() *sink { return &sink{delivered: map[uint64]int{}} }

func (s *sink) accept(list []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range list {
		s.delivered[n]++
	}
}

func (s *sink) problem(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err.Error())
}

type temper struct {
	late  time.Duration // maximum time to process a frame, concurrently with other frames
	fails float64       // probability that a frame ends the stream
}

// handler returns a handler that passes records to the sink. Its random decisions depend only on the
// seed and the number of the stream.
func (s *sink) handler(seed uint64, temperOf func() temper) stefgrpc.HandlerFunc {
	var mu sync.Mutex
	var streams uint64
	return func(ss *stefgrpc.ServerStream) error {
		mu.Lock()
		streams++
		r := rand.New(rand.NewPCG(seed, streams))
		mu.Unlock()
		return s.serve(ss, r, temperOf)
	}
}

func (s *sink) serve(ss *stefgrpc.ServerStream, random *rand.Rand, temperOf func() temper) error {
	reader, err := otelstef.NewLogsReader(ss, ss.ReaderOptions()...)
	if err != nil {
		return err
	}
	defer reader.Close()
	var workers sync.WaitGroup
	defer workers.Wait()
	var frame []uint64
	var id uint64
	for reader.Next() {
		frame = append(frame, reader.Record().Record().Time())
		id++
		if reader.BufferedRecords() > 0 {
			continue
		}
		t := temperOf()
		if random.Float64() < t.fails {
			return failure(random)
		}
		list, last := slices.Clone(frame), id
		frame = frame[:0]
		if t.late == 0 {
			s.finish(ss, list, last)
			ss.AckUpTo(last)
			continue
		}
		pause := time.Duration(random.Int64N(int64(t.late)))
		workers.Go(func() {
			time.Sleep(pause)
			s.finish(ss, list, last)
			ss.Ack(last-uint64(len(list))+1, last)
		})
	}
	if err := reader.Err(); err != nil {
		var known *stefgrpc.Error
		if !errors.As(err, &known) {
			s.problem(fmt.Errorf("a stream that does not decode: %w", err))
		}
		return err
	}
	return nil
}

// finish accepts the good records of a frame and rejects its bad records.
func (s *sink) finish(ss *stefgrpc.ServerStream, list []uint64, last uint64) {
	first := last - uint64(len(list)) + 1
	var good []uint64
	for i, n := range list {
		if bad(n) {
			ss.Reject(first+uint64(i), first+uint64(i))
			continue
		}
		good = append(good, n)
	}
	s.accept(good)
}

// failure returns a temporary error, with or without a retry delay.
func failure(r *rand.Rand) error {
	e := &stefgrpc.Error{Kind: stefgrpc.KindUnavailable, Code: codes.Unavailable, Err: errors.New("busy")}
	switch r.IntN(3) {
	case 0:
		e.HasRetryInfo, e.RetryDelay = true, time.Duration(r.IntN(20))*time.Millisecond
	case 1:
		return status.Error(codes.ResourceExhausted, "too much for now")
	}
	return e
}
