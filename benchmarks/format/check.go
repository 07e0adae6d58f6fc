// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// Check sends batches through a format and a compression and compares the
// decoder's output with want, item by item. Formats of other projects that lose
// details are compared by the number of items.
func Check(f Format, c Compression, batches []otlpfile.Batch, want *canon.Items) error {
	if len(batches) == 0 {
		return nil
	}
	signal := batches[0].Signal
	stream, err := NewStream(f, c, signal)
	if err != nil {
		return err
	}
	defer stream.Close()
	var got []otlpfile.Batch
	for i, b := range batches {
		back, err := stream.Trip(b)
		if err != nil {
			return fmt.Errorf("%s, %s, batch %d: %w", f.Name(), c, i, err)
		}
		got = append(got, back)
	}
	if _, ok := f.(interface{ Counted() }); ok {
		sent, arrived := 0, 0
		for i := range batches {
			sent, arrived = sent+batches[i].Items(), arrived+got[i].Items()
		}
		if sent != arrived {
			return fmt.Errorf("%s, %s: the decoder returned %d of %d items", f.Name(), c, arrived, sent)
		}
		return nil
	}
	if diff := canon.Diff(want, dataset.Items(signal, got)); diff != "" {
		return fmt.Errorf("%s, %s: the decoded data differs: %s", f.Name(), c, diff)
	}
	return nil
}

// CheckNative encodes and decodes batches in native form and compares the number of items.
// DecodeNative returns only this number, so the content is not compared.
func CheckNative(f Format, c Compression, batches []otlpfile.Batch) error {
	if len(batches) == 0 {
		return nil
	}
	stream, err := NewStream(f, c, batches[0].Signal)
	if err != nil {
		return err
	}
	defer stream.Close()
	for i, b := range batches {
		items, err := stream.nativeTrip(b)
		if err != nil {
			return fmt.Errorf("%s, %s, batch %d: encoding or decoding the native form (Format.Prepare): %w", f.Name(), c, i, err)
		}
		if items != b.Items() {
			return fmt.Errorf("%s, %s, batch %d: the native form (Format.Prepare): the decoder returned %d of %d items", f.Name(), c, i, items, b.Items())
		}
	}
	return nil
}

// Stream is both ends of a stream, with compression.
type Stream struct {
	Enc    Encoder // nil if the stream is only read
	Dec    Decoder // nil if the stream is only written
	Pack   Compressor
	Unpack Decompressor
}

// NewStream begins a stream.
func NewStream(f Format, c Compression, signal otlpfile.Signal) (*Stream, error) {
	enc, err := f.NewEncoder(signal, c == Own)
	if err != nil {
		return nil, err
	}
	dec, err := f.NewDecoder(signal, c == Own)
	if err != nil {
		return nil, err
	}
	pack, err := c.NewCompressor()
	if err != nil {
		return nil, err
	}
	unpack, err := c.NewDecompressor()
	if err != nil {
		return nil, err
	}
	return &Stream{enc, dec, pack, unpack}, nil
}

// Close frees the memory of both ends.
func (s *Stream) Close() {
	if s.Enc != nil {
		s.Enc.Close()
	}
	if s.Dec != nil {
		s.Dec.Close()
	}
}

// Send returns the message for a batch.
func (s *Stream) Send(b otlpfile.Batch) ([]byte, error) {
	message, err := s.Enc.Encode(b)
	if err != nil {
		return nil, err
	}
	return s.Pack.Compress(message)
}

// SendNative is Send for a prepared batch.
func (s *Stream) SendNative(n Native) ([]byte, error) {
	message, err := s.Enc.EncodeNative(n)
	if err != nil {
		return nil, err
	}
	return s.Pack.Compress(message)
}

// Trip sends a batch through both ends, and returns the batch that the decoder returned.
func (s *Stream) Trip(b otlpfile.Batch) (back otlpfile.Batch, err error) {
	packed, err := s.Send(b)
	if err != nil {
		return back, err
	}
	message, err := s.Unpack.Decompress(packed)
	if err != nil {
		return back, err
	}
	return s.Dec.Decode(message)
}

func (s *Stream) nativeTrip(b otlpfile.Batch) (int, error) {
	n, err := s.Enc.Prepare(b)
	if err != nil {
		return 0, err
	}
	packed, err := s.SendNative(n)
	if err != nil {
		return 0, err
	}
	message, err := s.Unpack.Decompress(packed)
	if err != nil {
		return 0, err
	}
	return s.Dec.DecodeNative(message)
}
