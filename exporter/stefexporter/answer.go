// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// answer is a status that the peer sent. Its text may describe a connection of the peer: a gateway
// forwards the error of its own next hop. gRPC also returns a status for errors that arise in this
// process, for example if it cannot connect. Only the trailers of a call distinguish the two cases,
// and only a stats.Handler sees the trailers.
type answer struct {
	error
	// open is true if the peer had accepted the stream. Then the status is about data that
	// the peer received, and not about the stream.
	open bool
}

// GRPCStatus returns the status.
func (a *answer) GRPCStatus() *status.Status { return status.Convert(a.error) }

// Unwrap returns the error of gRPC.
func (a *answer) Unwrap() error { return a.error }

// answerOf returns the answer in an error, or nil if the error arose in this process.
func answerOf(err error) *answer {
	var a *answer
	errors.As(err, &a)
	return a
}

// ending says whether the peer has ended a call.
type ending struct{ byPeer atomic.Bool }

type endingKey struct{}

// noteAnswer notes in ctx whether the peer has ended the call. It is called with the events of
// all calls. gRPC reports the trailers before the call returns its status.
func noteAnswer(ctx context.Context, event stats.RPCStats) {
	e, ok := ctx.Value(endingKey{}).(*ending)
	if !ok {
		return
	}
	switch event.(type) {
	case *stats.Begin: // gRPC may repeat a call
		e.byPeer.Store(false)
	case *stats.InTrailer:
		e.byPeer.Store(true)
	}
}

func (e *ending) mark(err error, open bool) error {
	if err == nil || !e.byPeer.Load() {
		return err
	}
	return &answer{err, open}
}

// markRequests is a unary interceptor. If the peer sent the status of a failed request,
// markRequests returns the error as an answer.
func markRequests(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	e := &ending{}
	return e.mark(invoke(context.WithValue(ctx, endingKey{}, e), method, req, reply, conn, opts...), false)
}

// markStreams is a stream interceptor. If a stream fails with a status that the peer sent, RecvMsg
// of the stream returns the error as an answer. Errors that arise in this process stay as they are.
func markStreams(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	e := &ending{}
	stream, err := streamer(context.WithValue(ctx, endingKey{}, e), desc, conn, method, opts...)
	if err != nil {
		return nil, e.mark(err, false)
	}
	return &markedStream{ClientStream: stream, ending: e}, nil
}

type markedStream struct {
	grpc.ClientStream
	ending *ending
	open   bool // the peer sent a message; needs no lock, because one goroutine receives
}

// RecvMsg implements grpc.ClientStream.
func (s *markedStream) RecvMsg(m any) error {
	switch err := s.ClientStream.RecvMsg(m); {
	case err == nil:
		s.open = true
		return nil
	case errors.Is(err, io.EOF): // the peer ended the stream with OK
		return err
	default:
		return s.ending.mark(err, s.open)
	}
}
