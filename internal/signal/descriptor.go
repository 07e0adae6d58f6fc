// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"io"

	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Descriptor describes one signal. T is the pdata type of its batches.
type Descriptor[T any] struct {
	// Name is the name of the signal in configurations and metrics: "traces".
	Name string
	// ItemName is the name of the items of the signal, in the plural: "spans".
	ItemName string
	// Root returns the root struct of records, the full schema. Callers must not
	// change it.
	Root func() *schema.Struct
	// Compact returns the root struct of streams in the compact form. It has the fields of
	// records, followed by the fields of the compact form. Callers must not change it.
	Compact func() *schema.Struct
	// Published returns the option that makes a writer use the published schema.
	// The function is nil for a signal that has no published schema.
	Published func() stef.WriterOption
	// CompactLevel is the level of zstd at which the compact form is the best
	// compromise of bytes and CPU time: docs/compact-form.md.
	CompactLevel stef.Level

	// New returns an empty batch.
	New func() T
	// CopyTo replaces the content of dst by a copy of src.
	CopyTo func(src, dst T)
	// MoveTo appends the items of src to dst, and leaves src empty.
	MoveTo func(src, dst T)
	// Items returns the number of items in a batch.
	Items func(T) int
	// Size returns the size of a batch as OTLP protobuf.
	Size func(T) int
	// Marshal and Unmarshal convert between a batch and an OTLP export request.
	Marshal   func(T) ([]byte, error)
	Unmarshal func([]byte) (T, error)

	// NewEncoder starts a stream and returns its encoder.
	NewEncoder func(dst io.Writer, options []stefpdata.EncoderOption, more ...stef.WriterOption) (*Encoder[T], error)
	// NewDecoder reads the headers of a stream and returns a decoder of its batches.
	NewDecoder func(src io.Reader, options []stefpdata.DecoderOption, more ...stef.ReaderOption) (*Decoder[T], error)

	OTLP OTLP[T]
}

// Encoder writes batches to one stream.
type Encoder[T any] struct {
	// Encode writes the items of a batch.
	Encode func(T) error
	// Losses returns the data that the schema of the stream could not hold so far.
	Losses func() stefpdata.Losses
	// Reset starts the next stream, after Writer.Reset.
	Reset func()
	// Writer is the writer of the records.
	Writer Writer
}

// Writer is the common interface of the record writers of all signals.
type Writer interface {
	Reset(dst io.Writer) error
	Flush() error
	Close() error
	BufferedBytes() int
	Stats() stef.WriterStats
}

// Decoder reads batches from one stream.
type Decoder[T any] struct {
	// Decode returns the next batch, which contains at most one frame.
	Decode func() (T, error)
	// BatchBytes returns an estimate that is at least the size of the last batch as OTLP,
	// and at least its memory.
	BatchBytes func() int
	// Records returns how many records Decode has returned in batches or reported as bad.
	Records func() uint64
	// SetMaxBytes changes the maximum size of the next batches.
	SetMaxBytes func(n int)
	// Reset starts the next stream, after Reader.Reset.
	Reset func()
	// Reader is the reader of the records.
	Reader Reader
}

// Reader is the common interface of the record readers of all signals.
type Reader interface {
	Reset(src io.Reader) error
	Next() bool
	Err() error
	BufferedRecords() uint64
	StateBytes() int
	Stats() stef.ReaderStats
	UserData() map[string]string
	Close()
}

// OTLP is the OTLP service of a signal.
type OTLP[T any] struct {
	// Service is the full name of the gRPC service.
	Service string
	// Count returns the number of items in an encoded export request, up to the
	// first byte that is not protobuf.
	Count func(request []byte) int
	// Memory returns about how many bytes an encoded export request takes as pdata. If the
	// request must not be decoded, the error is ErrNested or says what is not valid protobuf.
	Memory func(request []byte) (int64, error)
	// NewClient returns the function that sends export requests.
	NewClient func(*grpc.ClientConn) Export[T]
}

// Export sends one export request.
type Export[T any] func(context.Context, T, ...grpc.CallOption) (PartialSuccess, error)

// PartialSuccess is what a server reports about a request that it accepted.
type PartialSuccess struct {
	Rejected int64
	Message  string
}
