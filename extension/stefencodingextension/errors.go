// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
)

// These are the errors of messages in addition to those of package stef, for use with errors.Is.
var (
	// ErrFormat means that a message is not a STEF stream.
	ErrFormat = errors.New("this is not STEF")
	// ErrSignal means that a message does not have the requested signal.
	ErrSignal = errors.New("this is another signal")
)

// The values of the attribute reason in the metrics.
const (
	reasonFormat  = "format"
	reasonSignal  = "signal"
	reasonLimit   = "limit"
	reasonSchema  = "schema"
	reasonVersion = "version"
	reasonDict    = "dictionary"
	reasonCorrupt = "corrupt"
)

func reasonOf(err error) string {
	for _, r := range []struct {
		kind error
		name string
	}{
		{ErrFormat, reasonFormat}, {ErrSignal, reasonSignal}, {stef.ErrLimit, reasonLimit},
		{stef.ErrSchema, reasonSchema}, {stef.ErrVersion, reasonVersion}, {stef.ErrZstdDict, reasonDict},
	} {
		if errors.Is(err, r.kind) {
			return r.name
		}
	}
	return reasonCorrupt
}

// signature is the first bytes of every STEF stream.
const signature = "STEF"

// explain returns an error that says why a message cannot be decoded, and what to do.
func (x *codec[B]) explain(message []byte, err error) error {
	if why := x.mistake(message, err); why != nil {
		return why
	}
	return fmt.Errorf("unmarshaling %s from %d bytes of STEF: %w", x.Name, len(message), advise(err))
}

func advise(err error) error {
	switch reasonOf(err) {
	case reasonCorrupt:
		return fmt.Errorf("%w; the data cannot be recovered: check what wrote or truncated it", err)
	case reasonSchema, reasonVersion:
		return fmt.Errorf("%w; upgrade this Collector, or set schema of the sender to full or reference", err)
	case reasonLimit:
		if key := limitKey(err); key != "" {
			return fmt.Errorf("%w; if you trust the sender, raise the limit: %s", err, key)
		}
	}
	return err
}

// limitKey returns the configuration key of the limit that a message exceeded, or "" for a limit
// that has no key. It finds the key by texts of this package and of the readers of package stef,
// which have no types; TestLimitKeys fails if a text changes.
func limitKey(err error) string {
	for _, limit := range []struct{ text, key string }{
		{"max_message_mib", "max_message_mib"}, {"max_decoded_mib", "max_decoded_mib"},
		{"Limits.FrameBytes", "max_frame_mib"}, {"Limits.RecordBytes", "max_record_alloc_mib"}, {"Limits.DictBytes", "max_dict_mib"},
	} {
		if strings.Contains(err.Error(), limit.text) {
			return limit.key
		}
	}
	return ""
}

// mistake returns an error if message is empty, is not STEF, has another signal or needs a
// missing dictionary, otherwise nil. message may be the beginning of a stream.
func (x *codec[B]) mistake(message []byte, err error) error {
	head := message[:min(len(message), len(signature))]
	switch {
	case len(message) == 0:
		return fmt.Errorf("%w: the message is empty; let the sender use this encoding extension, or remove empty messages", ErrFormat)
	case string(head) != signature[:len(head)]:
		return fmt.Errorf("%w: the message begins with % x; set the encoding that its sender uses, such as otlp_proto, or send STEF", ErrFormat, head)
	}
	if errors.Is(err, stef.ErrZstdDict) {
		return fmt.Errorf("unmarshaling %s: %w; set `dictionary` or `read_dictionaries` to the dictionary file of the sender", x.Name, stef.ErrZstdDict)
	}
	if other := x.signalOf(message); other != "" && other != x.Name {
		return fmt.Errorf("%w: %s, not %s; use one topic or path for each signal: %w", ErrSignal, other, x.Name, err)
	}
	return nil
}

// signalOf returns the signal of a message. It reads the first records as each signal. If
// only one signal can be read, signalOf returns this signal. If no signal can be read, for
// example because the message is truncated, signalOf returns the only signal that the schema
// of the message fits. It returns "" if no signal or several signals fit. A stream does not
// name its signal, but its schema and its columns rarely fit another signal.
func (x *codec[B]) signalOf(message []byte) string {
	found, opened := "", []string{}
	for _, s := range []struct {
		name string
		open func(message []byte, options []stef.ReaderOption) (signal.Reader, error)
	}{
		{signal.Traces.Name, open(signal.Traces)},
		{signal.Metrics.Name, open(signal.Metrics)},
		{signal.Logs.Name, open(signal.Logs)},
	} {
		r, err := s.open(message, x.reading)
		if err != nil {
			continue
		}
		opened = append(opened, s.name)
		for n := 0; n < maxProbed && r.Next(); n++ {
		}
		if r.Err() == nil {
			if found != "" {
				return ""
			}
			found = s.name
		}
		r.Close()
	}
	if found == "" && len(opened) == 1 {
		return opened[0]
	}
	return found
}

// open returns a function that reads the headers of a message as a signal.
func open[B any](s *signal.Descriptor[B]) func([]byte, []stef.ReaderOption) (signal.Reader, error) {
	return func(message []byte, options []stef.ReaderOption) (signal.Reader, error) {
		d, err := s.NewDecoder(bytes.NewReader(message), nil, options...)
		if err != nil {
			return nil, err
		}
		return d.Reader, nil
	}
}

const maxProbed = 1000
