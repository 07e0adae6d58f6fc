// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"

	"google.golang.org/grpc/peer"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
)

// Stream is one stream of records to a server.
type Stream struct{}

var _ stef.RecordWriter = (*Stream)(nil)

// WriterOptions returns what the writer of this stream must be made with.
func (s *Stream) WriterOptions() []stef.WriterOption { return nil }

// Schema returns the schema to write in.
func (s *Stream) Schema() schema.WireSchema { return nil }

// Peer returns the other end, nil if it is not known.
func (s *Stream) Peer() *peer.Peer { return nil }

// Write sends a chunk whose record ids are not known.
func (s *Stream) Write(chunk []byte) (int, error) { return s.WriteRecords(chunk, 0) }

// WriteRecords sends a chunk.
func (s *Stream) WriteRecords(chunk []byte, last uint64) (int, error) { return 0, errUnfinished }

// WriteContext is WriteRecords, bounded by a context.
func (s *Stream) WriteContext(ctx context.Context, chunk []byte, last uint64) (int, error) {
	return 0, errUnfinished
}

// AwaitRoom waits until a write would not wait for acknowledgements.
func (s *Stream) AwaitRoom(ctx context.Context) error { return errUnfinished }

// Acked returns the id up to which all records are acknowledged.
func (s *Stream) Acked() uint64 { return 0 }

// Sent returns the id of the last record that was sent.
func (s *Stream) Sent() uint64 { return 0 }

// Unacked returns what was sent and is not acknowledged.
func (s *Stream) Unacked() (bytes int64, records uint64) { return 0, 0 }

// AwaitAck waits until a record is acknowledged.
func (s *Stream) AwaitAck(ctx context.Context, id uint64) error { return errUnfinished }

// AwaitAll waits until everything sent so far is acknowledged.
func (s *Stream) AwaitAll(ctx context.Context) error { return errUnfinished }

// Rejected returns which records were reported bad.
func (s *Stream) Rejected() []IDRange { return nil }

// CloseSend ends the stream in this direction.
func (s *Stream) CloseSend() error { return errUnfinished }

// Drain ends the stream in this direction and waits for its end.
func (s *Stream) Drain(ctx context.Context) error { return errUnfinished }

// Close ends the stream at once.
func (s *Stream) Close() error { return errUnfinished }

// Done is closed at the end of the stream.
func (s *Stream) Done() <-chan struct{} { return nil }

// Err returns the reason of the end, nil before.
func (s *Stream) Err() error { return errUnfinished }
