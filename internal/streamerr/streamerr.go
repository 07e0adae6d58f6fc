// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package streamerr has the rules of senders for streams that ended or could not be opened. The
// exporter and the SDK share them.
package streamerr

import (
	"errors"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// Retryable reports whether the batches of a stream that ended with err may be sent again. It
// follows OTLP's table of codes, as Retryable of stefgrpc.Error does. It also returns true if the
// connection failed, if either end closed the stream, and if the peer broke the rules of the protocol:
// then no status of the peer refuses the batches, and another stream can succeed.
func Retryable(err error) bool {
	e := stefgrpc.FromStatus(err)
	switch e.Kind {
	case stefgrpc.KindUnavailable, stefgrpc.KindClosed, stefgrpc.KindCanceled, stefgrpc.KindProtocol:
		return true
	}
	return e.Retryable()
}

// WithoutSTEF reports whether a failure means that the peer cannot accept streams of the signal: it
// does not have the service, does not know the root, or has a schema that is not compatible with the
// schema of the sender.
func WithoutSTEF(err error) bool {
	var e *stefgrpc.Error
	return errors.As(err, &e) && (e.Kind == stefgrpc.KindUnimplemented || e.Kind == stefgrpc.KindIncompatible)
}
